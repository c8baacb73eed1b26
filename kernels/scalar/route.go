package scalar

import (
	"math"

	"jns/kernels/arg"
)

// RouteScratch is what Route works in.
type RouteScratch struct {
	prob, pick []float32
	group      []float32
}

// NewRouteScratch makes scratch for a number of experts.
func NewRouteScratch(experts int) RouteScratch {
	return RouteScratch{prob: make([]float32, experts), pick: make([]float32, experts), group: make([]float32, experts)}
}

// Route chooses a.Top experts for a row of router logits and writes ids and weights in rank order. The definition:
//
//	w_e   = softmax(logits)_e, or 1/(1+Exp(−logit_e)), or logit_e (RouteSoftmaxChosen)
//	pick  = w + Bias; with groups, the pick of experts outside the TopGroups best groups is −Inf, a group's score the sum of its two largest picks
//	rank r: the lowest id among the largest remaining pick
//	RouteSoftmaxChosen: weights = Softmax of the chosen logits, in rank order
//	Renormalise: sum = w_0 + w_1 + … in rank order, weight = w / max(sum, MinSum)
//	weight = float32(weight·Scale)
//
// A NaN counts as −Inf in comparisons, so that Top different ids below Experts come out whatever goes in.
func Route(a *arg.RouteArgs, logits []float32, ids []int32, weights []float32, s *RouteScratch) {
	n := a.Experts
	logits, prob, pick := logits[:n], s.prob[:n], s.pick[:n]
	switch a.Func {
	case arg.RouteSoftmax:
		Softmax(prob, logits)
	case arg.RouteSigmoid:
		for i, x := range logits {
			prob[i] = 1 / (1 + Exp(-x))
		}
	default:
		copy(prob, logits)
	}
	for i, p := range prob {
		if a.Bias != nil {
			p += a.Bias[i]
		}
		if p != p {
			p = float32(math.Inf(-1))
		}
		pick[i] = p
	}
	if a.Groups > 1 {
		limitGroups(a, pick, s.group)
	}
	const taken = 2 // marks a chosen expert in s.group
	for i := range n {
		s.group[i] = 0
	}
	for r := range a.Top {
		best := -1
		for i, p := range pick {
			if s.group[i] != taken && (best < 0 || p > pick[best]) {
				best = i
			}
		}
		s.group[best] = taken
		ids[r], weights[r] = int32(best), prob[best]
	}
	weights = weights[:a.Top]
	if a.Func == arg.RouteSoftmaxChosen {
		Softmax(weights, weights)
	}
	if a.Renormalise {
		var sum float32
		for _, w := range weights {
			sum += w
		}
		sum = max(sum, a.MinSum)
		for i, w := range weights {
			weights[i] = w / sum
		}
	}
	for i, w := range weights {
		weights[i] = float32(w * a.Scale)
	}
}

// limitGroups sets the picks of all but the best groups to −Inf; ties go to the lower group.
func limitGroups(a *arg.RouteArgs, pick, score []float32) {
	size := a.Experts / a.Groups
	inf := float32(math.Inf(-1))
	for g := range a.Groups {
		first, second := inf, inf
		for _, p := range pick[g*size : (g+1)*size] {
			switch {
			case p > first:
				first, second = p, first
			case p > second:
				second = p
			}
		}
		if size == 1 {
			second = 0
		}
		score[g] = first + second
	}
	// A group stays if fewer than TopGroups groups come before it.
	for g := range a.Groups {
		before := 0
		for h := range a.Groups {
			if score[h] > score[g] || (score[h] == score[g] && h < g) {
				before++
			}
		}
		if before >= a.TopGroups {
			for i := g * size; i < (g+1)*size; i++ {
				pick[i] = inf
			}
		}
	}
}

// Sink merges an attention sink, an extra logit s without a value, into a query's state: m' = max(m, s), α = Exp(m − m'); o = float32(o·α);
// the result is the new sum, float32(l·α) + Exp(s − m').
func Sink(o []float32, m, l, s float32) float32 {
	top := Max([]float32{m, s})
	alpha := Exp(m - top)
	for i, v := range o {
		o[i] = float32(v * alpha)
	}
	return float32(l*alpha) + Exp(s-top)
}
