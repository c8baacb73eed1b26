package exec

import "jns/format"

// share makes of a choice among all experts one among those that several of them share: a number is divided by how many share one, and its weight becomes that of the expert of that number.
func (m *Model) share(p *format.RouteParams, logits []float32, ids []int32, weights, prob []float32) {
	m.vec.Softmax(prob, logits[:p.Experts])
	sum := float32(0)
	for i := range ids {
		ids[i] /= int32(p.Share)
		weights[i] = prob[ids[i]]
		sum += weights[i]
	}
	sum = max(sum, p.MinSum)
	for i, w := range weights {
		if p.Renormalise {
			w /= sum
		}
		weights[i] = float32(w * p.Scale)
	}
}

// capped makes g the function of the gate, times the gate capped softly, times up, which is capped too where there is a cap for it.
func (e *experts) capped(m *Model, g, u, scratch []float32) {
	m.vec.SoftCap(scratch, g, e.gateCap)
	m.vec.ActMul(g, g, scratch, e.act)
	if e.upCap > 0 {
		m.vec.SoftCap(u, u, e.upCap)
	}
	m.vec.Mul(g, g, u)
}
