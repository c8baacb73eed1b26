package main

import (
	"fmt"
	"io"
)

func printHead(w io.Writer) {
	fmt.Fprintf(w, "errors against the oracle, relative to the logits' deviation; steps: compared with llama.cpp over the same history; typical: the median of the steps' ratios; greedy: the oracle's choice, of all steps (checked by rule 2)\n\n")
	fmt.Fprintf(w, "%-36s %-6s %9s %9s %6s %7s  %9s %9s %6s  %s\n", "file", "steps", "rms ours", "llama.cpp", "ratio", "typical", "max ours", "llama.cpp", "ratio", "greedy")
}

func (r result) print(w io.Writer, verbose, steps bool) {
	if r.Refused != "" {
		fmt.Fprintf(w, "%-36s refused: %s\n", r.File, r.Refused)
		return
	}
	if len(r.Prompts) > 0 {
		var all greedy
		for _, p := range r.Prompts {
			all.Same, all.Steps, all.Checked = all.Same+p.Greedy.Same, all.Steps+p.Greedy.Steps, all.Checked+p.Greedy.Checked
		}
		line(w, r.File, r.Paired, r.Ours, r.Theirs, r.Typical, all, len(r.Failures) > 0)
	}
	if verbose {
		for _, p := range r.Prompts {
			line(w, fmt.Sprintf("  %s (%d tokens)", p.Name, p.Tokens), p.Paired, p.Ours, p.Theirs, p.Typical, p.Greedy, false)
			for i, s := range p.steps {
				if steps {
					s.print(w, i)
				}
			}
			if p.Drift > 0 {
				fmt.Fprintf(w, "    the oracle made here differs from the stored one by %.2g\n", p.Drift)
			}
		}
	}
	for _, f := range r.Failures {
		fmt.Fprintf(w, "    FAILED %s: %s\n", r.File, f)
	}
}

func (s step) print(w io.Writer, i int) {
	over := "top logits"
	if s.Full {
		over = "all logits"
	}
	fmt.Fprintf(w, "    step %-3d %s  rms %.6f %.6f  max %.5f %.5f  margin %.5f  %s\n", i, over, s.Ours.RMS, s.Theirs.RMS, s.Ours.Max, s.Theirs.Max, s.Margin, s.Description)
}

func line(w io.Writer, name string, steps int, o, t errs, typical float64, g greedy, failed bool) {
	mark := ""
	if failed {
		mark = "  FAILED"
	}
	fmt.Fprintf(w, "%-36s %-6d %9.6f %9.6f %6.3f %7.3f  %9.5f %9.5f %6.3f  %d/%d (%d)%s\n", name, steps, o.RMS, t.RMS, ratio(o.RMS, t.RMS), typical, o.Max, t.Max,
		ratio(o.Max, t.Max), g.Same, g.Steps, g.Checked, mark)
}

func (rep report) print(w io.Writer) {
	refused := 0
	for _, r := range rep.Files {
		if r.Refused != "" {
			refused++
		}
	}
	fmt.Fprintf(w, "\n%d files judged, %d refused; mean ratio of RMS %.3f\n", rep.Judged, refused, rep.MeanRatio)
	if len(rep.Failures) == 0 {
		fmt.Fprintln(w, "every rule holds")
		return
	}
	fmt.Fprintf(w, "%d failures:\n", len(rep.Failures))
	for _, f := range rep.Failures {
		fmt.Fprintf(w, "  %s\n", f)
	}
}
