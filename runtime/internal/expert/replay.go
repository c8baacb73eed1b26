package expert

import (
	"cmp"
	"math"
	"slices"
)

// Replayed is what a policy would have read.
type Replayed struct {
	Policy string `json:"policy"`
	Ahead  bool   `json:"ahead"`  // with what is read before it is wanted, and in vain
	Wanted uint64 `json:"wanted"` // slots that turns asked for
	Reads  uint64 `json:"reads"`
	Bytes  uint64 `json:"bytes"`
}

// HitRate is the part of the wanted slots that were there.
func (r Replayed) HitRate() float64 {
	if r.Wanted == 0 {
		return 0
	}
	return 1 - float64(r.Reads)/float64(r.Wanted)
}

// Replay runs a trace through a policy with so many bytes of memory. ahead: what was likely to be wanted next is read ahead, as in a run.
func (t *Trace) Replay(policy string, memory int64, ahead bool) (Replayed, error) {
	pools, poolOf := sizePools(t.Slots, memory)
	r := Replayed{Policy: policy, Ahead: ahead}
	layers := layersOf(t.Slots)
	tables := make([]*Table, len(pools))
	for i, p := range pools {
		q, err := NewPolicy(policy, layers)
		if err != nil {
			return r, err
		}
		tables[i] = NewTable(layers, p.frames, 0, q)
	}
	wanted, likely := make([]part[int32], len(pools)), make([]part[uint8], len(pools))
	rows := 1
	for _, u := range t.Turns {
		if u.Slots == nil {
			rows = u.Rows
			for _, t := range tables {
				t.Pass(rows)
			}
			continue
		}
		r.Wanted += uint64(len(u.Slots))
		if ahead {
			for i, part := range split(likely, u.Soon, u.Class, poolOf) {
				tables[i].Soon(part.slots, part.with)
			}
		}
		for i, part := range split(wanted, u.Slots, u.Count, poolOf) {
			if len(part.slots) == 0 {
				continue
			}
			tables[i].Turn(int(layers[part.slots[0]]), part.slots, part.with, rows)
			for more := true; more; {
				var loads []Load
				_, loads, more = tables[i].Next()
				for _, l := range loads {
					r.Reads++
					r.Bytes += uint64(t.Slots[l.Slot].Length)
				}
			}
		}
		for _, q := range tables {
			if ahead {
				for _, l := range q.Early() {
					r.Reads++
					r.Bytes += uint64(t.Slots[l.Slot].Length)
				}
			}
		}
	}
	return r, nil
}

// Belady replays with knowledge of the future: what is wanted latest leaves. Nothing that knows only the past reads less.
func (t *Trace) Belady(memory int64) Replayed {
	pools, poolOf := sizePools(t.Slots, memory)
	r := Replayed{Policy: "belady"}
	// When each slot is wanted, in order of wants.
	when := make([][]int, len(t.Slots))
	n := 0
	for _, u := range t.Turns {
		for _, s := range u.Slots {
			when[s] = append(when[s], n)
			n++
		}
	}
	present := make([]map[uint32]bool, len(pools))
	for i := range present {
		present[i] = map[uint32]bool{}
	}
	for _, u := range t.Turns {
		// What is there is used before anything leaves.
		order := make([]uint32, 0, len(u.Slots))
		for _, there := range []bool{true, false} {
			for _, s := range u.Slots {
				if present[poolOf[s]][s] == there {
					order = append(order, s)
				}
			}
		}
		for _, s := range order {
			r.Wanted++
			when[s] = when[s][1:]
			in := present[poolOf[s]]
			if in[s] {
				continue
			}
			r.Reads++
			r.Bytes += uint64(t.Slots[s].Length)
			if len(in) >= pools[poolOf[s]].frames {
				victim, far := uint32(0), -1
				for v := range in {
					at := math.MaxInt
					if len(when[v]) > 0 {
						at = when[v][0]
					}
					if at > far || at == far && v < victim {
						victim, far = v, at
					}
				}
				delete(in, victim)
			}
			in[s] = true
		}
	}
	return r
}

func layersOf(slots []Slot) []int32 {
	l := make([]int32, len(slots))
	for i := range slots {
		l[i] = slots[i].Layer
	}
	return l
}

// pool is frames of one size.
type pool struct {
	size   int64 // of a frame, a multiple of 4096
	frames int
	slots  int
	bytes  int64 // of its slots
}

// sizePools parts the memory among slots of different sizes, as their bytes in the file are. Sizes within an eighth share frames.
func sizePools(slots []Slot, memory int64) (pools []pool, of []uint8) {
	const most = 8
	of = make([]uint8, len(slots))
	order := make([]int, len(slots))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(slots[b].Length, slots[a].Length) })
	total := 0.0
	for _, i := range order { // the largest first: what comes fits the pool before
		n := frameSize(slots[i].Length)
		if k := len(pools) - 1; k < 0 || 8*n < 7*pools[k].size && k+1 < most {
			pools = append(pools, pool{size: n})
		}
		k := len(pools) - 1
		pools[k].slots++
		pools[k].bytes += n
		of[i] = uint8(k)
		total += float64(n)
	}
	for k := range pools {
		p := &pools[k]
		p.frames = min(max(int(float64(memory)*(float64(p.bytes)/total)/float64(p.size)), 1), p.slots)
	}
	return pools, of
}

func frameSize(n int64) int64 { return (n + 4095) &^ 4095 }

// part is what a turn wants, or what may follow, of the slots of one pool, and what is said of each: for how many rows, or of which class.
type part[T any] struct {
	slots []uint32
	with  []T
}

// split parts slots by pool into out, which has a part for each. The lists in out are used again, so that a token takes no memory; one pool has the lists as they come.
func split[T any](out []part[T], slots []uint32, with []T, of []uint8) []part[T] {
	if len(out) == 1 {
		out[0] = part[T]{slots, with}
		return out
	}
	for i := range out {
		out[i].slots, out[i].with = out[i].slots[:0], out[i].with[:0]
		if with == nil {
			out[i].with = nil
		}
	}
	for i, s := range slots {
		w := &out[of[s]]
		w.slots = append(w.slots, s)
		if with != nil {
			w.with = append(w.with, with[i])
		}
	}
	return out
}
