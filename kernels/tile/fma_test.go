package tile

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// exactFMA is a·b + c for finite arguments by way of math/big, rounded once.
func exactFMA(a, b, c float32) float32 {
	p := float64(a) * float64(b)
	sum := new(big.Float).SetPrec(2000)
	sum.Add(new(big.Float).SetPrec(2000).SetFloat64(p), new(big.Float).SetPrec(2000).SetFloat64(float64(c)))
	if sum.Sign() == 0 {
		return float32(p + float64(c)) // both zero or exact cancellation: the sign follows the rule of addition
	}
	f, _ := sum.Float32() // rounds to nearest even, subnormals and overflow included
	return f
}

func requireSameFloat(t require.TestingT, want, got float32, args ...float32) {
	if math.IsNaN(float64(want)) {
		require.True(t, math.IsNaN(float64(got)), "%x", args)
		return
	}
	require.Equal(t, math.Float32bits(want), math.Float32bits(got), "want %x got %x args %x", want, got, args)
}

func TestFMA32RoundsOnceWhereTwoRoundingsDiffer(t *testing.T) {
	a, b := math.Float32frombits(0x338007e0), math.Float32frombits(0x3f7ff041)
	require.EqualValues(t, 0x3f800001, math.Float32bits(FMA32(a, b, 1)))
}

func TestFMA32HandlesSpecialValues(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	zero := float32(0)
	neg := float32(math.Copysign(0, -1))
	tiny := math.Float32frombits(1)
	big := math.Float32frombits(0x7f7fffff)
	for _, c := range []struct{ a, b, c, want float32 }{
		{zero, zero, zero, zero}, {neg, zero, neg, neg}, {zero, neg, zero, zero}, {1, 1, -1, zero}, {-1, 1, 1, zero}, {neg, 1, neg, neg},
		{inf, 1, 1, inf}, {inf, 1, -inf, nan}, {inf, 0, 1, nan}, {nan, 1, 1, nan}, {1, 1, nan, nan}, {1, 1, -inf, -inf},
		{tiny, tiny, zero, zero}, {-tiny, tiny, zero, neg}, {tiny, 0.5, zero, zero}, {tiny, 0.5, tiny, 2 * tiny}, {tiny, 1.5, zero, 2 * tiny},
		{big, 2, zero, inf}, {big, 2, -big, big}, {big, 1, 0x1p103, inf}, {big, 1, math.Float32frombits(0x72ffffff), big},
	} {
		requireSameFloat(t, c.want, FMA32(c.a, c.b, c.c), c.a, c.b, c.c)
	}
}

func TestFMA32EqualsExactArithmetic(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	any := func() float32 {
		for {
			if f := math.Float32frombits(r.Uint32()); f-f == 0 {
				return f
			}
		}
	}
	near := func() float32 { // few significant bits, exponents near each other: sums meet midpoints
		return float32(math.Ldexp(float64(r.IntN(1<<13))-1<<12, r.IntN(30)-15))
	}
	small := func() float32 { return math.Float32frombits(r.Uint32() & 0x81ffffff) }
	for range 100_000 {
		for _, s := range [][3]float32{
			{any(), any(), any()}, {near(), near(), near()},
			{small(), float32(r.Float64()), small()}, {near() * 0x1p-70, near() * 0x1p-70, small()},
		} {
			requireSameFloat(t, exactFMA(s[0], s[1], s[2]), FMA32(s[0], s[1], s[2]), s[:]...)
		}
		// c with a one-bit-off-midpoint product: the case that double rounding gets wrong.
		a := 1 + float32(r.IntN(1<<12))*0x1p-23
		b := 0x1p-24 * (1 + float32(r.IntN(1<<12)-1<<11)*0x1p-23)
		c := 1 + float32(r.IntN(1<<23))*0x1p-23
		requireSameFloat(t, exactFMA(a, b, c), FMA32(a, b, c), a, b, c)
		requireSameFloat(t, exactFMA(a, -b, c), FMA32(a, -b, c), a, -b, c)
	}
}

func TestFMA32EqualsExactArithmeticOnDrawnBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := func(name string) float32 {
			return math.Float32frombits(rapid.Uint32().Filter(func(b uint32) bool { return b&0x7f800000 != 0x7f800000 }).Draw(t, name))
		}
		a, b, c := f("a"), f("b"), f("c")
		requireSameFloat(t, exactFMA(a, b, c), FMA32(a, b, c), a, b, c)
	})
}

func TestHalfConversionsAgreeForEveryHalf(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		f := F16ToF32(h)
		e, m := int(h>>10&31), float64(h&0x3ff)
		var want float64
		switch {
		case e == 31 && m != 0:
			require.True(t, math.IsNaN(float64(f)))
			require.Equal(t, h|0x0200, F32ToF16(f), "a NaN keeps its payload and becomes quiet")
			continue
		case e == 31:
			want = math.Inf(1)
		case e == 0:
			want = math.Ldexp(m, -24)
		default:
			want = math.Ldexp(1024+m, e-25)
		}
		if h>>15 != 0 {
			want = -want
		}
		require.Equal(t, math.Float64bits(want), math.Float64bits(float64(f)), "%04x", h)
		require.Equal(t, h, F32ToF16(f), "%04x", h)
		require.Equal(t, h, F32ToBF16(BF16ToF32(h))&^b2u(h&0x7fff > 0x7f80, h), "%04x", h)
	}
}

// b2u is the quiet bit where a bfloat16 NaN did not have it.
func b2u(nan bool, h uint16) uint16 {
	if nan {
		return ^h & 0x0040
	}
	return 0
}

func TestNarrowingRoundsToNearestEven(t *testing.T) {
	// Between neighbours lo and hi the midpoint goes to the even one, its neighbours in float32 to the nearer one.
	check := func(name string, lo uint16, widen func(uint16) float32, narrow func(float32) uint16, bits uint16) {
		hi := lo + 1
		mid := (float64(widen(lo)) + float64(widen(hi))) / 2
		if hi&0x7fff == bits { // hi is infinity: the midpoint is where the next finite step would have it
			mid = float64(widen(lo)) + (float64(widen(lo))-float64(widen(lo-1)))/2
		}
		m := float32(mid)
		require.EqualValues(t, mid, m)
		require.Equal(t, lo+lo&1, narrow(m), "%s %04x", name, lo)
		require.Equal(t, lo, narrow(math.Float32frombits(math.Float32bits(m)-1)), "%s %04x", name, lo)
		require.Equal(t, hi, narrow(math.Float32frombits(math.Float32bits(m)+1)), "%s %04x", name, lo)
	}
	for _, sign := range []uint16{0, 0x8000} {
		for lo := uint16(0); lo < 0x7c00; lo++ {
			check("half", sign|lo, F16ToF32, F32ToF16, 0x7c00)
		}
		for lo := uint16(0); lo < 0x7f80-1; lo++ {
			check("bfloat16", sign|lo, BF16ToF32, F32ToBF16, 0x7f80)
		}
	}
	require.EqualValues(t, 0x7c00, F32ToF16(math.MaxFloat32))
	require.EqualValues(t, 0x7f80, F32ToBF16(math.MaxFloat32))
}

func BenchmarkFMA32(b *testing.B) {
	x := float32(0)
	for i := range b.N {
		x = FMA32(float32(i&7), 0.37, x*0.5)
	}
	if x == 1 {
		b.Log(x)
	}
}

func TestFMADotIsAChainOfFMA32(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.SliceOf(rapid.Float32()).Draw(t, "w")
		x := rapid.SliceOfN(rapid.Float32(), len(w), -1).Draw(t, "x")
		want := rapid.Float32().Draw(t, "acc")
		got := FMADot(want, w, x)
		four := [4]float32{want, 1, want, -want}
		FMADot4(&four, &[4][]float32{w, x[:len(w)], w, w}, x)
		requireSameFloat(t, got, four[0])
		requireSameFloat(t, FMADot(1, x[:len(w)], x), four[1])
		requireSameFloat(t, got, four[2])
		requireSameFloat(t, FMADot(-want, w, x), four[3])
		for i := range w {
			want = FMA32(w[i], x[i], want)
		}
		requireSameFloat(t, want, got)
	})
}
