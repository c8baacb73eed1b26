package main

import (
	"fmt"
	"math"
	"slices"
)

// Limits of the rules.
const (
	limitFile   = 1.1   // rule 1: RMS over all steps of a file, ours / llama.cpp's
	limitPrompt = 1.5   // rule 1: the same over one prompt
	limitMean   = 1.0   // rule 1: mean over all files
	limitArchs  = 0.005 // rule 3: relative max error where the weights are F16
	// noise is the relative RMS below which an error says nothing: the oracle itself computes in float32.
	noise = 2e-6
)

// errs is the error of logits against the oracle's, relative to the standard deviation of the logits over the vocabulary.
type errs struct {
	RMS float64 `json:"rms"`
	Max float64 `json:"max"`
}

// never is the logit of a token that a model is made not to write, as Chameleon those of pieces of images. It says nothing of other logits' deviation.
const never = -math.MaxFloat32

// deviation is the standard deviation of v.
func deviation(v []float32) float64 {
	var sum, square, n float64
	for _, x := range v {
		if x != never {
			sum, n = sum+float64(x), n+1
		}
	}
	mean := sum / n
	for _, x := range v {
		if x != never {
			square += (float64(x) - mean) * (float64(x) - mean)
		}
	}
	return math.Sqrt(square / n)
}

// compare gives the error of got against exact, both of equal length, divided by scale. NaN, infinities and logits that must be never are errors of the run.
func compare(exact, got []float32, scale float64) (errs, error) {
	if len(exact) != len(got) || len(exact) == 0 {
		return errs{}, fmt.Errorf("%d logits against %d", len(got), len(exact))
	}
	if !(scale > 0) {
		return errs{}, fmt.Errorf("the logits are all equal")
	}
	var e errs
	n := 0
	for i, x := range got {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) || (x == never) != (exact[i] == never) {
			return errs{}, fmt.Errorf("logit %d is %v, the oracle's %v", i, x, exact[i])
		}
		if x == never {
			continue
		}
		d := math.Abs(float64(x)-float64(exact[i])) / scale
		e.RMS += d * d
		e.Max = max(e.Max, d)
		n++
	}
	e.RMS = math.Sqrt(e.RMS / float64(max(n, 1)))
	return e, nil
}

// best is the index of the largest value; ties go to the lowest.
func best(v []float32) int {
	b := 0
	for i, x := range v {
		if x > v[b] {
			b = i
		}
	}
	return b
}

// margin is the distance between the two largest values.
func margin(v []float32) float64 {
	b := best(v)
	second := math.Inf(-1)
	for i, x := range v {
		if i != b {
			second = max(second, float64(x))
		}
	}
	return float64(v[b]) - second
}

// step is one generation step, computed by all over the same history: the oracle's.
type step struct {
	Ours   errs
	Theirs errs
	Paired bool // llama.cpp's logits are known over the same history; else Theirs is empty
	Full   bool // errors are over the whole vocabulary, not only over the known top logits

	Margin      float64 // the oracle's distance from first to second choice, relative as errs
	Same        bool    // our choice is the oracle's
	TheirsSame  bool    // llama.cpp's is, where Paired
	Description string  // for reports: what was chosen instead
}

// total is the error over steps: the mean of squares, the largest maximum.
func total(steps []step, of func(step) errs) errs {
	var t errs
	for _, s := range steps {
		e := of(s)
		t.RMS += e.RMS * e.RMS
		t.Max = max(t.Max, e.Max)
	}
	if len(steps) > 0 {
		t.RMS = math.Sqrt(t.RMS / float64(len(steps)))
	}
	return t
}

func ours(s step) errs   { return s.Ours }
func theirs(s step) errs { return s.Theirs }

func paired(steps []step) []step {
	var p []step
	for _, s := range steps {
		if s.Paired {
			p = append(p, s)
		}
	}
	return p
}

// ratio of two relative errors; below the oracle's own noise all are equal.
func ratio(ours, theirs float64) float64 { return max(ours, noise) / max(theirs, noise) }

// typical is the median over paired steps of ours / llama.cpp's RMS. No rule asks for it: it shows whether a total comes from all steps or from a
// few, as when a mixture's router takes another expert.
func typical(steps []step) float64 {
	var v []float64
	for _, s := range steps {
		if s.Paired {
			v = append(v, ratio(s.Ours.RMS, s.Theirs.RMS))
		}
	}
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// few says when a total that breaks a rule comes from a few steps.
func few(typical float64) string {
	if typical > 1 {
		return ""
	}
	return fmt.Sprintf(" (the median step has %.3f: a few steps decide)", typical)
}

// greedy is rule 2: choices equal the oracle's up to the first step at which its margin is below our error.
type greedy struct {
	Checked int      `json:"checked"` // steps before the margin falls below the error
	Same    int      `json:"same"`    // steps with the oracle's choice, of all
	Steps   int      `json:"steps"`
	Widest  float64  `json:"widest_flip"` // the largest margin at which the choice differs, relative; 0: none
	Wrong   []string `json:"wrong,omitempty"`
}

func judgeGreedy(steps []step, bound float64) greedy {
	g := greedy{Steps: len(steps)}
	open := true
	for i, s := range steps {
		open = open && s.Margin >= bound
		if open {
			g.Checked++
		}
		switch {
		case s.Same:
			g.Same++
		case open:
			g.Wrong = append(g.Wrong, fmt.Sprintf("step %d: margin %.4f is above our error %.4f: %s", i, s.Margin, bound, s.Description))
			open = false
		}
		if !s.Same {
			g.Widest = max(g.Widest, s.Margin)
		}
	}
	return g
}

// prompt is the verdict on one prompt.
type prompt struct {
	Name      string  `json:"name"`
	Tokens    int     `json:"tokens"`
	Paired    int     `json:"paired_steps"`
	Full      int     `json:"full_steps"` // of these, with all logits
	Ours      errs    `json:"ours"`
	Theirs    errs    `json:"llamacpp"`
	Ratio     float64 `json:"ratio"`
	Typical   float64 `json:"typical_ratio"`
	Greedy    greedy  `json:"greedy"`
	TheirSame int     `json:"llamacpp_same"` // of the paired steps
	Drift     float64 `json:"oracle_drift,omitempty"`

	steps []step
}

// result is the verdict on one file.
type result struct {
	File     string   `json:"file"`
	Class    string   `json:"class"`
	Refused  string   `json:"refused,omitempty"` // why the compiler refused it; nothing else is set then
	Prompts  []prompt `json:"prompts,omitempty"`
	Paired   int      `json:"paired_steps"`
	Ours     errs     `json:"ours"`
	Theirs   errs     `json:"llamacpp"`
	Ratio    float64  `json:"ratio"`
	Typical  float64  `json:"typical_ratio"`
	Failures []string `json:"failures,omitempty"`

	Exact *exactness `json:"exact,omitempty"` // with -archs
}

// judged fills in what follows from the prompts' steps. A prompt with fewer paired steps than least is judged only when all its logits are known: a
// handful of numbers has no RMS. Rule 3 takes the place of rule 1 when archs.
func (r result) judged(least int, archs bool) result {
	var all []step
	for i := range r.Prompts {
		p := &r.Prompts[i]
		all = append(all, p.steps...)
		both := paired(p.steps)
		p.Paired = len(both)
		for _, s := range both {
			if s.Full {
				p.Full++
			}
			if s.TheirsSame {
				p.TheirSame++
			}
		}
		p.Ours, p.Theirs = total(both, ours), total(both, theirs)
		p.Ratio, p.Typical = ratio(p.Ours.RMS, p.Theirs.RMS), typical(both)
	}
	bound := total(all, ours).Max
	for i := range r.Prompts {
		p := &r.Prompts[i]
		p.Greedy = judgeGreedy(p.steps, bound)
		for _, w := range p.Greedy.Wrong {
			r.Failures = append(r.Failures, fmt.Sprintf("rule 2: %s: %s", p.Name, w))
		}
		if enough := p.Paired >= least || p.Paired > 0 && p.Full == p.Paired; !archs && enough && p.Ratio > limitPrompt {
			r.Failures = append(r.Failures, fmt.Sprintf("rule 1: %s: RMS is %.3f × llama.cpp's over %d steps, more than %.1f%s", p.Name, p.Ratio, p.Paired, limitPrompt, few(p.Typical)))
		}
	}
	both := paired(all)
	r.Paired = len(both)
	r.Ours, r.Theirs = total(both, ours), total(both, theirs)
	r.Ratio, r.Typical = ratio(r.Ours.RMS, r.Theirs.RMS), typical(both)
	switch {
	case archs:
		r.Ours = total(all, ours)
		if r.Ours.Max > limitArchs {
			r.Failures = append(r.Failures, fmt.Sprintf("rule 3: relative max error %.5f is more than %.3f", r.Ours.Max, limitArchs))
		}
	case r.Paired == 0:
		r.Failures = append(r.Failures, "rule 1: llama.cpp has no step over the oracle's history")
	case r.Ratio > limitFile:
		r.Failures = append(r.Failures, fmt.Sprintf("rule 1: RMS is %.3f × llama.cpp's over %d steps, more than %.1f%s", r.Ratio, r.Paired, limitFile, few(r.Typical)))
	}
	return r
}

// report is the verdict on everything.
type report struct {
	Files     []result `json:"files"`
	MeanRatio float64  `json:"mean_ratio"`
	Judged    int      `json:"judged"`
	Failures  []string `json:"failures"`
}

func (rep report) judged(archs bool) report {
	rep.Failures = []string{}
	var sum float64
	exact := 0 // files without an oracle of which everything else was checked
	for _, r := range rep.Files {
		if r.Exact != nil {
			exact++
		}
		for _, f := range r.Failures {
			rep.Failures = append(rep.Failures, r.File+": "+f)
		}
		if r.Refused == "" && r.Paired > 0 {
			sum += r.Ratio
			rep.Judged++
		}
	}
	if rep.Judged == 0 {
		if len(rep.Failures) == 0 && exact == 0 {
			rep.Failures = append(rep.Failures, "nothing could be judged")
		}
		return rep
	}
	rep.MeanRatio = sum / float64(rep.Judged)
	if !archs && rep.MeanRatio > limitMean {
		rep.Failures = append(rep.Failures, fmt.Sprintf("rule 1: the mean ratio over %d files is %.3f, more than %.1f", rep.Judged, rep.MeanRatio, limitMean))
	}
	return rep
}
