//go:build arm64 && !purego

package kernels

import (
	"math"
	"unsafe"

	"jns/kernels/arg"
	"jns/kernels/arm64"
	"jns/kernels/cpu"
	"jns/kernels/scalar"
	"jns/kernels/tile"
)

// fillVec: the sets share one family of vector functions, which are named after the lowest. Assembly takes sixteen elements at a time; the functions here check lengths, as
// it does not, and leave the rest to package scalar.
func fillVec(set string, v *Vec) {
	if set != cpu.SME2 && set != cpu.I8MM && set != cpu.DotProd {
		return
	}
	v.Set = cpu.DotProd
	v.Quantize = neonQuantize
	v.QuantizeFine = neonQuantizeFine
	v.RMSNorm = neonRMSNorm
	v.LayerNorm = neonLayerNorm
	v.Rope = neonRope
	v.AddScaled = neonAddScaled
	v.Scale = neonScale
	v.Mul = neonMul
	v.MulAdd = neonMulAdd
	v.ActMul = neonActMul
	v.SoftCap = neonSoftCap
	v.Softmax = neonSoftmax
	v.StoreK = neonStoreK
	v.StoreV = neonStoreV
	v.Attend = neonAttend
	fillAttend8(v, nil)
	v.Join = neonJoin
	v.Finish = func(dst, o []float32, l float32) { neonScale(dst, o, 1/l) }
	v.ArgMax = neonArgMax
	v.ScanStep = neonScanStep
	v.DeltaStep = neonDeltaStep
}

// at is the address of x's elements after checking that there are n.
func at(x []float32, n int) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x[:n])) }

func neonQuantize(dst []byte, x []float32) {
	if n := len(x) / 32; n > 0 {
		a := arm64.VecArgs{Dst: unsafe.Pointer(unsafe.SliceData(dst[:n*48])), A: at(x, n*32), N: n}
		arm64.Vec_quantize_dotprod(&a)
	}
}

func neonQuantizeFine(hi, lo []byte, x []float32) {
	if n := len(x) / 32; n > 0 {
		a := arm64.VecArgs{Dst: unsafe.Pointer(unsafe.SliceData(hi[:n*48])), C: unsafe.Pointer(unsafe.SliceData(lo[:n*48])), A: at(x, n*32), N: n}
		arm64.Vec_quantizefine_dotprod(&a)
	}
}

func neonRMSNorm(dst, x, w []float32, eps float32) {
	n := len(dst)
	x = x[:n]
	a := arm64.VecArgs{A: at(x, n), N: n &^ 15}
	if a.N > 0 {
		arm64.Vec_sumsq_dotprod(&a)
	}
	for i, v := range x[a.N:] {
		a.Lanes[i] = tile.FMA32(v, v, a.Lanes[i])
	}
	s := scalar.InvSqrt(sumLanes(&a), n, eps)
	if w == nil {
		neonScale(dst, x, s)
		return
	}
	a.Dst, a.B, a.F = at(dst, n), at(w, n), s
	if a.N > 0 {
		arm64.Vec_scalemul_dotprod(&a)
	}
	for i := a.N; i < n; i++ {
		dst[i] = float32(float32(x[i]*s) * w[i])
	}
}

func sumLanes(a *arm64.VecArgs) float32 { return (*scalar.Lanes)(&a.Lanes).Sum() }

func neonLayerNorm(dst, x, w, b []float32, eps float32) {
	n := len(dst)
	x = x[:n]
	a := arm64.VecArgs{A: at(x, n), N: n &^ 15}
	if a.N > 0 {
		arm64.Vec_sum_dotprod(&a)
	}
	for i, v := range x[a.N:] {
		a.Lanes[i] += v
	}
	mean := sumLanes(&a) / float32(n)
	a.Lanes, a.F = [16]float32{}, mean
	if a.N > 0 {
		arm64.Vec_sumsqdev_dotprod(&a)
	}
	for i, v := range x[a.N:] {
		d := v - mean
		a.Lanes[i] = tile.FMA32(d, d, a.Lanes[i])
	}
	s := scalar.InvSqrt(sumLanes(&a), n, eps)
	a.Dst, a.F, a.G = at(dst, n), s, mean
	if a.N > 0 {
		arm64.Vec_subscale_dotprod(&a)
	}
	for i := a.N; i < n; i++ {
		dst[i] = float32((x[i] - mean) * s)
	}
	if w != nil {
		neonMul(dst, dst, w)
	}
	if b != nil {
		neonAddScaled(dst, dst, b, 1)
	}
}

func neonRope(x, cos, sin []float32, neox bool) {
	n := len(cos)
	sin = sin[:n]
	a := arm64.VecArgs{Dst: at(x, 2*n), A: at(cos, n), B: at(sin, n), N: n &^ 3}
	if !neox {
		if a.N > 0 {
			arm64.Vec_ropepairs_dotprod(&a)
		}
		scalar.Rope(x[2*a.N:], cos[a.N:], sin[a.N:], false)
		return
	}
	if a.N > 0 {
		a.C = at(x[n:], n)
		arm64.Vec_ropeneox_dotprod(&a)
	}
	for i := a.N; i < n; i++ {
		p, q, c, s := x[i], x[i+n], cos[i], sin[i]
		x[i] = float32(p*c) - float32(q*s)
		x[i+n] = float32(q*c) + float32(p*s)
	}
}

func neonAddScaled(dst, x, y []float32, scale float32) {
	n := len(dst)
	a := arm64.VecArgs{Dst: at(dst, n), A: at(x, n), B: at(y, n), N: n &^ 15, F: scale}
	if a.N > 0 {
		arm64.Vec_addscaled_dotprod(&a)
	}
	scalar.AddScaled(dst[a.N:], x[a.N:], y[a.N:], scale)
}

func neonScale(dst, x []float32, scale float32) {
	n := len(dst)
	a := arm64.VecArgs{Dst: at(dst, n), A: at(x, n), N: n &^ 15, F: scale}
	if a.N > 0 {
		arm64.Vec_scale_dotprod(&a)
	}
	scalar.Scale(dst[a.N:], x[a.N:], scale)
}

func neonMul(dst, x, y []float32) {
	n := len(dst)
	a := arm64.VecArgs{Dst: at(dst, n), A: at(x, n), B: at(y, n), N: n &^ 15}
	if a.N > 0 {
		arm64.Vec_mul_dotprod(&a)
	}
	scalar.Mul(dst[a.N:], x[a.N:], y[a.N:])
}

func neonMulAdd(dst, x, y []float32) {
	n := len(dst)
	a := arm64.VecArgs{Dst: at(dst, n), A: at(x, n), B: at(y, n), C: at(dst, n), N: n &^ 15}
	if a.N > 0 {
		arm64.Vec_muladd_dotprod(&a)
	}
	scalar.MulAdd(dst[a.N:], x[a.N:], y[a.N:])
}

func neonActMul(dst, gate, up []float32, act arg.Act) {
	n := len(dst)
	a := arm64.VecArgs{Dst: at(dst, n), A: at(gate, n), N: n &^ 15}
	rest := up
	if up != nil {
		a.B = at(up, n)
		rest = up[a.N:]
	}
	gated := up != nil
	if a.N > 0 {
		switch {
		case act == arg.ActSiLU && gated:
			arm64.Vec_silumul_dotprod(&a)
		case act == arg.ActSiLU:
			arm64.Vec_silu_dotprod(&a)
		case act == arg.ActGELU && gated:
			arm64.Vec_gelumul_dotprod(&a)
		case act == arg.ActGELU:
			arm64.Vec_gelu_dotprod(&a)
		case act == arg.ActGELUErf && gated:
			arm64.Vec_geluerfmul_dotprod(&a)
		case act == arg.ActGELUErf:
			arm64.Vec_geluerf_dotprod(&a)
		case act == arg.ActReLU && gated:
			arm64.Vec_relumul_dotprod(&a)
		case act == arg.ActReLU:
			arm64.Vec_relu_dotprod(&a)
		case act == arg.ActReLU2 && gated:
			arm64.Vec_relu2mul_dotprod(&a)
		case act == arg.ActReLU2:
			arm64.Vec_relu2_dotprod(&a)
		case act == arg.ActGELUQuick && gated:
			arm64.Vec_geluquickmul_dotprod(&a)
		case act == arg.ActGELUQuick:
			arm64.Vec_geluquick_dotprod(&a)
		case act == arg.ActSigmoid && gated:
			arm64.Vec_sigmoidmul_dotprod(&a)
		case act == arg.ActSigmoid:
			arm64.Vec_sigmoid_dotprod(&a)
		case act == arg.ActTanh && gated:
			arm64.Vec_tanhmul_dotprod(&a)
		case act == arg.ActTanh:
			arm64.Vec_tanh_dotprod(&a)
		case act == arg.ActSwigluOAI:
			arm64.Vec_swigluoai_dotprod(&a)
		case act == arg.ActSoftplus:
			a.N = 0
			rest = up
		case gated:
			arm64.Vec_mul_dotprod(&a)
		default:
			copy(dst[:a.N], gate)
		}
	}
	if a.N < n {
		scalar.ActMul(dst[a.N:], gate[a.N:], rest, act)
	}
}

func neonSoftCap(dst, x []float32, cap float32) {
	n := len(dst)
	a := arm64.VecArgs{Dst: at(dst, n), A: at(x, n), N: n &^ 15, F: cap, G: 1 / cap}
	if a.N > 0 {
		arm64.Vec_softcap_dotprod(&a)
	}
	scalar.SoftCap(dst[a.N:], x[a.N:], cap)
}

// neonMax is scalar.Max, and the largest magnitude as bits.
func neonMax(x []float32) (float32, uint32) {
	m, bits := float32(math.Inf(-1)), uint32(0)
	a := arm64.VecArgs{A: at(x, len(x)), N: len(x) &^ 15}
	if a.N > 0 {
		arm64.Vec_max_dotprod(&a)
		for _, v := range a.Lanes {
			if v > m {
				m = v
			}
		}
		bits = max(a.U[0], a.U[1], a.U[2], a.U[3])
	}
	for _, v := range x[a.N:] {
		if v > m {
			m = v
		}
		bits = max(bits, math.Float32bits(v)&^(1<<31))
	}
	return m + 0, bits
}

// neonExpSum writes Exp(x − m) to dst and gives the sum.
func neonExpSum(dst, x []float32, m float32) float32 {
	n := len(dst)
	a := arm64.VecArgs{Dst: at(dst, n), A: at(x, n), N: n &^ 15, F: m}
	if a.N > 0 {
		arm64.Vec_expsum_dotprod(&a)
	}
	for i := a.N; i < n; i++ {
		dst[i] = scalar.Exp(x[i] - m)
		a.Lanes[i&15] += dst[i]
	}
	return sumLanes(&a)
}

func neonSoftmax(dst, x []float32) {
	m, _ := neonMax(x)
	sum := neonExpSum(dst, x[:len(dst)], m)
	neonScale(dst, dst, 1/sum)
}

func neonStoreK(page unsafe.Pointer, k []float32, pos int) {
	n := len(k) &^ 3
	if n > 0 {
		a := arm64.VecArgs{Dst: unsafe.Add(page, pos*2), A: at(k, n), N: n}
		arm64.Vec_storek_dotprod(&a)
	}
	if n < len(k) {
		scalar.StoreK(unsafe.Add(page, n*2*arg.KVChunk), k[n:], pos)
	}
}

func neonStoreV(page unsafe.Pointer, v []float32, pos int) {
	n := len(v) &^ 7
	row := unsafe.Add(page, pos*len(v)*2)
	if n > 0 {
		a := arm64.VecArgs{Dst: row, A: at(v, n), N: n}
		arm64.Vec_storev_dotprod(&a)
	}
	if n < len(v) {
		scalar.StoreV(unsafe.Add(row, n*2), v[n:], 0)
	}
}

func neonArgMax(x []float32) (int, bool) {
	m, bits := neonMax(x)
	finite := bits < scalar.Q8XInf
	if math.IsInf(float64(m), -1) {
		return 0, finite // nothing above −Inf, or nothing at all
	}
	for i, v := range x {
		if v == m {
			return i, finite
		}
	}
	return 0, finite
}
