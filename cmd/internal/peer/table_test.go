package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheMarkdownTableHasALineAModelAndMissedGoalsInBold(t *testing.T) {
	one := func(model, what string, threads int, peer, ours float64, third ...float64) row {
		return row{Model: model, What: what, Threads: threads, Peer: []float64{peer}, Ours: []float64{ours}, Third: third, Goal: 3, AtLeast: true}.finish()
	}
	r := report{Pairs: 1, Rows: []row{one("a", "pp512", 1, 100, 400), one("a", "tg64", 1, 100, 250), one("a", "tg64", 2, 100, 600, 500), one("a", "rss-bench", 1, 9, 9), one("b", "tg64", 1, 10, 99)},
		Failed: []failure{{"c", "c.gguf: no"}}}
	var b strings.Builder
	r.markdown(&b)
	require.Equal(t, `| model | decode, 1 thread | decode, 2 threads | prompt, 1 thread |
|---|---|---|---|
| a | **2.50** | 6.00; **1.20** | 4.00 |
| b | 9.90 | – | – |

Ours ÷ peer, median of 1 pairs; bold misses its goal; behind the semicolon our ratio over the third program's.
Not measured: c.gguf: no.
`, b.String())
	_, err := parse([]string{"-json", "-markdown", "x.gguf"})
	require.Error(t, err)
}
