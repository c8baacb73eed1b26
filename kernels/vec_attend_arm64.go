//go:build arm64 && !purego

package kernels

import (
	"math"
	"unsafe"

	"jns/kernels/arg"
	"jns/kernels/arm64"
	"jns/kernels/scalar"
)

// neonAttend gives the queries of a to the kernels, four at a time. Bits of a query do not depend on its companions: each is its own chain of operations in the kernels too.
func neonAttend(a *arg.AttendArgs) {
	if a.DV&7 != 0 || a.DV == 0 || a.D == 0 {
		scalar.Attend(a)
		return
	}
	const group = 4
	var s arm64.AttendStep
	s.QStride, s.K, s.V, s.OStride = a.QStride, a.K, a.V, a.OStride
	s.D, s.DV, s.Scale = a.D, a.DV, a.Scale
	for i := 0; i < a.N; i += group {
		n := min(group, a.N-i)
		if !neonSpan(&s, a.Lo[i:i+n], a.Hi[i:i+n]) {
			continue
		}
		s.Q = unsafe.Add(a.Q, uintptr(i)*a.QStride)
		s.O = unsafe.Add(a.O, uintptr(i)*a.OStride)
		s.S = unsafe.Add(a.S, i*4*arg.KVChunk)
		switch n {
		case 1:
			arm64.Attend_scores1_dotprod(&s)
		case 2:
			arm64.Attend_scores2_dotprod(&s)
		case 3:
			arm64.Attend_scores3_dotprod(&s)
		case 4:
			arm64.Attend_scores4_dotprod(&s)
		}
		for j := range n {
			if lo, hi := a.Lo[i+j], a.Hi[i+j]; lo < hi {
				s.Alpha[j], s.Beta[j] = neonSoften(a, i+j, int(lo), int(hi))
			}
		}
		switch n {
		case 1:
			arm64.Attend_weigh1_dotprod(&s)
		case 2:
			arm64.Attend_weigh2_dotprod(&s)
		case 3:
			arm64.Attend_weigh3_dotprod(&s)
		case 4:
			arm64.Attend_weigh4_dotprod(&s)
		}
	}
}

// neonSpan fills in which query sees what and reports whether any sees anything.
func neonSpan(s *arm64.AttendStep, lo, hi []int32) bool {
	s.Any = 0
	var first, last int32 = arg.KVChunk, 0
	for i := range lo {
		if lo[i] < hi[i] {
			s.Any |= 1 << i
			first, last = min(first, lo[i]), max(last, hi[i])
		}
	}
	s.Lo, s.Hi = int(first), int(last)
	for p := first; p < last; p++ {
		var bits uint16
		for i := range lo {
			if p >= lo[i] && p < hi[i] {
				bits |= 1 << i
			}
		}
		s.Active[p] = bits
	}
	return s.Any != 0
}

// neonSoften turns the scores of query i into weights, and merges maximum and sum into its state; it gives the factors of the old outputs and of the page's.
func neonSoften(a *arg.AttendArgs, i, lo, hi int) (alpha, beta float32) {
	e := unsafe.Slice((*float32)(unsafe.Add(a.S, i*4*arg.KVChunk)), arg.KVChunk)
	m, l := (*float32)(unsafe.Add(a.M, i*4)), (*float32)(unsafe.Add(a.L, i*4))
	if a.Cap != 0 {
		neonSoftCap(e, e, a.Cap)
	}
	// What lies outside must count neither for the maximum nor for the sum, whatever it is.
	inf := float32(math.Inf(-1))
	for p := range e[:lo] {
		e[p] = inf
	}
	for p := hi; p < len(e); p++ {
		e[p] = inf
	}
	mPage, _ := neonMax(e)
	v := arm64.VecArgs{Dst: unsafe.Pointer(&e[0]), A: unsafe.Pointer(&e[0]), N: len(e), F: mPage}
	arm64.Vec_expsum_dotprod(&v)
	if math.IsInf(float64(mPage), -1) {
		// −Inf − −Inf is a NaN; outside it must be 0.
		clear(e[:lo])
		clear(e[hi:])
		v.Lanes = [16]float32{}
		arm64.Vec_sum_dotprod(&v)
	}
	sum := sumLanes(&v)
	mNew := max2(*m, mPage)
	alpha, beta = scalar.Exp(*m-mNew), scalar.Exp(mPage-mNew)
	*m = mNew
	*l = float32(*l*alpha) + float32(sum*beta)
	return alpha, beta
}

// max2 is scalar.Max of two.
func max2(a, b float32) float32 {
	m := float32(math.Inf(-1))
	if a > m {
		m = a
	}
	if b > m {
		m = b
	}
	return m + 0
}
