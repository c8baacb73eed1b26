package main

import (
	"fmt"
	"strings"
)

// goalLead is what our ratio over the peer must be of the third program's ratio over the peer, on models as they are published.
const goalLead = 1.3

// lead compares our ratio over the peer with a third program's, ik_llama.cpp's: measured live in the same alternation, or stored from an earlier measurement elsewhere.
type lead struct {
	From  string  `json:"from"` // live or stored
	Third float64 `json:"third_ratio"`
	Lead  float64 `json:"lead"` // ours/peer ÷ third/peer
	Goal  float64 `json:"goal"`
	Met   bool    `json:"met"`
}

// stored are ik_llama.cpp's ratios over llama.cpp of the peer's sources: snapshot of November 2026, both with native flags, alternating, on two Zen 5 processors; prompts of 512 tokens, 64 tokens of
// decoding; with one thread and with two.
var stored = map[string]map[string][2]float64{
	"SmolLM2-135M-Instruct-Q4_1":         {"pp": {1388.0 / 252, 2646.0 / 497}, "tg": {191.0 / 160, 311.0 / 207}},
	"gemma-3-270m-Q4_K_M":                {"pp": {1356.0 / 517, 2539.0 / 1084}, "tg": {111.0 / 95, 168.0 / 105}},
	"Qwen2.5-Coder-0.5B-Instruct-Q4_K_M": {"pp": {519.0 / 182, 993.0 / 353}, "tg": {79.0 / 54, 105.0 / 67}},
}

// compare fills in the lead of a finished row of speed, where there is a third program's value.
func (r *row) compare() {
	l := lead{Goal: goalLead}
	switch kind, ok := stored[r.Model][strings.TrimRight(r.What, "0123456789")]; {
	case len(r.Third) > 0:
		ratio, over := make([]float64, len(r.Peer)), make([]float64, len(r.Peer))
		for i := range r.Peer {
			ratio[i], over[i] = r.Third[i]/r.Peer[i], r.Ours[i]/r.Third[i]
		}
		l.From, l.Third, l.Lead = "live", median(ratio), median(over)
	case ok && r.Threads <= len(kind):
		l.From, l.Third = "stored", kind[r.Threads-1]
		l.Lead = r.Ratio.Median / l.Third
	default:
		return
	}
	l.Met = l.Lead >= l.Goal
	r.Lead = &l
}

func (l *lead) String() string {
	verdict := "met"
	if !l.Met {
		verdict = "NOT MET"
	}
	return fmt.Sprintf("ik_llama.cpp (%s) %.2f, lead %.2f ≥ %.1f %s", l.From, l.Third, l.Lead, l.Goal, verdict)
}
