package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"jns/kernels/cpu"
	"jns/kernels/scalar"
	"jns/kernels/tile"
)

// page is one KV page with the queries that look at it.
type page struct {
	d, dv, n   int
	q          []float32
	k, v       []uint16
	lo, hi     [AttendMax]int32
	scale, cap float32
}

func newPage(r *rand.Rand, d, dv, n int) *page {
	p := &page{d: d, dv: dv, n: n, scale: float32(1 / math.Sqrt(float64(d)))}
	p.q = fill(r, 0, n*(d+3))
	p.k, p.v = make([]uint16, KVChunk*d), make([]uint16, KVChunk*dv)
	for i := range p.k {
		p.k[i] = tile.F32ToF16(float32(r.NormFloat64()))
	}
	for i := range p.v {
		p.v[i] = tile.F32ToF16(float32(r.NormFloat64()))
	}
	for i := range n {
		p.hi[i] = KVChunk
	}
	return p
}

// state is the running attention of a page's queries; rows of o are 16 bytes further apart than needed, and guarded.
type state struct {
	m, l  [AttendMax]float32
	o     []float32
	check func(require.TestingT)
}

func newState(p *page) *state {
	s := &state{}
	s.o, s.check = guarded(p.n * (p.dv + 4))
	scalar.NewState(s.m[:], s.l[:], nil)
	for i := range p.n {
		clear(s.o[i*(p.dv+4):][:p.dv])
	}
	return s
}

func aligned() unsafe.Pointer {
	b := make([]byte, AttendMax*KVChunk*4+64)
	p := unsafe.Pointer(&b[0])
	return unsafe.Add(p, (64-uintptr(p)%64)%64)
}

// args are those of all queries of the page, without a state.
func (p *page) args() AttendArgs {
	return AttendArgs{Q: unsafe.Pointer(&p.q[0]), QStride: uintptr(p.d+3) * 4, K: unsafe.Pointer(&p.k[0]), V: unsafe.Pointer(&p.v[0]),
		D: p.d, DV: p.dv, N: p.n, Scale: p.scale, Cap: p.cap, S: aligned(), OStride: uintptr(p.dv+4) * 4, Lo: p.lo, Hi: p.hi}
}

// attend runs queries from to to of the page.
func (p *page) attend(v *Vec, s *state, from, to int) {
	a := p.args()
	a.Q, a.N, a.M, a.L, a.O = unsafe.Pointer(&p.q[from*(p.d+3)]), to-from, unsafe.Pointer(&s.m[from]), unsafe.Pointer(&s.l[from]), unsafe.Pointer(&s.o[from*(p.dv+4)])
	copy(a.Lo[:], p.lo[from:to])
	copy(a.Hi[:], p.hi[from:to])
	v.Attend(&a)
}

func requireSame(t require.TestingT, want, got *state, msg string, args ...any) {
	requireBits(t, want.m[:], got.m[:], "M "+msg, args...)
	requireBits(t, want.l[:], got.l[:], "L "+msg, args...)
	requireBits(t, want.o, got.o, "O "+msg, args...)
	got.check(t)
}

func TestAttendHasTheBitsOfScalar(t *testing.T) {
	ref := VecFor(cpu.Scalar)
	eachVec(t, func(t *testing.T, v *Vec) {
		rapid.Check(t, func(t *rapid.T) {
			d := rapid.SampledFrom([]int{1, 7, 16, 64, 80, 96}).Draw(t, "d")
			dv := rapid.SampledFrom([]int{4, 8, 16, 24, 40, 64, 80, 128}).Draw(t, "dv")
			n := rapid.IntRange(1, AttendMax).Draw(t, "n")
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			want, got := (*state)(nil), (*state)(nil)
			for pg := range 2 {
				p := newPage(r, d, dv, n)
				p.cap = rapid.SampledFrom([]float32{0, 50, 1}).Draw(t, "cap")
				switch rapid.IntRange(0, 5).Draw(t, "ranges") {
				case 1: // causal
					for i := range n {
						p.hi[i] = int32(1 + (r.IntN(KVChunk)+i)%KVChunk)
					}
				case 2:
					for i := range n {
						p.lo[i] = int32(r.IntN(KVChunk))
						p.hi[i] = p.lo[i] + int32(r.IntN(KVChunk-int(p.lo[i])+1))
					}
				case 3: // what nobody sees is garbage
					lo, hi := int32(r.IntN(32)), int32(33+r.IntN(32))
					for i := range n {
						p.lo[i], p.hi[i] = lo, hi
					}
					for q := range KVChunk {
						if q >= int(lo) && q < int(hi) {
							continue
						}
						for c := range d {
							p.k[c*KVChunk+q] = 0x7e00
						}
						for c := range dv {
							p.v[q*dv+c] = 0xfc00
						}
					}
				case 4: // overflow and NaN in the data themselves
					p.k[r.IntN(len(p.k))] = 0x7c00
					p.v[r.IntN(len(p.v))] = 0x7e00
					p.q[r.IntN(len(p.q))] = 1e30
				case 5: // scores so far apart that exponentials vanish
					scalar.Scale(p.q, p.q, 40)
				}
				if pg == 0 {
					want, got = newState(p), newState(p)
				}
				p.attend(ref, want, 0, n)
				p.attend(v, got, 0, n)
				requireSame(t, want, got, "page %d d %d dv %d n %d lo %v hi %v cap %g", pg, d, dv, n, p.lo, p.hi, p.cap)
			}
		})
	})
}

// A query's bits depend neither on how many others are in the call nor on what they see, nor on what stands where it does not look.
func TestAttendIsBatchInvariant(t *testing.T) {
	eachVec(t, func(t *testing.T, v *Vec) {
		rapid.Check(t, func(t *rapid.T) {
			n := AttendMax
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			p := newPage(r, 64, 72, n)
			for i := range n {
				p.lo[i] = int32(r.IntN(8))
				p.hi[i] = p.lo[i] + int32(r.IntN(KVChunk-8))
			}
			all, single := newState(p), newState(p)
			p.v[rapid.IntRange(0, len(p.v)-1).Draw(t, "nan")] = 0x7e00
			p.attend(v, all, 0, n)
			for i := range n {
				q := *p
				q.v = append([]uint16(nil), p.v...)
				for pos := range KVChunk {
					if pos < int(p.lo[i]) || pos >= int(p.hi[i]) {
						for c := range p.dv {
							q.v[pos*p.dv+c] = uint16(r.Uint32())
						}
					}
				}
				q.attend(v, single, i, i+1)
			}
			requireSame(t, single, all, "lo %v hi %v", p.lo, p.hi)
		})
	})
}

func BenchmarkAttend(b *testing.B) {
	for _, set := range cpu.Available() {
		v := VecFor(set)
		if set == cpu.Scalar && testing.Short() || set == cpu.AVXVNNI {
			continue
		}
		for _, n := range []int{1, 4, 7, 8, 12, 16} {
			for _, d := range []int{64, 128} {
				b.Run(fmt.Sprintf("%s/n=%d/d=%d", set, n, d), func(b *testing.B) {
					p := newPage(rand.New(rand.NewPCG(1, 1)), d, d, n)
					s := newState(p)
					a := AttendArgs{Q: unsafe.Pointer(&p.q[0]), QStride: uintptr(p.d+3) * 4, K: unsafe.Pointer(&p.k[0]), V: unsafe.Pointer(&p.v[0]),
						D: p.d, DV: p.dv, N: n, Scale: p.scale, S: aligned(), M: unsafe.Pointer(&s.m), L: unsafe.Pointer(&s.l),
						O: unsafe.Pointer(&s.o[0]), OStride: uintptr(p.dv+4) * 4, Hi: p.hi}
					b.SetBytes(int64(2 * len(p.k) * 2))
					for b.Loop() {
						v.Attend(&a)
					}
					b.ReportMetric(float64(n*d*KVChunk*4)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gflop/s")
				})
			}
		}
	}
}

// BenchmarkAttendLong walks over keys and values that no cache holds, as decoding with a long context does; Read is the speed of memory.
func BenchmarkAttendLong(b *testing.B) {
	const size = 96 << 20
	buf := make([]uint16, size/2)
	for i := range buf {
		buf[i] = uint16(0x3000 + i*7919&0x07ff)
	}
	for _, set := range cpu.Available() {
		if set == cpu.AVXVNNI || set == cpu.Scalar {
			continue
		}
		v := VecFor(set)
		b.Run(set+"/Read", func(b *testing.B) {
			x := unsafe.Slice((*float32)(unsafe.Pointer(&buf[0])), len(buf)/2)
			b.SetBytes(size)
			for b.Loop() {
				v.ArgMax(x)
			}
		})
		for _, d := range []int{64, 128, 256} {
			for _, n := range []int{1, 3, 8} {
				b.Run(fmt.Sprintf("%s/d=%d/n=%d", set, d, n), func(b *testing.B) {
					p := newPage(rand.New(rand.NewPCG(1, 1)), d, d, n)
					s := newState(p)
					a := AttendArgs{Q: unsafe.Pointer(&p.q[0]), QStride: uintptr(p.d+3) * 4,
						D: p.d, DV: p.dv, N: n, Scale: p.scale, S: aligned(), M: unsafe.Pointer(&s.m), L: unsafe.Pointer(&s.l),
						O: unsafe.Pointer(&s.o[0]), OStride: uintptr(p.dv+4) * 4, Hi: p.hi}
					step := d * KVChunk
					b.SetBytes(size)
					for b.Loop() {
						for at := 0; at+2*step <= len(buf); at += 2 * step {
							a.K, a.V = unsafe.Pointer(&buf[at]), unsafe.Pointer(&buf[at+step])
							a.NextK, a.NextV = nil, nil
							if next := at + 2*step; next+2*step <= len(buf) {
								a.NextK, a.NextV = unsafe.Pointer(&buf[next]), unsafe.Pointer(&buf[next+step])
							}
							v.Attend(&a)
						}
					}
				})
			}
		}
	}
}
