//go:build amd64 && !purego

package kernels

import (
	"unsafe"

	"jns/kernels/amd64"
	"jns/kernels/arg"
	"jns/kernels/scalar"
)

// codesMost is up to how many queries take codes as they lie: those of one call of the kernels, since each call converts them anew.
func (w wide) codesMost() int {
	if w {
		return 8
	}
	return 4
}

// attendCodes adds a page of eight bits as it lies. It reports false, and has done nothing, if the page or the queries are not for the kernels (kernels/_asm/amd64/vec_attend8.go).
func (w wide) attendCodes(a *arg.AttendArgs) bool {
	if a.DV%scalar.KVBlock != 0 || a.DV == 0 || a.D == 0 || a.N > w.codesMost() {
		return false
	}
	var s amd64.AttendStep
	if !span(&s, a.Lo[:a.N], a.Hi[:a.N]) {
		return true
	}
	attendStep(&s, a)
	attendRows(&s, a, 0)
	k, v := a.D*arg.KVChunk, a.DV*arg.KVChunk // codes, before scales
	s.KS, s.VS = unsafe.Add(a.K, k), unsafe.Add(a.V, v)
	s.NextKS, s.NextVS = unsafe.Add(s.NearV, k), s.VS
	if a.NextV != nil {
		s.NextVS = unsafe.Add(a.NextV, v)
	}
	s.KN, s.VN = (a.D+scalar.KVBlock-1)/scalar.KVBlock*arg.KVChunk, a.DV/scalar.KVBlock*arg.KVChunk
	s.T, s.TGap = a.Halves, 4*s.VN
	if w {
		return codesWide(&s, a.N)
	}
	return codesNarrow(&s, a.N)
}

func codesWide(s *amd64.AttendStep, n int) bool {
	amd64.Attend_codescales_avx512vnni(s)
	if s.Wild != 0 {
		return false
	}
	switch n {
	case 1:
		amd64.Attend_codescores1_avx512vnni(s)
	case 2:
		amd64.Attend_codescores2_avx512vnni(s)
	case 3:
		amd64.Attend_codescores3_avx512vnni(s)
	case 4:
		amd64.Attend_codescores4_avx512vnni(s)
	case 5:
		amd64.Attend_codescores5_avx512vnni(s)
	case 6:
		amd64.Attend_codescores6_avx512vnni(s)
	case 7:
		amd64.Attend_codescores7_avx512vnni(s)
	case 8:
		amd64.Attend_codescores8_avx512vnni(s)
	}
	softenWide(s, n)
	switch n {
	case 1:
		amd64.Attend_codeweigh1_avx512vnni(s)
	case 2:
		amd64.Attend_codeweigh2_avx512vnni(s)
	case 3:
		amd64.Attend_codeweigh3_avx512vnni(s)
	case 4:
		amd64.Attend_codeweigh4_avx512vnni(s)
	case 5:
		amd64.Attend_codeweigh5_avx512vnni(s)
	case 6:
		amd64.Attend_codeweigh6_avx512vnni(s)
	case 7:
		amd64.Attend_codeweigh7_avx512vnni(s)
	case 8:
		amd64.Attend_codeweigh8_avx512vnni(s)
	}
	return true
}

func codesNarrow(s *amd64.AttendStep, n int) bool {
	amd64.Attend_codescales_avx2(s)
	if s.Wild != 0 {
		return false
	}
	switch n {
	case 1:
		amd64.Attend_codescores1_avx2(s)
	case 2:
		amd64.Attend_codescores2_avx2(s)
	case 3:
		amd64.Attend_codescores3_avx2(s)
	case 4:
		amd64.Attend_codescores4_avx2(s)
	}
	amd64.Attend_soften_avx2(s)
	switch n {
	case 1:
		amd64.Attend_codeweigh1_avx2(s)
	case 2:
		amd64.Attend_codeweigh2_avx2(s)
	case 3:
		amd64.Attend_codeweigh3_avx2(s)
	case 4:
		amd64.Attend_codeweigh4_avx2(s)
	}
	return true
}
