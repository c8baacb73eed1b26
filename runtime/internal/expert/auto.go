package expert

// auto follows whichever policy has missed least lately. Which one that is depends on the model, on the text and on the memory; so every policy keeps a table of its own beside the
// real one, on paper, and the order in which slots leave is that of the best. A change of order evicts nothing by itself.
type auto struct {
	all []Policy
	now int
}

func newAuto(layers []int32) *auto {
	a := &auto{}
	for _, name := range plainPolicies {
		p, _ := NewPolicy(name, layers)
		a.all = append(a.all, p)
		if name == PolicyNext {
			a.now = len(a.all) - 1
		}
	}
	return a
}

func (a *auto) Pass(rows int) {
	for _, p := range a.all {
		p.Pass(rows)
	}
}

func (a *auto) Use(slot uint32, count int) {
	for _, p := range a.all {
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

// How policies are compared: misses of so many turns ago count a third, and another one has to be better by a part and by some.
const (
	autoWindow = 1024
	autoPart   = 0.02
	autoSome   = 4
)

// shadows are the tables on paper of an auto policy. Their policies are told by it.
type shadows struct {
	auto   *auto
	tables []*Table
	missed []float64 // lately
}

func newShadows(a *auto, layers []int32, frames int) shadows {
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
		s.missed[i] += float64(t.Loads-before) - s.missed[i]/autoWindow
		if s.missed[i] < s.missed[best] {
			best = i
		}
	}
	if m := s.missed[s.auto.now]; s.missed[best] < m*(1-autoPart)-autoSome {
		s.auto.now = best
	}
}

// saved is how much less was loaded than the best policy would have by itself; less than nothing if it was more. Without tables on paper it is what was in vain.
func (s *shadows) saved(loads, vain uint64) float64 {
	if len(s.tables) == 0 {
		return -float64(vain)
	}
	best := s.tables[0].Loads
	for _, t := range s.tables {
		best = min(best, t.Loads)
	}
	return float64(best) - float64(loads)
}
