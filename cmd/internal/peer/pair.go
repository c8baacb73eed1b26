package main

import (
	"fmt"
	"io"
	"math"
	"slices"
)

// Goals: what a ratio ours/peer must reach or must not exceed.
const (
	goalPrefill = 3.0  // at least
	goalDecode1 = 1.6  // at least, one thread
	goalDecode  = 1.8  // at least, more threads
	goalFirst   = 0.15 // at most
	goalMemory  = 1.0  // below
)

// decodeGoal is the goal of decoding with so many threads.
func decodeGoal(threads int) float64 {
	if threads == 1 {
		return goalDecode1
	}
	return goalDecode
}

// quartiles are of a sample, by linear interpolation between order statistics.
type quartiles struct {
	Low    float64 `json:"q1"`
	Median float64 `json:"median"`
	High   float64 `json:"q3"`
}

func summarise(v []float64) quartiles {
	s := slices.Clone(v)
	slices.Sort(s)
	at := func(q float64) float64 {
		if len(s) == 0 {
			return math.NaN()
		}
		x := q * float64(len(s)-1)
		i := int(x)
		if i+1 >= len(s) {
			return s[len(s)-1]
		}
		return s[i] + (x-float64(i))*(s[i+1]-s[i])
	}
	return quartiles{at(0.25), at(0.5), at(0.75)}
}

func median(v []float64) float64 { return summarise(v).Median }

// row is one measurement of one model: values of both sides, pair by pair.
type row struct {
	Model   string    `json:"model"`
	What    string    `json:"what"` // pp512, tg128, first, rss-first, rss-bench
	Threads int       `json:"threads"`
	Unit    string    `json:"unit"`
	Peer    []float64 `json:"peer"`
	Ours    []float64 `json:"ours"`
	Third   []float64 `json:"third,omitempty"` // of the third program, where one is measured

	PeerMedian float64   `json:"peer_median"`
	OursMedian float64   `json:"ours_median"`
	Ratio      quartiles `json:"ratio"` // of ours/peer within a pair
	Goal       float64   `json:"goal"`
	AtLeast    bool      `json:"at_least"` // else at most
	Met        bool      `json:"met"`
	Lead       *lead     `json:"lead,omitempty"`
}

// finish computes what follows from the values. Peer and Ours must be equally long.
func (r row) finish() row {
	ratio := make([]float64, len(r.Peer))
	for i := range ratio {
		ratio[i] = r.Ours[i] / r.Peer[i]
	}
	r.PeerMedian, r.OursMedian, r.Ratio = median(r.Peer), median(r.Ours), summarise(ratio)
	if r.AtLeast {
		r.Met = r.Ratio.Median >= r.Goal
	} else {
		r.Met = r.Ratio.Median <= r.Goal
	}
	r.compare()
	return r
}

func (r row) print(w io.Writer) {
	sign, verdict := "≤", "met"
	if r.AtLeast {
		sign = "≥"
	}
	if !r.Met {
		verdict = "NOT MET"
	}
	fmt.Fprintf(w, "%-40s %-9s t%d  %10.2f %10.2f %-6s %6.2f [%.2f … %.2f]  %s %.4g %s", r.Model, r.What, r.Threads, r.PeerMedian, r.OursMedian, r.Unit,
		r.Ratio.Median, r.Ratio.Low, r.Ratio.High, sign, r.Goal, verdict)
	if r.Lead != nil {
		fmt.Fprintf(w, "; %s", r.Lead)
	}
	fmt.Fprintln(w)
}

// report is everything.
type report struct {
	Machine    string `json:"machine"`
	SystemInfo string `json:"peer_system_info"`
	Target     string `json:"target,omitempty"` // of jnsc, if one was asked for
	Pairs      int    `json:"pairs"`
	Reps       int    `json:"reps"`
	Rows       []row  `json:"rows"`

	Failed []failure `json:"failed,omitempty"` // of many types
}

// failure is a model that could not be measured.
type failure struct {
	Model string `json:"model"`
	Why   string `json:"why"`
}

func (r report) printHead(w io.Writer) {
	fmt.Fprintf(w, "machine: %s\npeer: %s\n%d alternating pairs, %d repetitions in a run; ratio = ours / peer within a pair: median [quartiles]\n\n", r.Machine, r.SystemInfo, r.Pairs, r.Reps)
	fmt.Fprintf(w, "%-40s %-9s %-2s  %10s %10s %-6s %6s\n", "model", "what", "", "peer", "ours", "unit", "ratio")
}

func (r report) met() bool {
	for _, x := range r.Rows {
		if !x.Met || x.Lead != nil && !x.Lead.Met {
			return false
		}
	}
	return true
}
