package scalar

import (
	"math"
	"unsafe"

	"jns/kernels/arg"
	"jns/kernels/tile"
)

// Attend adds one page to the running attention of a.N queries (see arg.AttendArgs). For each query with Lo < Hi, over positions p in [Lo, Hi):
//
//	dot_p  = FMA(q_d, k_dp, dot_p) for d in order, from +0
//	s_p    = float32(Scale·dot_p); with a cap, s_p = float32(Cap·Tanh(float32(s_p·(1/Cap))))
//	m      = Max(s), e_p = Exp(s_p − m)
//	l      = Sum of 16 lanes, position p in lane p mod 16, positions outside counting +0
//	o_c    = FMA(e_p, v_pc, o_c) for p in order, from +0
//
// and into the state, with m' = Max(M, m), α = Exp(M − m'), β = Exp(m − m'):
//
//	M = m', L = float32(L·α) + float32(l·β), O_c = float32(O_c·α) + float32(float32(o_c + 0)·β)
//
// (o_c + 0 turns −0 into +0.) What K and V hold outside [Lo, Hi) has no influence, NaN included; nor have N and the other queries. S is scratch
// for implementations and not used here.
func Attend(a *arg.AttendArgs) {
	for i := range a.N {
		if a.Lo[i] < a.Hi[i] {
			attendOne(a, i, int(a.Lo[i]), int(a.Hi[i]))
		}
	}
}

func attendOne(a *arg.AttendArgs, i, lo, hi int) {
	q := unsafe.Slice((*float32)(unsafe.Add(a.Q, uintptr(i)*a.QStride)), a.D)
	k := unsafe.Slice((*uint16)(a.K), a.D*arg.KVChunk)
	v := unsafe.Slice((*uint16)(a.V), a.DV*arg.KVChunk)
	out := unsafe.Slice((*float32)(unsafe.Add(a.O, uintptr(i)*a.OStride)), a.DV)
	m := (*float32)(unsafe.Add(a.M, i*4))
	l := (*float32)(unsafe.Add(a.L, i*4))

	var e [arg.KVChunk]float32
	for p := lo; p < hi; p++ {
		var dot float32
		for d, x := range q {
			dot = tile.FMA32(x, tile.F16ToF32(k[d*arg.KVChunk+p]), dot)
		}
		e[p] = float32(a.Scale * dot)
	}
	if a.Cap != 0 {
		SoftCap(e[lo:hi], e[lo:hi], a.Cap)
	}
	mPage := Max(e[lo:hi])
	for p := lo; p < hi; p++ {
		e[p] = Exp(e[p] - mPage)
	}
	lPage := sum(e[:])

	mNew := Max([]float32{*m, mPage})
	alpha, beta := Exp(*m-mNew), Exp(mPage-mNew)
	*m = mNew
	*l = float32(*l*alpha) + float32(lPage*beta)
	for c := range out {
		var o float32
		for p := lo; p < hi; p++ {
			o = tile.FMA32(e[p], tile.F16ToF32(v[p*a.DV+c]), o)
		}
		out[c] = float32(out[c]*alpha) + float32(float32(o+0)*beta)
	}
}

// Join merges parts, each of one page, into the running attention of a.N queries (see arg.JoinArgs), as Attend merges a page that it has just computed. A part's O_c is float32(o_c + 0)
// already, and its sum is l, because from an empty state α = 0 and β = 1.
func Join(a *arg.JoinArgs) {
	for k := range a.Pages {
		part := unsafe.Add(a.Parts, uintptr(k)*a.Stride)
		sees := *(*uint16)(unsafe.Add(part, arg.PartSees))
		for i := range a.N {
			if sees>>i&1 == 0 {
				continue
			}
			m, l := (*float32)(unsafe.Add(a.M, i*4)), (*float32)(unsafe.Add(a.L, i*4))
			mPage, lPage := *(*float32)(unsafe.Add(part, arg.PartM+i*4)), *(*float32)(unsafe.Add(part, arg.PartL+i*4))
			mNew := Max([]float32{*m, mPage})
			alpha, beta := Exp(*m-mNew), Exp(mPage-mNew)
			*m = mNew
			*l = float32(*l*alpha) + float32(lPage*beta)
			out := unsafe.Slice((*float32)(unsafe.Add(a.O, uintptr(i)*a.OStride)), a.DV)
			page := unsafe.Slice((*float32)(unsafe.Add(part, arg.PartO+uintptr(i)*a.OStride)), a.DV)
			for c, o := range page {
				out[c] = float32(out[c]*alpha) + float32(o*beta)
			}
		}
	}
}

// NewState is the state before the first page: M = −Inf, L = 0, O = 0.
func NewState(m, l, o []float32) {
	for i := range m {
		m[i] = float32(math.Inf(-1))
	}
	clear(l)
	clear(o)
}
