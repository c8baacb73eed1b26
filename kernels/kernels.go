package kernels

import (
	"unsafe"

	"jns/kernels/arg"
	"jns/kernels/scalar"
	"jns/kernels/tile"
)

// The argument types live in package arg, which the scalar reference imports too.
type (
	MatMulArgs = arg.MatMulArgs
	AttendArgs = arg.AttendArgs
	JoinArgs   = arg.JoinArgs
	Act        = arg.Act
	RouteArgs  = arg.RouteArgs
	RouteFunc  = arg.RouteFunc

	RouteScratch = scalar.RouteScratch
)

// See package arg.
const (
	KVChunk   = arg.KVChunk
	AttendMax = arg.AttendMax

	PartM    = arg.PartM
	PartL    = arg.PartL
	PartSees = arg.PartSees
	PartO    = arg.PartO

	ActSiLU      = arg.ActSiLU
	ActGELU      = arg.ActGELU
	ActGELUErf   = arg.ActGELUErf
	ActReLU      = arg.ActReLU
	ActReLU2     = arg.ActReLU2
	ActGELUQuick = arg.ActGELUQuick
	ActNone      = arg.ActNone
	ActSigmoid   = arg.ActSigmoid
	ActSwigluOAI = arg.ActSwigluOAI
	ActSoftplus  = arg.ActSoftplus
	ActTanh      = arg.ActTanh

	RouteSoftmax       = arg.RouteSoftmax
	RouteSoftmaxChosen = arg.RouteSoftmaxChosen
	RouteSigmoid       = arg.RouteSigmoid
)

// MatMul computes a whole MatMulArgs, any N, cutting it into panels of the kernels that a set has. Results do not depend on N nor on how tile
// rows are cut: one output is one chain of operations (see kernels/scalar).
type MatMul struct {
	Name string // of the kernel in the name grammar, for receipts: "gemv_q4_kx16_q8x_1x16_avx512vnni"
	Set  string // "amxint8", "avx512vnni", "avxvnni", "avx2", "scalar"
	Func func(a *MatMulArgs)

	// Variants, where few activation rows have kernels of their own, says which kernel runs: the last whose From is at most N. Empty: Name, for every N.
	Variants []Variant
	// Group is the number of tile rows that the kernels take at a time; a range of another length costs as much as the next multiple. 0: one.
	Group int
	// Reason says why the set computes products of few activation rows with kernels of another, where it does.
	Reason string
}

// Variant is a kernel that computes products of From activation rows and more.
type Variant struct {
	From int
	Name string
}

// Variant is the index in Variants of the kernel that computes n activation rows, 0 if there is no choice.
func (m *MatMul) Variant(n int) int {
	i := len(m.Variants) - 1
	for i > 0 && m.Variants[i].From > n {
		i--
	}
	return max(i, 0)
}

// Vec is the table of vector operations of a set; every function is filled (from the scalar reference where a set has none of its own) and
// gives the bits of package scalar. Slices must have the lengths said; dst may be the same slice as an input unless noted.
type Vec struct {
	Set string

	// Quantize writes len(x)/32 Q8X blocks of x to dst.
	Quantize func(dst []byte, x []float32)
	// QuantizeFine writes len(x)/32 blocks of x to hi, and of what rounding left of it to lo.
	QuantizeFine func(hi, lo []byte, x []float32)
	// RMSNorm: dst[i] = (x[i]·s)·w[i], s = 1/sqrt(mean(x²)+eps); w nil means 1.
	RMSNorm func(dst, x, w []float32, eps float32)
	// LayerNorm: dst[i] = ((x[i]-mean)·s)·w[i] + b[i]; b nil means 0.
	LayerNorm func(dst, x, w, b []float32, eps float32)
	// Rope rotates one head of 2·len(cos) leading elements in place; neox pairs (i, i+n/2), else (2i, 2i+1). Elements past that stay.
	Rope func(x, cos, sin []float32, neox bool)
	// Add: dst = a + b·scale (float32(b·scale)+a).
	AddScaled func(dst, a, b []float32, scale float32)
	// Scale: dst = a·scale.
	Scale func(dst, a []float32, scale float32)
	// Mul: dst = a·b.
	Mul func(dst, a, b []float32)
	// SiLUMul: dst = silu(gate)·up. GELUMul: tanh approximation. GELUErf…, ReLU², and the like per Act.
	ActMul func(dst, gate, up []float32, act Act)
	// SoftCap: dst = cap·tanh(a/cap).
	SoftCap func(dst, a []float32, cap float32)
	// Softmax over x into dst.
	Softmax func(dst, x []float32)
	// StoreK writes d float32 as halves into a transposed page at position pos: page[i][pos], StoreV a row: page[pos][i].
	StoreK func(page unsafe.Pointer, k []float32, pos int)
	StoreV func(page unsafe.Pointer, v []float32, pos int)
	// The same in eight bits (see scalar/kv8.go): store into a head's codes at position pos, and make of them the pages of halves that Attend reads.
	StoreK8, StoreV8   func(codes unsafe.Pointer, x []float32, pos int)
	ExpandK8, ExpandV8 func(dst, codes unsafe.Pointer, n int)
	// Attend adds one page (see AttendArgs).
	Attend func(a *AttendArgs)
	// Attend8 is Attend for a page in eight bits; bits are those of Attend on the page of halves that ExpandK8 and ExpandV8 make.
	Attend8 func(a *AttendArgs)
	// Join merges pages that were attended to apart (see JoinArgs): state and bits are those of Attend on one page after the other.
	Join func(a *JoinArgs)
	// Fetch asks for n bytes to be brought into the caller's second-level cache, if the machine has such an instruction. It waits for nothing, faults never and changes nothing.
	Fetch func(p unsafe.Pointer, n int)
	// Finish: dst = o · (1/l).
	Finish func(dst, o []float32, l float32)
	// Row dequantises one source row of a codec to float32, then times scale.
	Row func(dst []float32, src []byte, c *tile.Codec, scale float32)
	// SinCos gives cos and sin of angles pos·freq[i] (float64 product reduced mod 2π, then float32 polynomials), times mscale.
	SinCos func(cos, sin []float32, pos int64, freq []float64, mscale float32)
	// ArgMax gives the lowest index of the largest element, and whether all are finite.
	ArgMax func(x []float32) (int, bool)
	// Route chooses experts for one row of router logits; ids and weights have Top elements, in rank order.
	Route func(a *RouteArgs, logits []float32, ids []int32, weights []float32, s *RouteScratch)
	// Sink merges an attention sink into a query's state and returns the new sum.
	Sink func(o []float32, m, l, s float32) float32

	// Exp: dst = e^x.
	Exp func(dst, x []float32)
	// MulAdd: dst = a·b + dst, the product rounded.
	MulAdd func(dst, a, b []float32)
	// Recurrent layers, one position at a time: see package scalar.
	ScanStep     func(s, x, b, c []float32, decay float32, y []float32)
	ScanChannels func(s, a []float32, stride int, delta, x, b, c, y []float32)
	DeltaStep    func(s, q, k, v, decay []float32, beta float32, d, o []float32)
	WKVStep      func(s, r, decay, k, v, a, b, d, o []float32)
	Dot          func(a, b []float32) float32
	// The same over runs of positions, with the bits of one step after the other (see StateRun).
	ScanRun, DeltaRun, ConvRun func(a *StateRun)
}

// NewRouteScratch makes scratch for Route.
func NewRouteScratch(experts int) RouteScratch { return scalar.NewRouteScratch(experts) }

// Exp, Softplus and Sigmoid are the functions of package scalar, for single numbers.
func Exp(x float32) float32 { return scalar.Exp(x) }

// Softplus is ln(1 + e^x).
func Softplus(x float32) float32 { return scalar.Softplus(x) }

// Sigmoid is 1/(1 + e^−x).
func Sigmoid(x float32) float32 { return scalar.Sigmoid(x) }
