package exec

import (
	"slices"
	"strings"
	"time"

	"jns/format"
)

// OpTime is where the time of runs went, for all steps of one name: an operation's kind with the matrices that it multiplies, and the part of the operation where it has several.
// Seconds are summed over workers.
type OpTime struct {
	Name    string  `json:"name"`
	Steps   int     `json:"steps"`          // of the program that have this name
	Seconds float64 `json:"seconds"`        // at work
	Kernels float64 `json:"kernel_seconds"` // of these in matrix kernels
	Waiting float64 `json:"wait_seconds"`   // until the last worker was done too
}

// opTimes is one worker's share of a step.
type opTimes struct{ work, kernels, wait time.Duration }

// Time begins to measure how long every step takes, from nothing, or ends it. Measuring costs each worker two readings of the clock a step, and one a product.
func (m *Model) Time(on bool) {
	for i := range m.work {
		m.work[i].times = nil
		if on {
			m.work[i].times = make([]opTimes, len(m.steps))
		}
	}
}

// Times gives what was measured since Time, the longest first.
func (m *Model) Times() []OpTime {
	var all []OpTime
	at := map[string]int{}
	for i := range m.steps {
		name := m.steps[i].name
		k, ok := at[name]
		if !ok {
			k = len(all)
			at[name] = k
			all = append(all, OpTime{Name: name})
		}
		all[k].Steps++
		for w := range m.work {
			if times := m.work[w].times; times != nil {
				t := &times[i]
				all[k].Seconds += t.work.Seconds()
				all[k].Kernels += t.kernels.Seconds()
				all[k].Waiting += t.wait.Seconds()
			}
		}
	}
	slices.SortStableFunc(all, func(a, b OpTime) int {
		switch {
		case a.Seconds+a.Waiting > b.Seconds+b.Waiting:
			return -1
		case a.Seconds+a.Waiting < b.Seconds+b.Waiting:
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all
}

// opName is the name under which an operation's time is reported: layers do not count apart.
func (m *Model) opName(p format.Params) string {
	name := p.Kind().String()
	var of []string
	for _, t := range weightsOf(p) {
		w := m.weights[t]
		if w.layout == nil {
			continue // a vector
		}
		s := strings.TrimSuffix(w.Name, ".weight")
		if rest, found := strings.CutPrefix(s, "blk."); found {
			_, s, _ = strings.Cut(rest, ".")
		}
		of = append(of, s)
	}
	if len(of) == 0 {
		return name
	}
	return name + " " + strings.Join(of, "+")
}

// named gives the steps from the first-th on, which belong to one operation, its name, and those of several the names of their parts.
func (m *Model) named(first int, name string) {
	for i := first; i < len(m.steps); i++ {
		s := &m.steps[i]
		if s.name != "" {
			s.name = name + ": " + s.name
		} else {
			s.name = name
		}
	}
}

// part names the last step among those of its operation.
func (m *Model) part(name string) { m.steps[len(m.steps)-1].name = name }

// lap ends a time at work on step i, or of waiting behind it.
func (w *worker) lap(i int, waiting bool) {
	if w.times == nil {
		return
	}
	now := time.Now()
	t := &w.times[i]
	if waiting {
		t.wait += now.Sub(w.since)
	} else {
		t.work += now.Sub(w.since)
		t.kernels += w.busy - w.before
	}
	w.since, w.before = now, w.busy
}
