//go:build arm64 && !purego

package kernels

import (
	"jns/kernels/arm64"
	"jns/kernels/scalar"
)

// The steps of recurrent layers, a row of the state at a time; rows that are no multiple of four are left to package scalar.

func neonScanStep(s, x, b, c []float32, decay float32, y []float32) {
	n := len(x)
	if n&3 != 0 || n == 0 {
		scalar.ScanStep(s, x, b, c, decay, y)
		return
	}
	y = y[:n]
	clear(y)
	for k, bk := range b {
		a := arm64.StepArgs{State: at(s[k*n:], n), X: at(x, n), Y: at(y, n), N: n, F: decay, G: bk, H: c[k]}
		arm64.Step_scan_dotprod(&a)
	}
}

func neonDeltaStep(s, q, k, v, decay []float32, beta float32, d, o []float32) {
	n := len(v)
	if n&3 != 0 || n == 0 {
		scalar.DeltaStep(s, q, k, v, decay, beta, d, o)
		return
	}
	d, o = d[:n], o[:n]
	clear(d)
	g := decay[0]
	for j, kj := range k {
		if len(decay) > 1 {
			g = decay[j]
		}
		a := arm64.StepArgs{State: at(s[j*n:], n), X: at(v, n), Y: at(d, n), N: n, F: g, G: kj}
		arm64.Step_decay_dotprod(&a)
	}
	for i, x := range v {
		d[i] = float32((x - d[i]) * beta)
	}
	clear(o)
	for j, kj := range k {
		a := arm64.StepArgs{State: at(s[j*n:], n), X: at(d, n), Y: at(o, n), N: n, F: kj, G: q[j]}
		arm64.Step_update_dotprod(&a)
	}
}
