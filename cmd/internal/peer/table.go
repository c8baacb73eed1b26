package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// columns are the measurements of a markdown table, by the start of their names.
var columns = []struct{ what, head string }{{"tg", "decode"}, {"pp", "prompt"}, {"first", "first token"}}

// markdown writes a line for each model: the ratio's median for each measurement and number of threads, bold where it misses its goal; behind it, where a third program was measured, our
// lead over it.
func (r report) markdown(w io.Writer) {
	var models []string
	var threads []int
	third := false
	cells := map[string]string{}
	key := func(model, column string, threads int) string { return fmt.Sprintf("%s %s %d", model, column, threads) }
	for _, x := range r.Rows {
		if !slices.Contains(models, x.Model) {
			models = append(models, x.Model)
		}
		if !slices.Contains(threads, x.Threads) {
			threads = append(threads, x.Threads)
		}
		text := bold(fmt.Sprintf("%.2f", x.Ratio.Median), x.Met)
		if x.Lead != nil && x.Lead.From == "live" {
			third = true
			text += "; " + bold(fmt.Sprintf("%.2f", x.Lead.Lead), x.Lead.Met)
		}
		for _, c := range columns {
			if strings.HasPrefix(x.What, c.what) {
				cells[key(x.Model, c.what, x.Threads)] = text
			}
		}
	}
	head, line := "| model |", "|---|"
	type column struct {
		what    string
		threads int
	}
	var all []column
	for _, c := range columns {
		for _, t := range threads {
			if !slices.ContainsFunc(models, func(m string) bool { return cells[key(m, c.what, t)] != "" }) {
				continue
			}
			plural := "s"
			if t == 1 {
				plural = ""
			}
			head, line = head+fmt.Sprintf(" %s, %d thread%s |", c.head, t, plural), line+"---|"
			all = append(all, column{c.what, t})
		}
	}
	fmt.Fprintf(w, "%s\n%s\n", head, line)
	for _, m := range models {
		fmt.Fprintf(w, "| %s |", m)
		for _, c := range all {
			text := cells[key(m, c.what, c.threads)]
			if text == "" {
				text = "–"
			}
			fmt.Fprintf(w, " %s |", text)
		}
		fmt.Fprintln(w)
	}
	note := "Ours ÷ peer, median of %d pairs; bold misses its goal"
	if third {
		note += "; behind the semicolon our ratio over the third program's"
	}
	fmt.Fprintf(w, "\n"+note+".\n", r.Pairs)
	for _, f := range r.Failed {
		fmt.Fprintf(w, "Not measured: %s.\n", f.Why)
	}
}

func bold(s string, met bool) string {
	if met {
		return s
	}
	return "**" + s + "**"
}
