package expert

// auto follows whichever policy has loaded least. Which one that is depends on the model, on the text and on the memory; so every policy keeps a table of its own beside the real one,
// on paper, and what the best would not have in memory leaves first, in its order. A change evicts nothing by itself. One more policy is followed like that, which cannot be had by itself: next,
// told of guesses: it keeps what is likely to be wanted soon.
type auto struct {
	all []Policy // the last is the one that is told of guesses
	now int
}

func newAuto(layers []int32) *auto {
	a := &auto{}
	for _, name := range plainPolicies {
		p, _ := NewPolicy(name, layers)
		if name == PolicyNext {
			a.now = len(a.all)
		}
		a.all = append(a.all, p)
	}
	a.all = append(a.all, a.all[a.now])
	return a
}

func (a *auto) Pass(rows int) {
	for _, p := range a.all[:len(a.all)-1] {
		p.Pass(rows)
	}
}

func (a *auto) Use(slot uint32, count int) {
	for _, p := range a.all[:len(a.all)-1] {
		p.Use(slot, count)
	}
}

func (a *auto) Distance(slot uint32, layer int) float64 { return a.all[a.now].Distance(slot, layer) }

// policyOf is the policy that decides now.
func policyOf(p Policy) Policy {
	if a, ok := p.(*auto); ok {
		return a.all[a.now]
	}
	return p
}

// How policies are compared: by all their loads, old ones counting less; another one has to be better by a part and by some.
const (
	autoWindow = 1 << 16 // turns
	autoPart   = 0.002
	autoSome   = 6
)

// shadows are the tables on paper of an auto policy. Their policies are told by it.
type shadows struct {
	auto   *auto
	tables []*Table
	missed []float64 // by policy: what each loaded
}

func newShadows(a *auto, layers []int32, frames int) shadows {
	a.now = len(a.all) - 1
	s := shadows{auto: a, missed: make([]float64, len(a.all))}
	for _, p := range a.all {
		t := NewTable(layers, frames, 0, p)
		t.quiet = true
		s.tables = append(s.tables, t)
	}
	return s
}

// turn lets every policy have the turn, and decides.
func (s *shadows) turn(layer int, slots []uint32, count []int32, rows int) {
	if len(s.tables) == 0 {
		return
	}
	best := s.auto.now
	for i, t := range s.tables {
		before := t.Loads
		t.Turn(layer, slots, count, rows)
		for more := true; more; {
			_, _, more = t.Next()
		}
		n := float64(t.Loads - before)
		s.missed[i] += n - s.missed[i]/autoWindow
		if s.missed[i] < s.missed[best] {
			best = i
		}
	}
	if m := s.missed[s.auto.now]; s.missed[best] < m*(1-autoPart)-autoSome {
		s.auto.now = best
	}
}

// soon tells the one policy of guesses.
func (s *shadows) soon(slots []uint32, class []uint8) {
	if len(s.tables) > 0 {
		s.tables[len(s.tables)-1].Soon(slots, class)
	}
}

func (s *shadows) pass(rows int) {
	for _, t := range s.tables {
		t.Pass(rows)
	}
}

// astray reports whether the policy that is followed would not have the slot in memory.
func (s *shadows) astray(slot uint32) bool {
	return len(s.tables) > 0 && s.tables[s.auto.now].frame[slot] < 0
}

// tells reports whether the policy that is followed is the one that is told of guesses.
func (s *shadows) tells() bool { return len(s.tables) > 0 && s.auto.now == len(s.tables)-1 }

// least is what the best policy that is told of nothing has loaded.
func (s *shadows) least() uint64 {
	least := s.tables[0].Loads
	for _, t := range s.tables[:len(s.tables)-1] {
		least = min(least, t.Loads)
	}
	return least
}

// spend is what may have been loaded at most for something to be read ahead: half of what guesses have saved on paper is kept.
func (s *shadows) spend() uint64 {
	least := s.least()
	if told := s.tables[s.auto.now].Loads; told < least {
		least -= (least - told + 1) / 2
	}
	return least
}

// owed is the number of slots that the policy that is followed has in memory and a table has not: so much more that table will load at most from now on, if what it has and the policy has not
// leaves first.
func (s *shadows) owed(frame []int32) (n uint64) {
	for _, slot := range s.tables[s.auto.now].slot {
		if slot >= 0 && frame[slot] < 0 {
			n++
		}
	}
	return n
}
