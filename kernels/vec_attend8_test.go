package kernels

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"jns/kernels/cpu"
	"jns/kernels/scalar"
	"jns/kernels/tile"
)

// codes are a page in eight bits with the queries that look at it.
type codes struct {
	page
	k, v []byte
}

// newCodes stores numbers of sizes from 2⁻³⁵ to 2⁺¹⁴, some of which are halves' subnormal numbers.
func newCodes(r *rand.Rand, d, dv, n int) *codes {
	c := &codes{page: *newPage(r, d, dv, n), k: make([]byte, eightBytes(d)), v: make([]byte, eightBytes(dv))}
	row := make([]float32, max(d, dv))
	for p := range KVChunk {
		size := 1.0
		if r.IntN(3) == 0 {
			size = float64(tile.F16ToF32(uint16(r.IntN(0x7400))))
		}
		for _, x := range [][]float32{row[:d], row[:dv]} {
			for i := range x {
				x[i] = float32(r.NormFloat64() * size)
			}
		}
		scalar.StoreK8(unsafe.Pointer(&c.k[0]), row[:d], p)
		scalar.StoreV8(unsafe.Pointer(&c.v[0]), row[:dv], p)
	}
	return c
}

func (c *codes) args(s *state) AttendArgs {
	a := c.page.args()
	a.K, a.V, a.M, a.L, a.O = unsafe.Pointer(&c.k[0]), unsafe.Pointer(&c.v[0]), unsafe.Pointer(&s.m), unsafe.Pointer(&s.l), unsafe.Pointer(&s.o[0])
	a.Halves = alignedBytes(2 * KVChunk * (c.d + c.dv))
	return a
}

func alignedBytes(n int) unsafe.Pointer {
	b := make([]byte, n+64)
	p := unsafe.Pointer(&b[0])
	return unsafe.Add(p, (64-uintptr(p)%64)%64)
}

func TestAttend8HasTheBitsOfScalar(t *testing.T) {
	ref := VecFor(cpu.Scalar)
	eachVec(t, func(t *testing.T, v *Vec) {
		rapid.Check(t, func(t *rapid.T) {
			d := rapid.SampledFrom([]int{1, 7, 31, 32, 33, 64, 80, 96, 128, 256}).Draw(t, "d")
			dv := rapid.SampledFrom([]int{8, 32, 40, 64, 80, 96, 128, 160, 256}).Draw(t, "dv")
			n := rapid.IntRange(1, AttendMax).Draw(t, "n")
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			var want, got *state
			for pg := range 2 {
				c := newCodes(r, d, dv, n)
				c.cap = rapid.SampledFrom([]float32{0, 50, 1}).Draw(t, "cap")
				switch rapid.IntRange(0, 6).Draw(t, "ranges") {
				case 1: // causal
					for i := range n {
						c.hi[i] = int32(1 + (r.IntN(KVChunk)+i)%KVChunk)
					}
				case 2: // windows
					for i := range n {
						c.lo[i] = int32(r.IntN(KVChunk))
						c.hi[i] = c.lo[i] + int32(r.IntN(KVChunk-int(c.lo[i])+1))
					}
				case 3: // anything in memory, scales that are none too; seen in part
					for i := range n {
						c.lo[i], c.hi[i] = int32(r.IntN(8)), int32(8+r.IntN(KVChunk-7))
					}
					for _, b := range [][]byte{c.k, c.v} {
						for i := range b {
							b[i] = byte(r.Uint32())
						}
					}
				case 4: // one scale that is for others, or the largest that is not
					b, m := c.k, d
					if r.IntN(2) == 0 {
						b, m = c.v, dv
					}
					scales := unsafe.Slice((*uint16)(unsafe.Pointer(&b[m*KVChunk])), (len(b)-m*KVChunk)/2)
					scales[r.IntN(len(scales))] = []uint16{0x5fff, 0x6000, 0x7bff, 0x7c00, 0x7e00, 0x8000, 0x8001, 0xbc00}[r.IntN(8)]
				case 5: // all codes at all scales that are for the kernels
					for _, b := range [][]byte{c.k, c.v} {
						m := d
						if &b[0] == &c.v[0] {
							m = dv
						}
						for i := range m * KVChunk {
							b[i] = byte(r.Uint32())
						}
						scales := unsafe.Slice((*uint16)(unsafe.Pointer(&b[m*KVChunk])), (len(b)-m*KVChunk)/2)
						for i := range scales {
							scales[i] = uint16(r.IntN(0x6000))
						}
					}
				case 6: // scores so far apart that exponentials vanish
					scalar.Scale(c.q, c.q, 40)
				}
				if pg == 0 {
					want, got = newState(&c.page), newState(&c.page)
				}
				a, b := c.args(want), c.args(got)
				ref.Attend8(&a)
				before := b
				v.Attend8(&b)
				before.N = b.N
				require.Equal(t, before, b, "arguments")
				requireSame(t, want, got, "page %d d %d dv %d n %d lo %v hi %v cap %g", pg, d, dv, n, c.lo, c.hi, c.cap)
			}
		})
	})
}

// Every code times every scale, as keys and as values: a query that sees one position leaves its score in M and its values in O.
func TestAttend8RoundsEveryCodeTimesEveryScaleAsHalves(t *testing.T) {
	const d, n = 32, 4
	// Elsewhere no set reads codes as they lie, and an emulator takes a minute for all of them: an eighth shows that they are expanded.
	part := testing.Short() || runtime.GOARCH != "amd64"
	eachVec(t, func(t *testing.T, v *Vec) {
		r := rand.New(rand.NewPCG(1, 1))
		c := newCodes(r, d, d, n)
		c.scale = 1
		clear(c.q)
		s := newState(&c.page)
		a := c.args(s)
		kScales, vScales := unsafe.Slice((*uint16)(unsafe.Pointer(&c.k[d*KVChunk])), KVChunk), unsafe.Slice((*uint16)(unsafe.Pointer(&c.v[d*KVChunk])), KVChunk)
		for scale := range 0x6000 {
			pos := scale % KVChunk
			factor := tile.F16ToF32(uint16(scale))
			for i := range kScales {
				kScales[i], vScales[i] = uint16(scale), uint16(scale)
			}
			for first := 0; first < 256; first += d {
				if part && (first/d+scale)%8 != 0 {
					continue
				}
				for i := range d {
					c.k[i*KVChunk+pos], c.v[pos*d+i] = byte(first+i), byte(first+i)
				}
				for i := range n {
					a.Lo[i], a.Hi[i] = int32(pos), int32(pos+1)
					clear(c.q[i*(d+3):][:d])
					c.q[i*(d+3)+(scale/KVChunk+i*8)%d] = 1
				}
				scalar.NewState(s.m[:], s.l[:], nil)
				for i := range n {
					clear(s.o[i*(d+4):][:d])
				}
				v.Attend8(&a)
				for i := range d {
					want := tile.F16ToF32(tile.F32ToF16(float32(int8(first+i))*factor)) + 0
					for j := range n {
						if got := s.o[j*(d+4)+i]; got != want {
							require.Failf(t, "different bits", "value: code %d times scale %04x is %v, want %v", int8(first+i), scale, got, want)
						}
						if got := s.m[j]; (scale/KVChunk+j*8)%d == i && got != want {
							require.Failf(t, "different bits", "key: code %d times scale %04x is %v, want %v", int8(first+i), scale, got, want)
						}
					}
				}
			}
		}
	})
}

func TestAttend8AllocatesNothing(t *testing.T) {
	eachVec(t, func(t *testing.T, v *Vec) {
		for _, n := range []int{3, 9} {
			c := newCodes(rand.New(rand.NewPCG(1, 1)), 64, 64, n)
			s := newState(&c.page)
			a := c.args(s)
			require.Zero(t, testing.AllocsPerRun(10, func() { v.Attend8(&a) }))
		}
	})
}

// BenchmarkAttend8 attends to pages that the first-level cache holds (near) and to such that no cache does.
func BenchmarkAttend8(b *testing.B) {
	for _, set := range cpu.Available() {
		if set == cpu.AVXVNNI || set == cpu.Scalar {
			continue
		}
		v := VecFor(set)
		for _, size := range []int{0, 96 << 20} {
			for _, d := range []int{64, 128, 256} {
				for _, n := range []int{1, 3, 4, 5, 7, 8} {
					where := "near"
					if size > 0 {
						where = "far"
					}
					b.Run(fmt.Sprintf("%s/%s/d=%d/n=%d", set, where, d, n), func(b *testing.B) {
						c := newCodes(rand.New(rand.NewPCG(1, 1)), d, d, n)
						s := newState(&c.page)
						a := c.args(s)
						step := eightBytes(d)
						pages := max(size/(2*step), 1)
						buf := make([]byte, pages*2*step)
						for i := range pages {
							copy(buf[i*2*step:], c.k)
							copy(buf[(i*2+1)*step:], c.v)
						}
						b.SetBytes(int64(len(buf)))
						for b.Loop() {
							for i := range pages {
								next := (i + 1) % pages
								a.K, a.V = unsafe.Pointer(&buf[i*2*step]), unsafe.Pointer(&buf[(i*2+1)*step])
								a.NextK, a.NextV = unsafe.Pointer(&buf[next*2*step]), unsafe.Pointer(&buf[(next*2+1)*step])
								v.Attend8(&a)
							}
						}
					})
				}
			}
		}
	}
}
