package selftest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"unsafe"

	"jns/kernels"
	"jns/kernels/cpu"
	"jns/kernels/tile"
)

// poison is what lies around and in outputs before: bits of a NaN that no operation makes.
const poison = 0xffabcdef

// inputs are what a vector function gets: n numbers each, of all kinds.
type inputs struct {
	r       *rand.Rand
	n       int
	a, b, c []float32
	f       float32
}

// function is one of a set, called on inputs; what it gives are all the numbers that it wrote and the guards around.
type function struct {
	name string
	run  func(v *kernels.Vec, in *inputs) []float32
}

// elementwise is a function that writes n numbers, into a guarded slice.
func elementwise(name string, f func(v *kernels.Vec, dst []float32, in *inputs)) function {
	return function{name, func(v *kernels.Vec, in *inputs) []float32 {
		all := poisoned(in.n + 32)
		f(v, all[16:16+in.n:16+in.n], in)
		return all
	}}
}

// inPlace is a function that changes numbers where they are.
func inPlace(name string, f func(v *kernels.Vec, x []float32, in *inputs)) function {
	return elementwise(name, func(v *kernels.Vec, dst []float32, in *inputs) {
		copy(dst, in.a)
		f(v, dst, in)
	})
}

func poisoned(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = math.Float32frombits(poison)
	}
	return x
}

func functions() []function {
	all := []function{
		elementwise("add_scaled", func(v *kernels.Vec, dst []float32, in *inputs) { v.AddScaled(dst, in.a, in.b, in.f) }),
		elementwise("scale", func(v *kernels.Vec, dst []float32, in *inputs) { v.Scale(dst, in.a, in.f) }),
		elementwise("mul", func(v *kernels.Vec, dst []float32, in *inputs) { v.Mul(dst, in.a, in.b) }),
		elementwise("softcap", func(v *kernels.Vec, dst []float32, in *inputs) { v.SoftCap(dst, in.a, 30) }),
		elementwise("softmax", func(v *kernels.Vec, dst []float32, in *inputs) { v.Softmax(dst, in.a) }),
		elementwise("finish", func(v *kernels.Vec, dst []float32, in *inputs) { v.Finish(dst, in.a, in.f) }),
		elementwise("exp", func(v *kernels.Vec, dst []float32, in *inputs) { v.Exp(dst, in.a) }),
		elementwise("rms_norm", func(v *kernels.Vec, dst []float32, in *inputs) { v.RMSNorm(dst, in.a, in.b, 1e-5) }),
		elementwise("layer_norm", func(v *kernels.Vec, dst []float32, in *inputs) { v.LayerNorm(dst, in.a, in.b, in.c, 1e-5) }),
		inPlace("mul_add", func(v *kernels.Vec, x []float32, in *inputs) { v.MulAdd(x, in.b, in.c) }),
		inPlace("rope", func(v *kernels.Vec, x []float32, in *inputs) { v.Rope(x, in.b[:in.n/2], in.c[:in.n/2], false) }),
		inPlace("rope_neox", func(v *kernels.Vec, x []float32, in *inputs) { v.Rope(x, in.b[:in.n/2], in.c[:in.n/2], true) }),
		{"quantize", quantize},
		{"attend", func(v *kernels.Vec, in *inputs) []float32 { return attend(v, in, 1+in.n%kernels.AttendMax, false) }},
		{"attend_eight_bits", func(v *kernels.Vec, in *inputs) (out []float32) {
			for n := 1; n <= 9; n++ { // few queries have kernels of their own
				out = append(out, attend(v, in, n, true)...)
			}
			return out
		}},
		{"scan_step", func(v *kernels.Vec, in *inputs) []float32 {
			const k = 16
			s, y := tame(in.r, in.n*k), poisoned(in.n)
			v.ScanStep(s, tame(in.r, in.n), tame(in.r, k), tame(in.r, k), 0.75, y)
			return append(s, y...)
		}},
		{"delta_step", func(v *kernels.Vec, in *inputs) []float32 {
			const k = 16
			s, d, y := tame(in.r, in.n*k), make([]float32, in.n), poisoned(in.n)
			v.DeltaStep(s, tame(in.r, k), tame(in.r, k), tame(in.r, in.n), tame(in.r, k), 0.5, d, y)
			return append(s, y...)
		}},
	}
	for act := kernels.Act(0); act <= kernels.ActNone; act++ {
		all = append(all, elementwise(fmt.Sprintf("activation_%d", act), func(v *kernels.Vec, dst []float32, in *inputs) { v.ActMul(dst, in.a, in.b, act) }))
	}
	return all
}

// quantize gives the bytes of blocks as numbers.
func quantize(v *kernels.Vec, in *inputs) (out []float32) {
	x := tame(in.r, in.n/32*32)
	dst := make([]byte, tile.Q8XRowBytes(len(x)))
	hi, lo := make([]byte, len(dst)), make([]byte, len(dst))
	v.Quantize(dst, x)
	v.QuantizeFine(hi, lo, x)
	for _, b := range [][]byte{dst, hi, lo} {
		for _, c := range b {
			out = append(out, float32(c))
		}
	}
	return out
}

// attend adds two pages of keys and values, the second seen in part, for n queries.
func attend(v *kernels.Vec, in *inputs, n int, eight bool) []float32 {
	d := []int{96, 64, 80, 128, 16}[in.n%5]
	q, o := tame(in.r, n*d), make([]float32, n*d)
	m, l := make([]float32, kernels.AttendMax), make([]float32, kernels.AttendMax)
	for i := range m {
		m[i] = float32(math.Inf(-1))
	}
	for page := range 2 {
		a := kernels.AttendArgs{Q: unsafe.Pointer(&q[0]), QStride: uintptr(d) * 4, D: d, DV: d, N: n, Scale: float32(1 / math.Sqrt(float64(d))),
			S: scratch(kernels.AttendMax * kernels.KVChunk * 4), O: unsafe.Pointer(&o[0]), OStride: uintptr(d) * 4, M: unsafe.Pointer(&m[0]), L: unsafe.Pointer(&l[0])}
		for i := range n {
			a.Hi[i] = kernels.KVChunk
			if page == 1 {
				a.Hi[i] = int32(1 + (in.r.IntN(kernels.KVChunk)+i)%kernels.KVChunk)
			}
		}
		if eight {
			a.K, a.V, a.Halves = eights(in.r, d, v.StoreK8), eights(in.r, d, v.StoreV8), scratch(2*kernels.KVChunk*2*d)
			v.Attend8(&a)
			continue
		}
		k, val := halves(in.r, kernels.KVChunk*d), halves(in.r, kernels.KVChunk*d)
		a.K, a.V = unsafe.Pointer(&k[0]), unsafe.Pointer(&val[0])
		v.Attend(&a)
	}
	return append(append(o, m[:n]...), l[:n]...)
}

// scratch is memory at a multiple of 64.
func scratch(n int) unsafe.Pointer {
	b := make([]byte, n+64)
	p := unsafe.Pointer(&b[0])
	return unsafe.Add(p, (64-uintptr(p)%64)%64)
}

// eights is a page of d eight-bit numbers a position with their scales.
func eights(r *rand.Rand, d int, store func(codes unsafe.Pointer, x []float32, pos int)) unsafe.Pointer {
	codes := scratch(kernels.KVChunk * (d + 2*((d+31)/32)))
	for pos := range kernels.KVChunk {
		store(codes, tame(r, d), pos)
	}
	return codes
}

func halves(r *rand.Rand, n int) []uint16 {
	x := make([]uint16, n)
	for i := range x {
		x[i] = tile.F32ToF16(float32(r.NormFloat64()))
	}
	return x
}

func tame(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// wild makes numbers of all magnitudes, and some that are none.
func wild(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = math.Float32frombits(r.Uint32())
	}
	return x
}

// lengths below, at and above each width of vectors.
var lengths = []int{1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 300}

func makeInputs(n, kind int) *inputs {
	in := &inputs{r: rand.New(rand.NewPCG(uint64(n), uint64(kind))), n: n, f: 0.625}
	make := tame
	if kind > 0 {
		make = wild
	}
	in.a, in.b, in.c = make(in.r, n), make(in.r, n), make(in.r, n)
	return in
}

// vectors compares the vector functions of a set with those of scalar.
func vectors(ctx context.Context, v *kernels.Vec, each func(Result) error) error {
	ref := kernels.VecFor(cpu.Scalar)
	for _, f := range functions() {
		if err := ctx.Err(); err != nil {
			return err
		}
		res := Result{Set: v.Set, Kernel: f.name}
		for _, n := range lengths {
			for kind := range 2 {
				res.Cases++
				want, got := f.run(ref, makeInputs(n, kind)), f.run(v, makeInputs(n, kind))
				if d := diff(want, got); d != "" && res.Difference == "" {
					res.Difference = fmt.Sprintf("n=%d kind=%d: %s", n, kind, d)
				}
			}
		}
		if err := each(res); err != nil {
			return err
		}
	}
	return nil
}

// diff compares bits; which NaN it is is not promised, but for poison.
func diff(want, got []float32) string {
	for i := range want {
		w, g := math.Float32bits(want[i]), math.Float32bits(got[i])
		if w != g && (w == poison || g == poison || want[i] == want[i] || got[i] == got[i]) {
			return fmt.Sprintf("number %d is %v (%08x), want %v (%08x)", i, got[i], g, want[i], w)
		}
	}
	return ""
}
