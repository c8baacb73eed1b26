package exec

// Leaving out experts that are not in memory and count little, for those who ask for it: Skliar et al., Mixture of Cache-Conditional Experts for Efficient Mobile Device Inference,
// TMLR 2025. It changes results, and what it leaves out depends on what the cache holds.

// Skipped counts what was left out of passes over few rows.
type Skipped struct {
	Chosen  uint64 // experts that routers chose
	Skipped uint64
	// Weight is what the routers gave to all of them, Lost what they gave to those that were left out.
	Weight, Lost float64
}

// Skipped says what has been left out so far.
func (m *Model) Skipped() Skipped { return m.skipped }

// skipAbsent leaves out the choices that are not in memory and whose weight is below a part of their row's largest; the weights of the others grow so that their sum stays. A choice
// that is left out becomes one of weight 0 of the row's best expert, which is used anyhow.
func (m *Model) skipAbsent(e *experts) {
	n := m.count(e.selected)
	if m.skip == 0 || n > guessFew {
		return
	}
	w := e.up
	for r := range n {
		choices := e.route.choices(r)
		best, total, lost := 0, float32(0), float32(0)
		for i, c := range choices {
			total += c.weight
			if c.weight > choices[best].weight {
				best = i
			}
		}
		most := choices[best]
		for i := range choices {
			c := &choices[i]
			m.skipped.Chosen++
			m.skipped.Weight += float64(c.weight)
			if i == best || c.weight < 0 || !(c.weight < m.skip*most.weight) || uint32(c.expert) >= uint32(len(w.parts)) || !w.streamed(int(c.expert)) ||
				m.stream.Present(w.parts[c.expert].slot) {
				continue
			}
			lost += c.weight
			m.skipped.Skipped++
			m.skipped.Lost += float64(c.weight)
			*c = choice{expert: most.expert}
		}
		if rest := total - lost; lost > 0 && rest > 0 {
			for i := range choices {
				choices[i].weight *= total / rest
			}
		}
	}
}
