// Package cases makes products to hold kernels to the bits of kernels/scalar with: weights and activations from seeds, outputs that are poisoned before.
//
// Its noun: a Case, one product with its inputs. Tests use it through kerneltest, and kernels/selftest on the machines of users; it must not know how a kernel works.
package cases

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"unsafe"

	"jns/kernels"
	"jns/kernels/cpu"
	"jns/kernels/scalar"
	"jns/kernels/tile"
)

// Poison is what outputs hold before a product: a NaN that no kernel makes.
const Poison = 0x7fa5a5a5

// Guard is the number of poisoned floats after every output row and after the last one.
const Guard = 16

// Style chooses the numbers of a Case.
type Style int

const (
	Plain   Style = iota // random codes, scales of any size, Gaussian activations
	Extreme              // codes at their bounds, activations of ±127: the largest integer sums
	Model                // as Plain, float weights of the size they have in models: no subnormal numbers, which processors take slowly
)

// Case is one product.
type Case struct {
	Layout    *tile.Layout
	Rows      int
	Cols, N   int
	W         []byte // in the layout, 64-byte aligned
	X         []byte // N rows of Q8X blocks or float32
	XStride   int
	YStride   int // bytes
	RowFloats int // of an output row, Guard included
}

// New makes a case from a seed.
func New(l *tile.Layout, rows, cols, n int, style Style, seed uint64) *Case {
	r := rand.New(rand.NewPCG(seed, uint64(cols)))
	c := &Case{Layout: l, Rows: rows, Cols: cols, N: n}
	c.W = Weights(l, rows, cols, style, r)
	if l.Codec.Float() {
		c.XStride = cols*4 + 12
	} else {
		c.XStride = tile.Q8XRowBytes(cols) + 16
	}
	c.X = Aligned(n * c.XStride)
	x := make([]float32, cols)
	for i := range n {
		size := float32(math.Ldexp(1, r.IntN(9)-4))
		for k := range x {
			if style == Extreme {
				x[k] = float32(1 - 2*r.IntN(2))
			} else {
				x[k] = float32(r.NormFloat64()) * size
			}
		}
		if l.Codec.Float() {
			for k, v := range x {
				binary.LittleEndian.PutUint32(c.X[i*c.XStride+4*k:], math.Float32bits(v))
			}
		} else {
			scalar.Quantize(c.X[i*c.XStride:i*c.XStride+tile.Q8XRowBytes(cols)], x)
		}
	}
	c.RowFloats = l.TileRows(rows)*l.Rows + Guard
	c.YStride = 4 * c.RowFloats
	return c
}

// Weights packs a random matrix, row padding zero.
func Weights(l *tile.Layout, rows, cols int, style Style, r *rand.Rand) []byte {
	row := l.Codec.RowBytes(cols)
	w := Aligned(l.Bytes(rows, cols))
	src := make([]byte, l.Rows*row)
	for t := range l.TileRows(rows) {
		clear(src)
		for i := 0; i < l.Rows && t*l.Rows+i < rows; i++ {
			randomRow(src[i*row:(i+1)*row], l.Codec, style, r)
		}
		l.Pack(w[t*l.RowBytes(cols):(t+1)*l.RowBytes(cols)], src, cols)
	}
	return w
}

// randomRow fills source blocks with random bytes whose scales are finite.
func randomRow(dst []byte, c *tile.Codec, style Style, r *rand.Rand) {
	var b tile.Block
	var f [1]float32
	edge := []byte{0x00, 0x80, 0x7f, 0xff, 0x0f, 0xf0}
	var bits uint64
	for len(dst) > 0 {
		blk := dst[:c.Bytes]
		dst = dst[c.Bytes:]
		for ok := false; !ok; {
			for i := range blk {
				if i%8 == 0 {
					bits = r.Uint64()
				}
				blk[i] = byte(bits)
				bits >>= 8
				if style == Extreme {
					blk[i] = edge[int(blk[i])%len(edge)]
				}
			}
			if style == Model && c.Float() {
				top := &blk[len(blk)-1]
				*top = *top&0x83 | 0x38
			}
			if c.Float() {
				c.Floats(f[:], blk)
				ok = tame(f[0])
				continue
			}
			if style == Model && c.Type == tile.MXFP4 {
				blk[0] = 0x70 | blk[0]&15
			}
			c.Decode(&b, blk)
			ok = !slices.ContainsFunc(b.Scale[:c.Elems/c.Group], wild)
			if c.OffGroup != 0 {
				ok = ok && !slices.ContainsFunc(b.Off[:c.Elems/c.OffGroup], wild)
			}
		}
	}
}

// wild reports a number that would drown a sum or is none.
func wild(f float32) bool { return !tame(f) }

func tame(f float32) bool { return math.Abs(float64(f)) < 1e6 }

// Aligned gives n bytes that begin a cache line.
func Aligned(n int) []byte {
	b := make([]byte, n+64)
	o := int(-uintptr(unsafe.Pointer(&b[0])) & 63)
	return b[o : o+n : o+n]
}

// Run computes the case with a product, all tile rows in one call, into a poisoned output of N rows.
func (c *Case) Run(m *kernels.MatMul) []float32 { return c.RunTiles(m, c.Layout.TileRows(c.Rows)) }

// RunTiles is Run with the tile rows cut into ranges of at most step.
func (c *Case) RunTiles(m *kernels.MatMul, step int) []float32 {
	y := make([]float32, c.N*c.RowFloats+Guard)
	for i := range y {
		y[i] = math.Float32frombits(Poison)
	}
	stride := c.Layout.RowBytes(c.Cols)
	for t := 0; t < c.Layout.TileRows(c.Rows); t += step {
		m.Func(&kernels.MatMulArgs{
			W: unsafe.Pointer(&c.W[t*stride]), WStride: uintptr(stride), Tiles: min(step, c.Layout.TileRows(c.Rows)-t), Cols: c.Cols,
			X: unsafe.Pointer(&c.X[0]), XStride: uintptr(c.XStride), N: c.N,
			Y: unsafe.Pointer(&y[t*c.Layout.Rows]), YStride: uintptr(c.YStride), Prefetch: uintptr(c.N % 3 * 320),
		})
	}
	return y
}

// Args is one call for all tile rows.
func (c *Case) Args(y []float32) *kernels.MatMulArgs {
	return &kernels.MatMulArgs{
		W: unsafe.Pointer(&c.W[0]), WStride: uintptr(c.Layout.RowBytes(c.Cols)), Tiles: c.Layout.TileRows(c.Rows), Cols: c.Cols,
		X: unsafe.Pointer(&c.X[0]), XStride: uintptr(c.XStride), N: c.N,
		Y: unsafe.Pointer(&y[0]), YStride: uintptr(c.YStride),
	}
}

// Diff compares two outputs bit by bit (a NaN equals any other, poison only itself) and describes the first difference; "" if none.
func (c *Case) Diff(want, got []float32) string {
	for i := range want {
		w, g := math.Float32bits(want[i]), math.Float32bits(got[i])
		if w == g || w != Poison && g != Poison && want[i] != want[i] && got[i] != got[i] {
			continue
		}
		n, r := i/c.RowFloats, i%c.RowFloats
		return fmt.Sprintf("%s rows=%d cols=%d n=%d: output [%d][%d] is %v (%08x), want %v (%08x)",
			c.Layout.Name, c.Rows, c.Cols, c.N, n, r, got[i], g, want[i], w)
	}
	return ""
}

// Scalar is the reference product of the case's layout.
func (c *Case) Scalar() *kernels.MatMul {
	return &kernels.MatMul{Name: kernels.ScalarName(c.Layout), Set: cpu.Scalar, Func: scalar.MatMul(c.Layout)}
}
