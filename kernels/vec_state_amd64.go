//go:build amd64 && !purego

package kernels

import (
	"unsafe"

	"jns/kernels/amd64"
)

// The steps of recurrent layers, a block of columns at a time. Heads whose width is no multiple of 16 take the steps that fillState has made.

// fillSteps puts the set's assembly in their place.
func (w wide) fillSteps(v *Vec) {
	v.MulAdd = w.mulAdd
	scan, delta, wkv := v.ScanStep, v.DeltaStep, v.WKVStep
	v.ScanStep = func(s, x, b, c []float32, decay float32, y []float32) {
		if !steps(len(x), len(b)) {
			scan(s, x, b, c, decay, y)
			return
		}
		a := amd64.StateArgs{S: at(s, len(b)*len(x)), X: at(x, len(x)), Y: at(y, len(x)), K: at(b, len(b)), Q: at(c, len(b)), Rows: len(b), Beta: decay}
		w.columns(&a, len(x), stepScan)
	}
	v.DeltaStep = func(s, q, k, val, decay []float32, beta float32, d, o []float32) {
		if !steps(len(val), len(k)) {
			delta(s, q, k, val, decay, beta, d, o)
			return
		}
		a := amd64.StateArgs{S: at(s, len(k)*len(val)), X: at(val, len(val)), Y: at(o, len(val)), K: at(k, len(k)), Q: at(q, len(k)), G: at(decay, 1), Rows: len(k), Beta: beta}
		if len(decay) > 1 {
			a.G, a.GStep = at(decay, len(k)), 4
		}
		w.columns(&a, len(val), stepDelta)
	}
	v.WKVStep = func(s, r, decay, k, val, p, b, d, o []float32) {
		if !steps(len(val), len(k)) {
			wkv(s, r, decay, k, val, p, b, d, o)
			return
		}
		n := len(k)
		a := amd64.StateArgs{S: at(s, n*len(val)), X: at(val, len(val)), Y: at(o, len(val)), K: at(k, n), Q: at(r, n), P: at(p, n), R: at(b, n), G: at(decay, n), GStep: 4, Rows: n}
		w.columns(&a, len(val), stepWkv)
	}
}

func (w wide) mulAdd(dst, x, y []float32) {
	n := len(dst)
	a := amd64.StateArgs{Y: at(dst, n), X: at(x, n), K: at(y, n), Rows: n}
	if w {
		amd64.Step_muladd_avx512vnni(&a)
	} else {
		amd64.Step_muladd_avx2(&a)
	}
}

// sigmoid and softplus are ActMul's; y nil: without the product.
func (w wide) sigmoid(dst, x, y []float32) {
	a := functionArgs(dst, x, y)
	if w {
		amd64.Step_sigmoid_avx512vnni(&a)
	} else {
		amd64.Step_sigmoid_avx2(&a)
	}
}

func (w wide) softplus(dst, x, y []float32) {
	a := functionArgs(dst, x, y)
	if w {
		amd64.Step_softplus_avx512vnni(&a)
	} else {
		amd64.Step_softplus_avx2(&a)
	}
}

func functionArgs(dst, x, y []float32) amd64.StateArgs {
	n := len(dst)
	a := amd64.StateArgs{Y: at(dst, n), X: at(x, n), Rows: n}
	if y != nil {
		a.K = at(y, n)
	}
	return a
}

// steps says whether assembly can do heads of this shape.
func steps(columns, rows int) bool { return columns > 0 && columns%16 == 0 && rows > 0 }

// The steps that there is assembly for.
const (
	stepScan = iota
	stepDelta
	stepWkv
)

// columns does a step for n columns, as many at a time as a function takes. Calls are direct, so that the argument block stays on the stack.
func (w wide) columns(a *amd64.StateArgs, n, step int) {
	a.Stride = uintptr(4 * n)
	many := 32
	if w {
		many = 64
	}
	for {
		k := many
		if n < many {
			k = 16
		}
		switch {
		case bool(w) && k == many:
			step64(a, step)
		case bool(w):
			step16(a, step)
		case k == many:
			step32avx2(a, step)
		default:
			step16avx2(a, step)
		}
		if n -= k; n == 0 {
			return // the pointers stay inside what they point to
		}
		a.S, a.X, a.Y = unsafe.Add(a.S, 4*k), unsafe.Add(a.X, 4*k), unsafe.Add(a.Y, 4*k)
	}
}

func step64(a *amd64.StateArgs, step int) {
	switch step {
	case stepScan:
		amd64.Step_scan64_avx512vnni(a)
	case stepDelta:
		amd64.Step_delta64_avx512vnni(a)
	case stepWkv:
		amd64.Step_wkv64_avx512vnni(a)
	}
}

func step16(a *amd64.StateArgs, step int) {
	switch step {
	case stepScan:
		amd64.Step_scan16_avx512vnni(a)
	case stepDelta:
		amd64.Step_delta16_avx512vnni(a)
	case stepWkv:
		amd64.Step_wkv16_avx512vnni(a)
	}
}

func step32avx2(a *amd64.StateArgs, step int) {
	switch step {
	case stepScan:
		amd64.Step_scan32_avx2(a)
	case stepDelta:
		amd64.Step_delta32_avx2(a)
	case stepWkv:
		amd64.Step_wkv32_avx2(a)
	}
}

func step16avx2(a *amd64.StateArgs, step int) {
	switch step {
	case stepScan:
		amd64.Step_scan16_avx2(a)
	case stepDelta:
		amd64.Step_delta16_avx2(a)
	case stepWkv:
		amd64.Step_wkv16_avx2(a)
	}
}
