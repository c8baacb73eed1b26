//go:build arm64 && !purego

package kernels

import (
	"unsafe"

	"jns/kernels/arg"
	"jns/kernels/scalar"
)

// neonJoin merges part by part and query by query; a row's two products and their sum are the vector functions'.
func neonJoin(a *arg.JoinArgs) {
	for k := range a.Pages {
		part := unsafe.Add(a.Parts, uintptr(k)*a.Stride)
		sees := *(*uint16)(unsafe.Add(part, arg.PartSees))
		for i := range a.N {
			if sees>>i&1 == 0 {
				continue
			}
			m, l := (*float32)(unsafe.Add(a.M, i*4)), (*float32)(unsafe.Add(a.L, i*4))
			mPage, lPage := *(*float32)(unsafe.Add(part, arg.PartM+i*4)), *(*float32)(unsafe.Add(part, arg.PartL+i*4))
			mNew := max2(*m, mPage)
			alpha, beta := scalar.Exp(*m-mNew), scalar.Exp(mPage-mNew)
			*m = mNew
			*l = float32(*l*alpha) + float32(lPage*beta)
			out := unsafe.Slice((*float32)(unsafe.Add(a.O, uintptr(i)*a.OStride)), a.DV)
			page := unsafe.Slice((*float32)(unsafe.Add(part, arg.PartO+uintptr(i)*a.OStride)), a.DV)
			neonScale(out, out, alpha)
			neonAddScaled(out, out, page, beta)
		}
	}
}
