package scalar

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"jns/kernels/arg"
	"jns/kernels/tile"
)

// product is a matrix product in one layout: the matrix in source form and packed, activations as float32 and as the kernel takes them.
type product struct {
	l                    *tile.Layout
	tiles, cols, n       int
	source, packed       []byte
	x                    []float32
	acts                 []byte
	wStride, xStride     int
	yStride, yLen, first int // in float32; first is where Y[0][0] lies
}

func newProduct(r *rand.Rand, l *tile.Layout, tiles, blocks, n int) *product {
	c := l.Codec
	elems := max(c.Elems, tile.Q8XElems)
	p := &product{l: l, tiles: tiles, cols: blocks * elems, n: n}
	rowBytes := c.RowBytes(p.cols)
	p.source = make([]byte, tiles*l.Rows*rowBytes)
	for i := 0; i < len(p.source); i += c.Bytes {
		randomBlock(r, c, p.source[i:i+c.Bytes])
	}
	p.wStride = l.RowBytes(p.cols) + 64*r.IntN(2)
	p.packed = make([]byte, tiles*p.wStride)
	for t := range tiles {
		l.Pack(p.packed[t*p.wStride:], p.source[t*l.Rows*rowBytes:(t+1)*l.Rows*rowBytes], p.cols)
	}
	p.x = make([]float32, n*p.cols)
	for i := range p.x {
		p.x[i] = float32(r.NormFloat64() * math.Exp2(float64(r.IntN(8)-4)))
	}
	size := tile.Q8XRowBytes(p.cols)
	if c.Float() {
		size = 4 * p.cols
	}
	p.xStride = size + 16*r.IntN(3)
	p.acts = make([]byte, n*p.xStride)
	for i := range n {
		x, dst := p.x[i*p.cols:(i+1)*p.cols], p.acts[i*p.xStride:i*p.xStride+size]
		if !c.Float() {
			Quantize(dst, x)
			continue
		}
		for k, v := range x {
			binary.LittleEndian.PutUint32(dst[4*k:], math.Float32bits(v))
		}
	}
	p.first = 3
	p.yStride = tiles*l.Rows + r.IntN(3)
	p.yLen = p.first + n*p.yStride + 5
	return p
}

// randomBlock fills a block with bytes whose scales are ordinary numbers.
func randomBlock(r *rand.Rand, c *tile.Codec, block []byte) {
	ordinary := func(fs []float32) bool {
		for _, f := range fs {
			if a := math.Abs(float64(f)); !(a == 0 || a > 0x1p-40 && a < 0x1p40) {
				return false
			}
		}
		return true
	}
	for {
		for i := range block {
			block[i] = byte(r.Uint32())
		}
		if c.Float() {
			f := make([]float32, 1)
			if c.Floats(f, block); ordinary(f) {
				return
			}
			continue
		}
		var b tile.Block
		if c.Decode(&b, block); ordinary(b.Scale[:]) && ordinary(b.Off[:]) {
			return
		}
	}
}

// run computes activation rows [n0,n1) of tile rows [t0,t1) into y.
func (p *product) run(f func(*arg.MatMulArgs), y []float32, t0, t1, n0, n1 int) {
	f(&arg.MatMulArgs{
		W: unsafe.Pointer(&p.packed[t0*p.wStride]), WStride: uintptr(p.wStride), Tiles: t1 - t0, Cols: p.cols,
		X: unsafe.Pointer(&p.acts[n0*p.xStride]), XStride: uintptr(p.xStride), N: n1 - n0,
		Y: unsafe.Pointer(&y[p.first+n0*p.yStride+t0*p.l.Rows]), YStride: uintptr(4 * p.yStride),
	})
}

// definition writes out what the package says one output is, straight from source bytes.
func (p *product) definition(n, row int) float32 {
	c := p.l.Codec
	src := p.source[row*c.RowBytes(p.cols) : (row+1)*c.RowBytes(p.cols)]
	acc := float32(0)
	if c.Float() {
		w := make([]float32, p.cols)
		c.Floats(w, src)
		for k := range w {
			acc = tile.FMA32(w[k], p.x[n*p.cols+k], acc)
		}
		return acc
	}
	x := p.acts[n*p.xStride:]
	var b tile.Block
	for k := 0; k < p.cols; k += 32 {
		if k%c.Elems == 0 {
			c.Decode(&b, src[k/c.Elems*c.Bytes:][:c.Bytes])
		}
		at := k % c.Elems
		q := x[k/32*tile.Q8XBytes:]
		d, m := float(q[tile.Q8XD:]), float(q[tile.Q8XM:])
		for i := 0; i < 32; i += c.Group {
			sum := int32(0)
			for j := i; j < i+c.Group; j++ {
				sum += int32(b.Code[at+j]) * int32(int8(q[j]))
			}
			acc = tile.FMA32(float32(sum), float32(b.Scale[(at+i)/c.Group]*d), acc)
		}
		for i := 0; c.OffGroup != 0 && i < 32; i += c.OffGroup {
			mo := m
			if c.OffGroup != 32 {
				sum := int32(0)
				for j := i; j < i+c.OffGroup; j++ {
					sum += int32(int8(q[j]))
				}
				mo = d * float32(sum)
			}
			acc = tile.FMA32(b.Off[(at+i)/c.OffGroup], mo, acc)
		}
	}
	return acc
}

// exact is the float64 dot product of dequantised weights with the unrounded activations, and how far a float32 chain may be from it:
// n+3 roundings of 2⁻²⁴ each of the sum of magnitudes, and half a step of activation per element.
func (p *product) exact(n, row int) (y, bound float64) {
	c := p.l.Codec
	src := p.source[row*c.RowBytes(p.cols) : (row+1)*c.RowBytes(p.cols)]
	x := p.x[n*p.cols : (n+1)*p.cols]
	var magnitude, step float64
	chain := p.cols
	if c.Float() {
		w := make([]float32, p.cols)
		c.Floats(w, src)
		for k := range w {
			y += float64(w[k]) * float64(x[k])
			magnitude += math.Abs(float64(w[k]) * float64(x[k]))
		}
	} else {
		chain = p.cols / c.Group
		if c.OffGroup != 0 {
			chain += p.cols / c.OffGroup
		}
		var b tile.Block
		for k := range p.cols {
			if k%c.Elems == 0 {
				c.Decode(&b, src[k/c.Elems*c.Bytes:][:c.Bytes])
			}
			at := k % c.Elems
			scaled := float64(b.Scale[at/c.Group]) * float64(b.Code[at])
			w, size := scaled, math.Abs(scaled)
			if c.OffGroup != 0 {
				w += float64(b.Off[at/c.OffGroup])
				size += math.Abs(float64(b.Off[at/c.OffGroup]))
			}
			d := float64(float(p.acts[n*p.xStride+k/32*tile.Q8XBytes+tile.Q8XD:]))
			y += w * float64(x[k])
			magnitude += size * (math.Abs(float64(x[k])) + d/2)
			step += math.Abs(w) * d / 2 * (1 + 0x1p-14)
		}
	}
	return y, float64(chain+3)*0x1p-24*magnitude*(1+0x1p-10) + step
}

func eachLayout(t *testing.T, f func(t *testing.T, l *tile.Layout, r *rand.Rand)) {
	for _, l := range tile.Layouts() {
		t.Run(l.Name, func(t *testing.T) { f(t, l, rand.New(rand.NewPCG(uint64(l.ID), 7))) })
	}
}

func TestMatMulFollowsTheDefinitionInEveryLayout(t *testing.T) {
	const poison = float32(-12345)
	eachLayout(t, func(t *testing.T, l *tile.Layout, r *rand.Rand) {
		for _, s := range []struct{ tiles, blocks, n int }{{1, 1, 1}, {2, 1, 3}, {1, 3, 2}} {
			p := newProduct(r, l, s.tiles, s.blocks, s.n)
			y := make([]float32, p.yLen)
			for i := range y {
				y[i] = poison
			}
			p.run(MatMul(l), y, 0, p.tiles, 0, p.n)
			written := map[int]bool{}
			for n := range p.n {
				for row := range p.tiles * l.Rows {
					i := p.first + n*p.yStride + row
					written[i] = true
					require.Equal(t, math.Float32bits(p.definition(n, row)), math.Float32bits(y[i]), "n %d row %d", n, row)
					want, bound := p.exact(n, row)
					require.InDelta(t, want, y[i], bound, "n %d row %d", n, row)
				}
			}
			for i, v := range y {
				require.True(t, written[i] || v == poison, "wrote outside the result at %d", i)
			}
		}
	})
}

func TestMatMulDoesNotDependOnTheSplit(t *testing.T) {
	eachLayout(t, func(t *testing.T, l *tile.Layout, r *rand.Rand) {
		p := newProduct(r, l, 3, 1, 5)
		f := MatMul(l)
		whole, split := make([]float32, p.yLen), make([]float32, p.yLen)
		p.run(f, whole, 0, 3, 0, 5)
		for _, t := range [][2]int{{0, 1}, {1, 3}} {
			for _, n := range [][2]int{{0, 2}, {2, 3}, {3, 5}} {
				p.run(f, split, t[0], t[1], n[0], n[1])
			}
		}
		require.Equal(t, whole, split)
	})
}

func TestMatMulTakesAnyBytesOfWeightsAndActivations(t *testing.T) {
	eachLayout(t, func(t *testing.T, l *tile.Layout, r *rand.Rand) {
		p := newProduct(r, l, 1, 1, 1)
		for _, fill := range []byte{0, 0x7c, 0x7f, 0x80, 0xff} {
			for i := range p.packed {
				p.packed[i] = fill
			}
			for i := range p.acts {
				p.acts[i] = ^fill
			}
			require.NotPanics(t, func() { p.run(MatMul(l), make([]float32, p.yLen), 0, 1, 0, 1) })
		}
	})
}

func BenchmarkMatMul(b *testing.B) {
	for _, name := range []string{"q4_k", "q6_k", "q8_0", "q8_0x16", "q2_k", "iq2_xs", "f16", "f16x16"} {
		l, _ := tile.ByName(name)
		for _, n := range []int{1, 8} {
			p := newProduct(rand.New(rand.NewPCG(1, 1)), l, 32/l.Rows, 1024/max(l.Codec.Elems, 32), n)
			y := make([]float32, p.yLen)
			b.Run(name+"/"+string(rune('0'+n)), func(b *testing.B) {
				b.SetBytes(int64(p.tiles * l.Rows * p.cols * n)) // multiplications, not bytes: MB/s reads as million per second
				for b.Loop() {
					p.run(MatMul(l), y, 0, p.tiles, 0, n)
				}
			})
		}
	}
}
