//go:build amd64 && !purego

package kernels

import (
	"unsafe"

	"jns/kernels/amd64"
	"jns/kernels/arg"
	"jns/kernels/scalar"
)

// attendWell is how many queries AVX-512 takes at most with two vectors of sums each. With one, every multiply-add loads an element, and loads bound it: of 15 queries
// the page takes a twentieth longer than of 8 and then 7 (Zen 5).
const attendWell = 12

// attend gives the queries of a to the kernels, as many at a time as one takes. Bits of a query do not depend on its companions: each is its own
// chain of operations in the kernels too.
func (w wide) attend(a *arg.AttendArgs) {
	if a.DV&7 != 0 || a.DV == 0 || a.D == 0 {
		scalar.Attend(a)
		return
	}
	group := 4
	if w {
		group = arg.AttendMax
	}
	var s amd64.AttendStep
	attendStep(&s, a)
	if w && a.N > attendWell {
		group = (a.N + 1) / 2 // the page is in the first-level cache for the second half
	}
	for i := 0; i < a.N; i += group {
		n := min(group, a.N-i)
		if !span(&s, a.Lo[i:i+n], a.Hi[i:i+n]) {
			continue
		}
		attendRows(&s, a, i)
		if w {
			attendWide(&s, n)
		} else {
			attendNarrow(&s, n)
		}
	}
}

// attendStep fills in what all queries of a share.
func attendStep(s *amd64.AttendStep, a *arg.AttendArgs) {
	s.QStride, s.K, s.V, s.OStride = a.QStride, a.K, a.V, a.OStride
	s.D, s.DV, s.Scale, s.Cap = a.D, a.DV, a.Scale, a.Cap
	if a.Cap != 0 {
		s.InvCap = 1 / a.Cap
	}
	nextK, nextV := a.NextK, a.NextV
	if nextK == nil { // an address that is mapped: looking for another is slow
		nextK, nextV = a.K, a.V
	}
	s.NearK, s.NearV, s.NearS = a.V, nextK, nextK
	if prefetching.Once {
		s.FarK, s.FarV = a.K, a.V // which are there
	} else {
		s.FarK, s.FarV = nextK, nextV
	}
}

// attendRows fills in what the queries from i on have of their own.
func attendRows(s *amd64.AttendStep, a *arg.AttendArgs, i int) {
	s.Q = unsafe.Add(a.Q, uintptr(i)*a.QStride)
	s.O = unsafe.Add(a.O, uintptr(i)*a.OStride)
	s.S = unsafe.Add(a.S, i*4*arg.KVChunk)
	s.M, s.L = unsafe.Add(a.M, i*4), unsafe.Add(a.L, i*4)
}

// span fills in which query sees what and reports whether any sees anything.
func span(s *amd64.AttendStep, lo, hi []int32) bool {
	s.Rows, s.Any = len(lo), 0
	var from, to, first, last int32 = 0, arg.KVChunk, arg.KVChunk, 0
	for i := range lo {
		s.RowLo[i], s.RowHi[i] = lo[i], hi[i]
		if lo[i] >= hi[i] {
			to = 0 // one that sees nothing leaves nothing in common
			continue
		}
		s.Any |= 1 << i
		from, to = max(from, lo[i]), min(to, hi[i])
		first, last = min(first, lo[i]), max(last, hi[i])
	}
	if s.Any == 0 {
		return false
	}
	if from >= to {
		from, to = last, last
	}
	s.Lo, s.From, s.To, s.Hi = int(first), int(from), int(to), int(last)
	for p := first; p < last; p++ {
		if p == from {
			p = to // all see these
			if p == last {
				break
			}
		}
		var bits uint16
		for i := range lo {
			if p >= lo[i] && p < hi[i] {
				bits |= 1 << i
			}
		}
		s.Active[p] = bits
	}
	return true
}

func attendWide(s *amd64.AttendStep, n int) {
	switch n {
	case 1:
		amd64.Attend_scores1_avx512vnni(s)
	case 2:
		amd64.Attend_scores2_avx512vnni(s)
	case 3:
		amd64.Attend_scores3_avx512vnni(s)
	case 4:
		amd64.Attend_scores4_avx512vnni(s)
	case 5:
		amd64.Attend_scores5_avx512vnni(s)
	case 6:
		amd64.Attend_scores6_avx512vnni(s)
	case 7:
		amd64.Attend_scores7_avx512vnni(s)
	case 8:
		amd64.Attend_scores8_avx512vnni(s)
	case 9:
		amd64.Attend_scores9_avx512vnni(s)
	case 10:
		amd64.Attend_scores10_avx512vnni(s)
	case 11:
		amd64.Attend_scores11_avx512vnni(s)
	case 12:
		amd64.Attend_scores12_avx512vnni(s)
	case 13:
		amd64.Attend_scores13_avx512vnni(s)
	case 14:
		amd64.Attend_scores14_avx512vnni(s)
	case 15:
		amd64.Attend_scores15_avx512vnni(s)
	case 16:
		amd64.Attend_scores16_avx512vnni(s)
	}
	softenWide(s, n)
	switch n {
	case 1:
		amd64.Attend_weigh1_avx512vnni(s)
	case 2:
		amd64.Attend_weigh2_avx512vnni(s)
	case 3:
		amd64.Attend_weigh3_avx512vnni(s)
	case 4:
		amd64.Attend_weigh4_avx512vnni(s)
	case 5:
		amd64.Attend_weigh5_avx512vnni(s)
	case 6:
		amd64.Attend_weigh6_avx512vnni(s)
	case 7:
		amd64.Attend_weigh7_avx512vnni(s)
	case 8:
		amd64.Attend_weigh8_avx512vnni(s)
	case 9:
		amd64.Attend_weigh9_avx512vnni(s)
	case 10:
		amd64.Attend_weigh10_avx512vnni(s)
	case 11:
		amd64.Attend_weigh11_avx512vnni(s)
	case 12:
		amd64.Attend_weigh12_avx512vnni(s)
	case 13:
		amd64.Attend_weigh13_avx512vnni(s)
	case 14:
		amd64.Attend_weigh14_avx512vnni(s)
	case 15:
		amd64.Attend_weigh15_avx512vnni(s)
	case 16:
		amd64.Attend_weigh16_avx512vnni(s)
	}
}

// fewSoftened is up to how many queries memory, not arithmetic, bounds the attention to a page, so that it must not idle while scores become exponentials.
const fewSoftened = 4

func softenWide(s *amd64.AttendStep, n int) {
	if prefetching.Once && n <= fewSoftened {
		amd64.Attend_softenahead_avx512vnni(s)
	} else {
		amd64.Attend_soften_avx512vnni(s)
	}
}

func attendNarrow(s *amd64.AttendStep, n int) {
	switch n {
	case 1:
		amd64.Attend_scores1_avx2(s)
	case 2:
		amd64.Attend_scores2_avx2(s)
	case 3:
		amd64.Attend_scores3_avx2(s)
	case 4:
		amd64.Attend_scores4_avx2(s)
	}
	amd64.Attend_soften_avx2(s)
	switch n {
	case 1:
		amd64.Attend_weigh1_avx2(s)
	case 2:
		amd64.Attend_weigh2_avx2(s)
	case 3:
		amd64.Attend_weigh3_avx2(s)
	case 4:
		amd64.Attend_weigh4_avx2(s)
	}
}
