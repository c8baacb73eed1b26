package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"jns/cmd/internal/peer/child"
)

// reference is what llama.cpp once gave for a file: in one setting, several prompts.
type reference struct {
	Runs []run `json:"runs"`

	full  [][]float32 // all logits of the first steps of the first run
	vocab int         // their width
}

// run is a prompt and its greedy continuation. Step i chose generated id i.
type run struct {
	Name      string         `json:"name"`
	Prompt    string         `json:"prompt"` // empty when the prompt is given by ids only
	PromptIDs []int          `json:"prompt_ids"`
	Generated []int          `json:"generated_ids"`
	Steps     [][][2]float64 `json:"steps"` // the top ids with their logits, best first
}

var logitsName = regexp.MustCompile(`\.logits(\d+)\.f32$`)

// readReference reads DIR/NAME.TAG.json and the logits beside it.
func readReference(dir, name, tag string) (*reference, error) {
	base := filepath.Join(dir, name+"."+tag)
	text, err := os.ReadFile(base + ".json")
	if err != nil {
		return nil, err
	}
	ref := &reference{}
	if err := json.Unmarshal(text, ref); err != nil {
		return nil, fmt.Errorf("%s.json: %w", base, err)
	}
	for _, r := range ref.Runs {
		if len(r.PromptIDs) == 0 || len(r.Generated) == 0 || len(r.Steps) != len(r.Generated) {
			return nil, fmt.Errorf("%s.json: run %q: ids and steps do not fit together", base, r.Name)
		}
	}
	if len(ref.Runs) == 0 {
		return nil, fmt.Errorf("%s.json: no runs", base)
	}
	files, _ := filepath.Glob(base + ".logits*.f32")
	for _, f := range files {
		m := logitsName.FindStringSubmatch(f)
		if m == nil {
			continue
		}
		n, err := strconv.Atoi(m[1])
		if err != nil || n < 1 || n > len(ref.Runs[0].Steps) {
			return nil, fmt.Errorf("%s: the number of steps in the name does not fit", f)
		}
		size, err := child.FileSize(f)
		if err != nil {
			return nil, err
		}
		ref.vocab = int(size / 4 / int64(n))
		if ref.full, err = child.ReadRows(f, ref.vocab, 0, n); err != nil {
			return nil, err
		}
	}
	return ref, nil
}

// sameHistory is the number of steps of two runs that have equal ids before them: step i is comparable when i < sameHistory.
func sameHistory(a, b run) int {
	n := min(len(a.Steps), len(b.Steps))
	for i := range n {
		if a.Generated[i] != b.Generated[i] {
			return i + 1
		}
	}
	return n
}

// storedSteps compares our rows with stored references; row i is our logits of step i over the oracle's history. Where all logits are
// stored, all count. Elsewhere the top few are known: those that are among the top of all three count, so that the choice of what is compared favours nobody.
func storedSteps(exact, peer run, exactFull, peerFull, rows [][]float32) ([]step, error) {
	if len(rows) != len(exact.Steps) {
		return nil, fmt.Errorf("%d rows for %d steps", len(rows), len(exact.Steps))
	}
	comparable := sameHistory(exact, peer)
	steps := make([]step, len(rows))
	for i, row := range rows {
		s := step{Full: i < len(exactFull)}
		var err error
		if s.Full {
			err = s.full(exactFull[i], row, pick(peerFull, i, i < comparable))
		} else {
			var top [][2]float64
			if i < comparable {
				top = peer.Steps[i]
			}
			err = s.top(exact.Steps[i], top, row)
		}
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i, err)
		}
		steps[i] = s
	}
	return steps, nil
}

func pick(rows [][]float32, i int, ok bool) []float32 {
	if !ok || i >= len(rows) {
		return nil
	}
	return rows[i]
}

// full compares whole vocabularies; peer may be nil.
func (s *step) full(exact, row, peer []float32) (err error) {
	scale := deviation(exact)
	if s.Ours, err = compare(exact, row, scale); err != nil {
		return err
	}
	s.Full, s.Margin = true, margin(exact)/scale
	s.choice(best(exact), best(row))
	if peer == nil {
		return nil
	}
	s.Paired, s.TheirsSame = true, best(peer) == best(exact)
	s.Theirs, err = compare(exact, peer, scale)
	return err
}

// top compares the stored top logits; peer may be nil. The scale is taken from our row, the same for both.
func (s *step) top(exact, peer [][2]float64, row []float32) (err error) {
	scale := deviation(row)
	if len(exact) < 2 {
		return fmt.Errorf("the reference has no second choice")
	}
	s.Margin = (exact[0][1] - exact[1][1]) / scale
	s.choice(int(exact[0][0]), best(row))
	var e, o []float32
	for _, x := range exact {
		id := int(x[0])
		if id < 0 || id >= len(row) {
			return fmt.Errorf("reference id %d is outside our vocabulary of %d", id, len(row))
		}
		e, o = append(e, float32(x[1])), append(o, row[id])
	}
	if s.Ours, err = compare(e, o, scale); err != nil || peer == nil {
		return err
	}
	var pe, po, pp []float32
	for i, x := range exact {
		for _, y := range peer {
			if x[0] == y[0] && rank(row, o[i]) < len(exact) {
				pe, po, pp = append(pe, e[i]), append(po, o[i]), append(pp, float32(y[1]))
			}
		}
	}
	if len(pe) < 2 {
		return nil
	}
	s.Paired, s.TheirsSame = true, peer[0][0] == exact[0][0]
	if s.Ours, err = compare(pe, po, scale); err != nil {
		return err
	}
	s.Theirs, err = compare(pe, pp, scale)
	return err
}

// rank is the number of values larger than x.
func rank(v []float32, x float32) int {
	n := 0
	for _, y := range v {
		if y > x {
			n++
		}
	}
	return n
}

func (s *step) choice(exact, got int) {
	s.Same = exact == got
	if !s.Same {
		s.Description = fmt.Sprintf("token %d instead of %d", got, exact)
	}
}
