package kernels

import (
	"unsafe"

	"jns/kernels/arg"
	"jns/kernels/scalar"
)

// fillAttend8 completes a table whose other functions are there: pages of eight bits go to codes, which takes them as they lie and reports false where it does not, and otherwise (or where
// codes is nil) are made pages of halves first.
func fillAttend8(v *Vec, codes func(a *AttendArgs) bool) {
	expandK, expandV, attend, fetch := v.ExpandK8, v.ExpandV8, v.Attend, v.Fetch
	v.Attend8 = func(a *AttendArgs) {
		if codes != nil && codes(a) {
			return
		}
		k, val := a.K, a.V
		// Attend fetches ahead for pages of halves. Codes are asked for whole, since expanding them takes longer than reading them.
		if a.NextK != nil {
			fetch(a.NextK, eightBytes(a.D))
		}
		a.K = a.Halves
		expandK(a.K, k, a.D)
		if a.NextV != nil {
			fetch(a.NextV, eightBytes(a.DV))
		}
		a.V = unsafe.Add(a.Halves, 2*arg.KVChunk*a.D)
		expandV(a.V, val, a.DV)
		attend(a)
		a.K, a.V = k, val
	}
}

// eightBytes is the size of a page of n eight-bit numbers a position, with their scales.
func eightBytes(n int) int { return arg.KVChunk * (n + 2*((n+scalar.KVBlock-1)/scalar.KVBlock)) }
