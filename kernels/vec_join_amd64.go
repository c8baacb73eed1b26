//go:build amd64 && !purego

package kernels

import (
	"unsafe"

	"jns/kernels/amd64"
	"jns/kernels/arg"
)

// join gives the queries of a to the kernels, as many at a time as one takes.
func (w wide) join(a *arg.JoinArgs) {
	if a.Pages == 0 || a.DV == 0 {
		return
	}
	const narrow = 8
	group := narrow
	if w {
		group = arg.AttendMax
	}
	var s amd64.JoinStep
	s.PStride, s.Pages, s.OStride, s.DV = a.Stride, a.Pages, a.OStride, a.DV
	for i := 0; i < a.N; i += group {
		s.Rows = min(group, a.N-i)
		s.PM = unsafe.Add(a.Parts, arg.PartM+4*i)
		s.PSees = unsafe.Add(a.Parts, arg.PartSees+i/8) // i is a multiple of eight
		s.PO = unsafe.Add(a.Parts, arg.PartO+uintptr(i)*a.OStride)
		s.O = unsafe.Add(a.O, uintptr(i)*a.OStride)
		s.M, s.L = unsafe.Add(a.M, 4*i), unsafe.Add(a.L, 4*i)
		if w {
			amd64.Attend_join_avx512vnni(&s)
		} else {
			amd64.Attend_join_avx2(&s)
		}
	}
}
