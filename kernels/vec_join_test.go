package kernels

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"jns/kernels/arg"
	"jns/kernels/cpu"
	"jns/kernels/scalar"
)

// parts are pages that are attended to apart.
type parts struct {
	mem    []byte
	stride int
}

func newParts(pages, n, dv int) *parts {
	p := &parts{stride: (arg.PartO + n*(dv+4)*4 + 63) &^ 63}
	p.mem = make([]byte, pages*p.stride)
	return p
}

// attend makes part i of page p, as a worker does who does not know the pages before it.
func (l *parts) attend(v *Vec, p *page, i int) {
	part := unsafe.Pointer(&l.mem[i*l.stride])
	at := func(offset, n int) []float32 { return unsafe.Slice((*float32)(unsafe.Add(part, offset)), n) }
	scalar.NewState(at(arg.PartM, AttendMax), at(arg.PartL, AttendMax), at(arg.PartO, p.n*(p.dv+4)))
	a := p.args()
	a.M, a.L, a.O = unsafe.Add(part, arg.PartM), unsafe.Add(part, arg.PartL), unsafe.Add(part, arg.PartO)
	var sees uint16
	for i := range p.n {
		if p.lo[i] < p.hi[i] {
			sees |= 1 << i
		}
	}
	*(*uint16)(unsafe.Add(part, arg.PartSees)) = sees
	v.Attend(&a)
}

func (l *parts) join(v *Vec, p *page, s *state, pages int) {
	v.Join(&JoinArgs{Parts: unsafe.Pointer(&l.mem[0]), Stride: uintptr(l.stride), Pages: pages, N: p.n, DV: p.dv, M: unsafe.Pointer(&s.m), L: unsafe.Pointer(&s.l),
		O: unsafe.Pointer(&s.o[0]), OStride: uintptr(p.dv+4) * 4})
}

// Pages attended to apart and joined give the bits of pages attended to one after the other, whatever is seen of them.
func TestJoinHasTheBitsOfAttendPageByPage(t *testing.T) {
	ref := VecFor(cpu.Scalar)
	all := func(t *testing.T, v *Vec) {
		rapid.Check(t, func(t *rapid.T) {
			d := rapid.SampledFrom([]int{1, 16, 64}).Draw(t, "d")
			dv := rapid.SampledFrom([]int{4, 8, 16, 24, 64, 72, 128, 192}).Draw(t, "dv")
			n := rapid.IntRange(1, AttendMax).Draw(t, "n")
			before, pages := rapid.IntRange(0, 2).Draw(t, "before"), rapid.IntRange(1, 5).Draw(t, "pages")
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			apart := newParts(pages, n, dv)
			var want, got *state
			var p *page
			for i := range before + pages {
				p = newPage(r, d, dv, n)
				for j := range n {
					if r.IntN(4) == 0 {
						p.lo[j] = int32(r.IntN(KVChunk))
						p.hi[j] = p.lo[j] + int32(r.IntN(KVChunk-int(p.lo[j])))
					}
				}
				if r.IntN(8) == 0 {
					scalar.Scale(p.q, p.q, 40) // exponentials vanish
				}
				if want == nil {
					want, got = newState(p), newState(p)
				}
				p.attend(ref, want, 0, n)
				if i < before {
					p.attend(v, got, 0, n)
				} else {
					apart.attend(v, p, i-before)
				}
			}
			apart.join(v, p, got, pages)
			requireSame(t, want, got, "d %d dv %d n %d, %d pages after %d", d, dv, n, pages, before)
		})
	}
	t.Run("scalar", func(t *testing.T) { all(t, ref) })
	eachVec(t, all)
}

// What a part holds need not be numbers that attention makes: every set does the same with it as scalar.
func TestJoinHasTheBitsOfScalar(t *testing.T) {
	ref := VecFor(cpu.Scalar)
	eachVec(t, func(t *testing.T, v *Vec) {
		rapid.Check(t, func(t *rapid.T) {
			dv, n, pages := rapid.IntRange(1, 70).Draw(t, "dv"), rapid.IntRange(1, AttendMax).Draw(t, "n"), rapid.IntRange(0, 3).Draw(t, "pages")
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			p := &page{dv: dv, n: n}
			apart := newParts(max(pages, 1), n, dv)
			numbers := unsafe.Slice((*float32)(unsafe.Pointer(&apart.mem[0])), len(apart.mem)/4)
			copy(numbers, fill(r, rapid.IntRange(0, 2).Draw(t, "style"), len(numbers)))
			for i := range pages {
				*(*uint16)(unsafe.Pointer(&apart.mem[i*apart.stride+arg.PartSees])) = uint16(r.Uint32()) & (1<<n - 1)
			}
			want, got := newState(p), newState(p)
			apart.join(ref, p, want, pages)
			apart.join(v, p, got, pages)
			requireSame(t, want, got, "dv %d n %d, %d pages", dv, n, pages)
		})
	})
}

func TestJoinAllocatesNothing(t *testing.T) {
	eachVec(t, func(t *testing.T, v *Vec) {
		p := &page{dv: 64, n: 7}
		apart, s := newParts(3, p.n, p.dv), newState(p)
		a := JoinArgs{Parts: unsafe.Pointer(&apart.mem[0]), Stride: uintptr(apart.stride), Pages: 3, N: p.n, DV: p.dv, M: unsafe.Pointer(&s.m), L: unsafe.Pointer(&s.l),
			O: unsafe.Pointer(&s.o[0]), OStride: uintptr(p.dv+4) * 4}
		require.Zero(t, testing.AllocsPerRun(10, func() { v.Join(&a) }))
	})
}
