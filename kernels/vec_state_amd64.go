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
		var a amd64.StateArgs
		a.S, a.X, a.Y, a.K, a.Q, a.Rows, a.Beta = at(s, len(b)*len(x)), at(x, len(x)), at(y, len(x)), at(b, len(b)), at(c, len(b)), len(b), decay
		w.columns(&a, len(x), stepScan)
	}
	v.DeltaStep = func(s, q, k, val, decay []float32, beta float32, d, o []float32) {
		if !steps(len(val), len(k)) {
			delta(s, q, k, val, decay, beta, d, o)
			return
		}
		var a amd64.StateArgs
		a.S, a.X, a.Y, a.K, a.Q, a.G, a.Rows, a.Beta = at(s, len(k)*len(val)), at(val, len(val)), at(o, len(val)), at(k, len(k)), at(q, len(k)), at(decay, 1), len(k), beta
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
		var a amd64.StateArgs
		a.S, a.X, a.Y, a.K, a.Q, a.P, a.R, a.G, a.GStep, a.Rows = at(s, n*len(val)), at(val, len(val)), at(o, len(val)), at(k, n), at(r, n), at(p, n), at(b, n), at(decay, n), 4, n
		w.columns(&a, len(val), stepWkv)
	}
}

func (w wide) mulAdd(dst, x, y []float32) {
	n := len(dst)
	var a amd64.StateArgs
	a.Y, a.X, a.K, a.Rows = at(dst, n), at(x, n), at(y, n), n
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
	var a amd64.StateArgs
	a.Y, a.X, a.Rows = at(dst, n), at(x, n), n
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
