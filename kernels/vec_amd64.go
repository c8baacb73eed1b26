//go:build amd64 && !purego

package kernels

import (
	"math"
	"unsafe"

	"jns/kernels/amd64"
	"jns/kernels/arg"
	"jns/kernels/cpu"
	"jns/kernels/scalar"
)

// wide chooses between the two families of vector functions: AVX-512 or AVX2. Its methods are the entries of Vec; they check lengths, as
// assembly does not, and leave to package scalar what assembly does not do.
type wide bool

func fillVec(set string, v *Vec) {
	var w wide
	switch set {
	case cpu.AMXINT8, cpu.AVX512VNNI:
		w = true
	case cpu.AVXVNNI, cpu.AVX2:
	default:
		return
	}
	v.Set = cpu.AVX2
	if w {
		v.Set = cpu.AVX512VNNI
	}
	v.Quantize = w.quantize
	v.QuantizeFine = w.quantizeFine
	if bool(w) && cpu.BlocksByFour() {
		v.Quantize, v.QuantizeFine = quantize4, quantizeFine4
	}
	v.RMSNorm = w.rmsNorm
	v.LayerNorm = w.layerNorm
	v.Rope = w.rope
	v.AddScaled = w.addScaled
	v.Scale = w.scale
	v.Mul = w.mul
	v.ActMul = w.actMul
	v.SoftCap = w.softCap
	v.Softmax = w.softmax
	v.StoreK = w.storeK
	v.StoreV = w.storeV
	v.ExpandK8 = w.expandK8
	v.ExpandV8 = w.expandV8
	if bool(w) && cpu.Halves() {
		v.ExpandK8, v.ExpandV8 = halvesK8, halvesV8
	}
	v.Attend = w.attend
	v.Join = w.join
	v.Fetch = fetch
	if bool(w) && cpu.Halves() {
		fillAttend8(v, nil) // three operations for 32 numbers
	} else {
		fillAttend8(v, w.attendCodes)
	}
	v.Finish = func(dst, o []float32, l float32) { w.scale(dst, o, 1/l) }
	v.ArgMax = w.argMax
	v.Exp = w.exp
	v.MulAdd = mulAddOf(v)
	fillState(v)
	w.fillSteps(v)
	w.fillRuns(v)
}

// run calls the function of the family. It is inlined, and the calls are direct, so that the argument block stays on the stack. Blocks are filled field by field: a literal would be
// made beside its variable and moved there in pieces wider than they were written in, which a processor does only after all earlier stores, as long as a short row takes.
func (w wide) run(a *amd64.VecArgs, avx512, avx2 func(*amd64.VecArgs)) {
	if w {
		avx512(a)
	} else {
		avx2(a)
	}
}

// at is the address of x's elements after checking that there are n.
func at(x []float32, n int) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x[:n])) }

func (w wide) quantize(dst []byte, x []float32) {
	n := len(x) / 32
	if n == 0 {
		return
	}
	var a amd64.VecArgs
	a.Dst, a.A, a.N = unsafe.Pointer(unsafe.SliceData(dst[:n*48])), at(x, n*32), n
	amd64.Vec_quantize_avx2(&a)
}

func (w wide) quantizeFine(hi, lo []byte, x []float32) {
	n := len(x) / 32
	if n == 0 {
		return
	}
	var a amd64.VecArgs
	a.Dst, a.C, a.A, a.N = unsafe.Pointer(unsafe.SliceData(hi[:n*48])), unsafe.Pointer(unsafe.SliceData(lo[:n*48])), at(x, n*32), n
	amd64.Vec_quantizefine_avx2(&a)
}

// quads is the number of blocks that the functions of four blocks take at a time.
const quads = 4

// quantize4 is quantize by four blocks at a time; a group with a special one, and the rest, are done one by one.
func quantize4(dst []byte, x []float32) {
	for n := len(x) / 32; n > 0; {
		if n >= quads {
			var a amd64.VecArgs
			a.Dst, a.A, a.N = unsafe.Pointer(unsafe.SliceData(dst[:n*48])), at(x, n*32), n
			amd64.Vec_quantize4_avx512vnni(&a)
			dst, x, n = dst[(n-a.N)*48:], x[(n-a.N)*32:], a.N
		}
		k := min(n, quads)
		wide(true).quantize(dst, x[:k*32])
		dst, x, n = dst[k*48:], x[k*32:], n-k
	}
}

// quantizeFine4 is the same of quantizeFine.
func quantizeFine4(hi, lo []byte, x []float32) {
	for n := len(x) / 32; n > 0; {
		if n >= quads {
			var a amd64.VecArgs
			a.Dst, a.C, a.A, a.N = unsafe.Pointer(unsafe.SliceData(hi[:n*48])), unsafe.Pointer(unsafe.SliceData(lo[:n*48])), at(x, n*32), n
			amd64.Vec_quantizefine4_avx512vnni(&a)
			hi, lo, x, n = hi[(n-a.N)*48:], lo[(n-a.N)*48:], x[(n-a.N)*32:], a.N
		}
		k := min(n, quads)
		wide(true).quantizeFine(hi, lo, x[:k*32])
		hi, lo, x, n = hi[k*48:], lo[k*48:], x[k*32:], n-k
	}
}

func (w wide) rmsNorm(dst, x, wt []float32, eps float32) {
	n := len(dst)
	var a amd64.VecArgs
	a.Dst, a.A, a.N = at(dst, n), at(x, n), n
	w.run(&a, amd64.Vec_sumsq_avx512vnni, amd64.Vec_sumsq_avx2)
	a.F = scalar.InvSqrt(a.R, n, eps)
	if wt == nil {
		w.run(&a, amd64.Vec_scale_avx512vnni, amd64.Vec_scale_avx2)
		return
	}
	a.B = at(wt, n)
	w.run(&a, amd64.Vec_scalemul_avx512vnni, amd64.Vec_scalemul_avx2)
}

func (w wide) layerNorm(dst, x, wt, b []float32, eps float32) {
	n := len(dst)
	var a amd64.VecArgs
	a.Dst, a.A, a.N = at(dst, n), at(x, n), n
	w.run(&a, amd64.Vec_sum_avx512vnni, amd64.Vec_sum_avx2)
	mean := a.R / float32(n)
	a.F = mean
	w.run(&a, amd64.Vec_sumsqdev_avx512vnni, amd64.Vec_sumsqdev_avx2)
	a.F, a.G = scalar.InvSqrt(a.R, n, eps), mean
	w.run(&a, amd64.Vec_subscale_avx512vnni, amd64.Vec_subscale_avx2)
	if wt != nil {
		w.mul(dst, dst, wt)
	}
	if b != nil {
		w.addScaled(dst, dst, b, 1)
	}
}

func (w wide) rope(x, cos, sin []float32, neox bool) {
	n := len(cos)
	var a amd64.VecArgs
	a.Dst, a.A, a.B, a.N = at(x, 2*n), at(cos, n), at(sin, n), n
	if neox {
		a.C = at(x[n:], n)
		w.run(&a, amd64.Vec_ropeneox_avx512vnni, amd64.Vec_ropeneox_avx2)
		return
	}
	if a.N = n &^ 3; a.N > 0 {
		amd64.Vec_ropepairs_avx2(&a)
	}
	scalar.Rope(x[2*a.N:], cos[a.N:], sin[a.N:], false)
}

func (w wide) addScaled(dst, x, y []float32, scale float32) {
	n := len(dst)
	var a amd64.VecArgs
	a.Dst, a.A, a.B, a.N, a.F = at(dst, n), at(x, n), at(y, n), n, scale
	w.run(&a, amd64.Vec_addscaled_avx512vnni, amd64.Vec_addscaled_avx2)
}

func (w wide) scale(dst, x []float32, scale float32) {
	n := len(dst)
	var a amd64.VecArgs
	a.Dst, a.A, a.N, a.F = at(dst, n), at(x, n), n, scale
	w.run(&a, amd64.Vec_scale_avx512vnni, amd64.Vec_scale_avx2)
}

func (w wide) mul(dst, x, y []float32) {
	n := len(dst)
	var a amd64.VecArgs
	a.Dst, a.A, a.B, a.N = at(dst, n), at(x, n), at(y, n), n
	w.run(&a, amd64.Vec_mul_avx512vnni, amd64.Vec_mul_avx2)
}

func (w wide) actMul(dst, gate, up []float32, act arg.Act) {
	n := len(dst)
	var a amd64.VecArgs
	a.Dst, a.A, a.N = at(dst, n), at(gate, n), n
	if up != nil {
		a.B = at(up, n)
	}
	switch act {
	case arg.ActSiLU:
		w.run(&a, amd64.Vec_silu_avx512vnni, amd64.Vec_silu_avx2)
	case arg.ActGELU:
		w.run(&a, amd64.Vec_gelu_avx512vnni, amd64.Vec_gelu_avx2)
	case arg.ActGELUErf:
		w.run(&a, amd64.Vec_geluerf_avx512vnni, amd64.Vec_geluerf_avx2)
	case arg.ActReLU:
		w.run(&a, amd64.Vec_relu_avx512vnni, amd64.Vec_relu_avx2)
	case arg.ActReLU2:
		w.run(&a, amd64.Vec_relu2_avx512vnni, amd64.Vec_relu2_avx2)
	case arg.ActGELUQuick:
		w.run(&a, amd64.Vec_geluquick_avx512vnni, amd64.Vec_geluquick_avx2)
	case arg.ActSigmoid:
		w.sigmoid(dst, gate, up)
	case arg.ActSoftplus:
		w.softplus(dst, gate, up)
	default:
		if act > arg.ActNone {
			scalar.ActMul(dst, gate, up, act)
			return
		}
		if up == nil {
			copy(dst, gate)
			return
		}
		w.mul(dst, gate, up)
	}
}

func (w wide) softCap(dst, x []float32, cap float32) {
	n := len(dst)
	var a amd64.VecArgs
	a.Dst, a.A, a.N, a.F, a.G = at(dst, n), at(x, n), n, cap, 1/cap
	w.run(&a, amd64.Vec_softcap_avx512vnni, amd64.Vec_softcap_avx2)
}

func (w wide) softmax(dst, x []float32) {
	n := len(dst)
	var a amd64.VecArgs
	a.Dst, a.A, a.N = at(dst, n), at(x, n), n
	w.run(&a, amd64.Vec_maxabs_avx512vnni, amd64.Vec_maxabs_avx2)
	a.F = a.R
	w.run(&a, amd64.Vec_expsum_avx512vnni, amd64.Vec_expsum_avx2)
	w.scale(dst, dst, 1/a.R)
}

// exp is the numerator of softmax, which knows no arguments far above 0.
func (w wide) exp(dst, x []float32) {
	n := len(dst)
	for _, v := range x[:n] {
		if !(v <= 64) {
			scalarExp(dst, x)
			return
		}
	}
	var a amd64.VecArgs
	a.Dst, a.A, a.N = at(dst, n), at(x, n), n
	w.run(&a, amd64.Vec_expsum_avx512vnni, amd64.Vec_expsum_avx2)
}

func (w wide) storeK(page unsafe.Pointer, k []float32, pos int) {
	n := len(k) &^ 7
	if n > 0 {
		var a amd64.VecArgs
		a.Dst, a.A, a.N = unsafe.Add(page, pos*2), at(k, n), n
		amd64.Vec_storek_avx2(&a)
	}
	if n < len(k) {
		scalar.StoreK(unsafe.Add(page, n*2*arg.KVChunk), k[n:], pos)
	}
}

func (w wide) storeV(page unsafe.Pointer, v []float32, pos int) {
	if len(v)&7 != 0 || len(v) == 0 {
		scalar.StoreV(page, v, pos)
		return
	}
	var a amd64.VecArgs
	a.Dst, a.A, a.N = unsafe.Add(page, pos*len(v)*2), at(v, len(v)), len(v)
	amd64.Vec_storev_avx2(&a)
}

// fetch asks by 256 bytes.
func fetch(p unsafe.Pointer, n int) {
	if n <= 0 {
		return
	}
	var a amd64.VecArgs
	a.A, a.N = p, (n+255)/256
	amd64.Vec_fetch_avx2(&a)
}

// expandK8 and expandV8 take pages of any width; assembly knows whole blocks of values only.
func (w wide) expandK8(dst, codes unsafe.Pointer, d int) {
	var a amd64.VecArgs
	a.Dst, a.A, a.B, a.N = dst, codes, unsafe.Add(codes, d*arg.KVChunk), d
	w.run(&a, amd64.Kv8_keys_avx512vnni, amd64.Kv8_keys_avx2)
}

func (w wide) expandV8(dst, codes unsafe.Pointer, dv int) {
	if dv%scalar.KVBlock != 0 {
		scalar.ExpandV8(dst, codes, dv)
		return
	}
	// Rows follow each other without gaps, codes as well as scales: all of the page is one run of blocks.
	var a amd64.VecArgs
	a.Dst, a.A, a.B, a.N = dst, codes, unsafe.Add(codes, dv*arg.KVChunk), dv/scalar.KVBlock*arg.KVChunk
	w.run(&a, amd64.Kv8_values_avx512vnni, amd64.Kv8_values_avx2)
}

// halvesK8 and halvesV8 are the same for processors that multiply halves.
func halvesK8(dst, codes unsafe.Pointer, d int) {
	var a amd64.VecArgs
	a.Dst, a.A, a.B, a.N = dst, codes, unsafe.Add(codes, d*arg.KVChunk), d
	amd64.Kv8half_keys_avx512vnni(&a)
}

func halvesV8(dst, codes unsafe.Pointer, dv int) {
	if dv%scalar.KVBlock != 0 {
		scalar.ExpandV8(dst, codes, dv)
		return
	}
	var a amd64.VecArgs
	a.Dst, a.A, a.B, a.N = dst, codes, unsafe.Add(codes, dv*arg.KVChunk), dv/scalar.KVBlock*arg.KVChunk
	amd64.Kv8half_values_avx512vnni(&a)
}

func (w wide) argMax(x []float32) (int, bool) {
	var a amd64.VecArgs
	a.A, a.N = at(x, len(x)), len(x)
	w.run(&a, amd64.Vec_maxabs_avx512vnni, amd64.Vec_maxabs_avx2)
	finite := a.U < scalar.Q8XInf
	if math.IsInf(float64(a.R), -1) {
		return 0, finite // nothing above −Inf, or nothing at all
	}
	a.N, a.F = len(x)&^15, a.R
	w.run(&a, amd64.Vec_find_avx512vnni, amd64.Vec_find_avx2)
	for a.J == a.N && a.J < len(x) && x[a.J] != a.R {
		a.J++
		a.N++
	}
	return a.J, finite
}
