//go:build unix

package kernels_test

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"jns/kernels"
	"jns/kernels/kerneltest"
	"jns/kernels/tile"
)

const fencePage = 4096

// fenced gives n bytes with pages on both sides that must not be touched: one ends right behind the last byte.
func fenced(t testing.TB, n int) []byte {
	size := (n+fencePage-1)/fencePage*fencePage + 2*fencePage
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	require.NoError(t, syscall.Mprotect(b[:fencePage], syscall.PROT_NONE))
	require.NoError(t, syscall.Mprotect(b[size-fencePage:], syscall.PROT_NONE))
	t.Cleanup(func() { _ = syscall.Munmap(b) })
	at := size - fencePage - n
	return b[at : at+n : at+n]
}

func fencedF32(t testing.TB, n int) []float32 {
	b := fenced(t, 4*max(n, 1))
	return unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), n)
}

// touching says what f touched that it must not have, "" if nothing.
func touching(f func()) (fault string) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			fault = fmt.Sprint(v)
		}
	}()
	f()
	return ""
}

func up64(n int) int { return (n + 63) &^ 63 }

// Kernels have no bounds checks: what the executor gives them is padded to 64 bytes, and they must keep to it for reads too.
func TestProductsTouchNothingBeyondTheirOperands(t *testing.T) {
	for _, set := range kernels.Available() {
		counts := []int{1, 2, 3, 5, 8, 12, 13, 24, 27}
		if set == "scalar" {
			counts = counts[:2]
		}
		for _, l := range tile.Layouts() {
			m, err := kernels.BindMatMul(l, set)
			require.NoError(t, err)
			if m.Set != set {
				continue
			}
			for _, blocks := range []int{1, 2, 3, 17, 33} {
				for _, tiles := range []int{1, 2, 5} {
					t.Run(fmt.Sprintf("%s/%s/%d/%d", set, l.Name, blocks, tiles), func(t *testing.T) { productTouches(t, l, m, blocks, tiles, counts) })
				}
			}
		}
	}
}

func productTouches(t *testing.T, l *tile.Layout, m *kernels.MatMul, blocks, tiles int, counts []int) {
	cols := blocks * l.Codec.Elems
	if !l.Codec.Float() {
		cols = blocks * max(l.Codec.Elems, tile.Q8XElems)
	}
	size := 4 * cols
	if !l.Codec.Float() {
		size = tile.Q8XRowBytes(cols)
	}
	c := kerneltest.New(l, tiles*l.Rows, cols, counts[len(counts)-1], kerneltest.Plain, 1)
	w := fenced(t, len(c.W))
	copy(w, c.W)
	xs, ys := up64(size), up64(4*tiles*l.Rows)
	for _, n := range counts {
		x, y := fenced(t, n*xs), fenced(t, n*ys)
		for i := range n {
			copy(x[i*xs:i*xs+size], c.X[i*c.XStride:])
		}
		a := kernels.MatMulArgs{W: unsafe.Pointer(&w[0]), WStride: uintptr(l.RowBytes(cols)), Tiles: tiles, Cols: cols,
			X: unsafe.Pointer(&x[0]), XStride: uintptr(xs), N: n, Y: unsafe.Pointer(&y[0]), YStride: uintptr(ys)}
		require.Empty(t, touching(func() { m.Func(&a) }), "%d activation rows", n)
	}
}

func TestVectorFunctionsTouchNothingBeyondTheirOperands(t *testing.T) {
	for _, set := range kernels.Available() {
		v := kernels.VecFor(set)
		for n := 1; n <= 140; n++ {
			t.Run(fmt.Sprintf("%s/%d", set, n), func(t *testing.T) { vectorTouches(t, v, n) })
		}
	}
}

func vectorTouches(t *testing.T, v *kernels.Vec, n int) {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	some := func(n int) []float32 {
		x := fencedF32(t, n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		return x
	}
	a, b, c, d, pairs := some(n), some(n), some(n), some(n), some(2*n)
	page := unsafe.Pointer(&fenced(t, 2*kernels.KVChunk*n)[0])
	do := map[string]func(){
		"RMSNorm":     func() { v.RMSNorm(d, a, b, 1e-5); v.RMSNorm(d, a, nil, 1e-5) },
		"LayerNorm":   func() { v.LayerNorm(d, a, b, c, 1e-5) },
		"AddScaled":   func() { v.AddScaled(d, a, b, 2) },
		"Scale":       func() { v.Scale(d, a, 2) },
		"Mul":         func() { v.Mul(d, a, b) },
		"SoftCap":     func() { v.SoftCap(d, a, 30) },
		"Softmax":     func() { v.Softmax(d, a) },
		"ArgMax":      func() { v.ArgMax(a) },
		"Finish":      func() { v.Finish(d, a, 2) },
		"SinCos":      func() { v.SinCos(a, b, 123, make([]float64, n), 1) },
		"StoreK":      func() { v.StoreK(page, a, kernels.KVChunk-1) },
		"StoreV":      func() { v.StoreV(page, a, kernels.KVChunk-1) },
		"Rope":        func() { v.Rope(pairs, a, b, true) },
		"Rope, pairs": func() { v.Rope(pairs, a, b, false) },
	}
	for act := kernels.ActSiLU; act <= kernels.ActNone; act++ {
		do[fmt.Sprint("ActMul ", act)] = func() { v.ActMul(d, a, b, act); v.ActMul(d, a, nil, act) }
	}
	if n%tile.Q8XElems == 0 {
		hi, lo := fenced(t, tile.Q8XRowBytes(n)), fenced(t, tile.Q8XRowBytes(n))
		do["Quantize"] = func() { v.Quantize(hi, a) }
		do["QuantizeFine"] = func() { v.QuantizeFine(hi, lo, a) }
	}
	for name, f := range do {
		require.Empty(t, touching(f), name)
	}
}

func TestAttentionTouchesNothingBeyondItsOperands(t *testing.T) {
	for _, set := range kernels.Available() {
		v := kernels.VecFor(set)
		for _, d := range []int{1, 2, 7, 8, 64, 80} {
			for _, dv := range []int{1, 8, 16, 24, 64, 72, 96} {
				t.Run(fmt.Sprintf("%s/%d/%d", set, d, dv), func(t *testing.T) {
					for n := 1; n <= kernels.AttendMax; n++ {
						attentionTouches(t, v, d, dv, n)
					}
				})
			}
		}
	}
}

func attentionTouches(t *testing.T, v *kernels.Vec, d, dv, n int) {
	at := func(n int) unsafe.Pointer { return unsafe.Pointer(&fenced(t, n)[0]) }
	ov := (dv + 15) &^ 15
	g := kernels.AttendArgs{D: d, DV: dv, N: n, Scale: 1, Cap: float32(n % 2 * 30), Q: at(4 * d * n), QStride: uintptr(4 * d), O: at(4 * ov * n), OStride: uintptr(4 * ov),
		S: at(4 * kernels.AttendMax * kernels.KVChunk), M: at(4 * kernels.AttendMax), L: at(4 * kernels.AttendMax),
		K: at(2 * kernels.KVChunk * d), V: at(2 * kernels.KVChunk * dv)}
	for i := range n {
		g.Lo[i], g.Hi[i] = int32(i), kernels.KVChunk
	}
	require.Empty(t, touching(func() { v.Attend(&g) }), "%d queries", n)
	g.K, g.V, g.Halves = at(kv8Bytes(d)), at(kv8Bytes(dv)), at(up64(2*kernels.KVChunk*(d+dv)))
	require.Empty(t, touching(func() { v.Attend8(&g) }), "%d queries, eight bits", n)
}
