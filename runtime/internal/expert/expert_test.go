package expert

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"jns/format/routing"
)

// skewed makes a trace of a model in which some experts are more frequent: passes of one row after a prompt.
func skewed(layers, experts, top, prompt, passes int) *Trace {
	r := rand.New(rand.NewPCG(3, 4))
	t := &Trace{}
	for l := range layers {
		for e := range experts {
			t.Slots = append(t.Slots, Slot{Layer: int32(l), Expert: int32(e), Length: 4096})
		}
	}
	for p := range passes {
		rows := 1
		if p == 0 {
			rows = prompt
		}
		t.Turns = append(t.Turns, Turn{Rows: rows})
		for l := range layers {
			count := map[uint32]int32{}
			for range rows {
				row := map[uint32]bool{}
				for len(row) < top {
					e := min(int(r.ExpFloat64()*float64(experts)/8), experts-1)
					row[uint32(l*experts+(e*5+l)%experts)] = true
				}
				for s := range row {
					count[s]++
				}
			}
			var u Turn
			for s := range count {
				u.Slots = append(u.Slots, s)
			}
			slices.Sort(u.Slots)
			for _, s := range u.Slots {
				u.Count = append(u.Count, count[s])
			}
			t.Turns = append(t.Turns, u)
		}
	}
	return t
}

func TestABlockHasWhatItNeedsInFrames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.IntRange(1, 60).Draw(t, "slots")
		frames := rapid.IntRange(1, 20).Draw(t, "frames")
		layers := make([]int32, slots)
		for i := range layers {
			layers[i] = int32(i * 4 / slots)
		}
		p, err := NewPolicy(rapid.SampledFrom(Policies()).Draw(t, "policy"), layers)
		require.NoError(t, err)
		table := NewTable(layers, frames, 0, p)
		inFrame := map[int]uint32{}
		for range rapid.IntRange(1, 30).Draw(t, "turns") {
			p.Pass(1)
			want := rapid.SliceOfNDistinct(rapid.Uint32Range(0, uint32(slots-1)), 0, slots, rapid.ID).Draw(t, "want")
			table.Turn(0, want, nil, 1)
			var got []uint32
			for more := true; more; {
				var block []uint32
				var loads []Load
				block, loads, more = table.Next()
				for _, l := range loads {
					inFrame[int(l.Frame)] = l.Slot
				}
				require.True(t, len(block) > 0 || len(want) == 0)
				for _, s := range block {
					f := table.Frame(s)
					require.True(t, f >= 0 && f < frames)
					require.Equal(t, s, inFrame[f], "the frame holds the slot")
				}
				got = append(got, block...)
				if rapid.Bool().Draw(t, "ahead") {
					if l, ok := table.Ahead(rapid.Uint32Range(0, uint32(slots-1)).Draw(t, "early")); ok {
						inFrame[int(l.Frame)] = l.Slot
						for _, s := range block {
							require.NotEqual(t, int(l.Frame), table.Frame(s), "a block's frame is taken")
						}
					}
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			require.True(t, slices.Equal(want, got))
		}
	})
}

func TestNothingReadsLessThanTheOptimum(t *testing.T) {
	trace := skewed(4, 32, 4, 40, 60)
	for _, frames := range []int64{1, 3, 8, 24, 64, 128, 500} {
		best := trace.Belady(frames * 4096)
		for _, p := range Policies() {
			r, err := trace.Replay(p, frames*4096, false)
			require.NoError(t, err)
			require.Equal(t, best.Wanted, r.Wanted)
			require.GreaterOrEqual(t, r.Reads, best.Reads, "%s with %d frames", p, frames)
		}
	}
}

func TestTheDefaultPolicyReadsNoMoreThanOthersWhereUseIsSkewed(t *testing.T) {
	trace := skewed(4, 32, 4, 40, 400)
	for _, frames := range []int64{16, 32, 64, 96} {
		own, err := trace.Replay(PolicyNext, frames*4096, false)
		require.NoError(t, err)
		for _, p := range Policies() {
			r, err := trace.Replay(p, frames*4096, false)
			require.NoError(t, err)
			require.LessOrEqual(t, float64(own.Reads), 1.05*float64(r.Reads), "%s with %d frames", p, frames)
		}
	}
}

// A pass that wants everything, again and again: whoever throws out the oldest finds nothing.
func TestPassesOverEverythingKeepAPart(t *testing.T) {
	trace := skewed(4, 16, 16, 64, 1) // of 64 rows each
	for range 9 {
		trace.Turns = append(trace.Turns, trace.Turns[:5]...)
	}
	lru, err := trace.Replay(PolicyLRU, 32*4096, false)
	require.NoError(t, err)
	require.Zero(t, lru.HitRate())
	own, err := trace.Replay(PolicyNext, 32*4096, false)
	require.NoError(t, err)
	require.Greater(t, own.HitRate(), 0.35)
	require.LessOrEqual(t, own.HitRate(), trace.Belady(32*4096).HitRate())
}

func TestATraceIsReadAsItWasWritten(t *testing.T) {
	trace := skewed(3, 8, 2, 5, 10)
	for i := range trace.Turns {
		if u := &trace.Turns[i]; u.Slots != nil && i%2 == 0 {
			u.Soon, u.Class = []uint32{7, 3, 7}, []uint8{0, 1, aheadClasses - 1}
		}
	}
	var b bytes.Buffer
	require.NoError(t, trace.Write(&b))
	got, err := ReadTrace(&b)
	require.NoError(t, err)
	require.Equal(t, trace.Turns, got.Turns)
	require.Equal(t, trace.Slots, got.Slots)
	require.NoError(t, got.Heat().SVG(&b, "a < b"))

	trace.Turns[2].Class[1] = aheadClasses // the file may say so, the tables know no such class
	b.Reset()
	require.NoError(t, trace.Write(&b))
	_, err = ReadTrace(&b)
	require.ErrorIs(t, err, ErrTrace)
}

// Guesses that turn out wrong are soon no longer read, and those that are right are: the reads in vain stay within their bound whatever is guessed.
func TestGuessesAreBelievedByTheirRecord(t *testing.T) {
	const layers, experts, top = 4, 64, 4
	trace := skewed(layers, experts, top, 40, 400)
	r := rand.New(rand.NewPCG(5, 6))
	for i := range trace.Turns {
		u := &trace.Turns[i]
		if u.Slots == nil || len(u.Slots) != top {
			continue
		}
		if i+1 < len(trace.Turns) && trace.Turns[i+1].Slots != nil { // class 0 is right, class 1 is a toss among all of the next layer's
			for _, s := range trace.Turns[i+1].Slots {
				u.Soon, u.Class = append(u.Soon, s), append(u.Class, 0)
			}
			first := trace.Turns[i+1].Slots[0] / experts * experts
			u.Soon, u.Class = append(u.Soon, first+r.Uint32N(experts)), append(u.Class, 1)
		}
	}
	for _, frames := range []int64{32, 64, 128} {
		without, err := trace.Replay(PolicyNext, frames*4096, false)
		require.NoError(t, err)
		with, err := trace.Replay(PolicyNext, frames*4096, true)
		require.NoError(t, err)
		most := 1.02
		if frames < 64 { // two passes' worth: what is read ahead takes the place of what would have been wanted again
			most = 1.06
		}
		require.LessOrEqual(t, float64(with.Reads), most*float64(without.Reads)+8, "%d frames", frames)
	}
}

// A trace that is read can be replayed and drawn, whatever it says. The file's own fuzzing is in package routing; here the sum is put right.
func FuzzReplay(f *testing.F) {
	head := "jns-routing 3\n" + string(make([]byte, 32))
	f.Add([]byte(head + "\x01\x00\x02\x10\x10\x01\x05\x02\x01\x01\x01\x03\x01\x00\x03\x00"))
	f.Add([]byte(head + "\x02\x00\x02\x10\x10\x07\x01\x80\x40\x01\x05\x02\x02\x00\x01\x01\x02\x02\x01\x02\x01\x03\x01\x00\x1f\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		sum := sha256.Sum256(b)
		tr, err := ReadTrace(bytes.NewReader(append(bytes.Clone(b), sum[:]...)))
		if err != nil {
			require.True(t, errors.Is(err, ErrTrace) || errors.Is(err, routing.ErrVersion), err)
			return
		}
		if len(tr.Slots) < 1000 && len(tr.Turns) < 1000 {
			for _, p := range Policies() {
				for _, ahead := range []bool{false, true} {
					_, err := tr.Replay(p, 8192, ahead)
					require.NoError(t, err)
				}
			}
			tr.Belady(8192)
			require.NoError(t, tr.Heat().SVG(io.Discard, "x"))
		}
	})
}
