package scalar

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"jns/kernels/tile"
)

// ulps is the distance of got from want in units of the last place of want as a float32.
func ulps(got float32, want float64) float64 {
	w := float32(want)
	if math.Abs(want) > math.MaxFloat32 {
		if math.IsInf(float64(got), int(math.Copysign(1, want))) {
			return 0
		}
		w = float32(math.Copysign(math.MaxFloat32, want))
	}
	if math.Abs(float64(w)) < 0x1p-126 {
		return math.Abs(float64(got)-want) / 0x1p-149
	}
	_, e := math.Frexp(float64(w))
	return math.Abs(float64(got)-want) / math.Ldexp(1, e-24)
}

// sweep calls f with float32 values spread over all magnitudes and densely around 0, within ±limit.
func sweep(limit float32, f func(x float32)) {
	for b := uint32(0); b < 0x7f800000; b += 9973 {
		if x := math.Float32frombits(b); x <= limit {
			f(x)
			f(-x)
		}
	}
	for x := float64(0); x < float64(min(limit, 110)); x += 0.000917 {
		f(float32(x))
		f(-float32(x))
	}
}

func TestExpIsWithinTwoUlps(t *testing.T) {
	worst, at := 0.0, float32(0)
	sweep(200, func(x float32) {
		if x < -86.9 {
			return // see TestExpAtItsLimits
		}
		if u := ulps(Exp(x), math.Exp(float64(x))); u > worst {
			worst, at = u, x
		}
	})
	t.Logf("worst %.3f ulp at %g", worst, at)
	require.Less(t, worst, 1.1)
}

func TestExpAtItsLimits(t *testing.T) {
	inf := float32(math.Inf(1))
	require.Zero(t, math.Float32bits(Exp(-inf)))
	require.Equal(t, inf, Exp(inf))
	require.Equal(t, inf, Exp(89))
	require.Equal(t, float32(1), Exp(0))
	require.True(t, Exp(float32(math.NaN())) != Exp(float32(math.NaN())))
	require.Less(t, ulps(Exp(88.7), math.Exp(float64(float32(88.7)))), 1.1)
	for x := float32(-86.9); x > -110; x = math.Nextafter32(x-1e-4, -200) {
		if e := Exp(x); e != 0 {
			require.GreaterOrEqual(t, e, float32(0x1p-126))
			require.Greater(t, x, float32(-87))
		}
	}
	require.Zero(t, math.Float32bits(Exp(-math.MaxFloat32)))
}

func TestTanhIsWithinTwoUlps(t *testing.T) {
	worst, at := 0.0, float32(0)
	sweep(100, func(x float32) {
		if u := ulps(Tanh(x), math.Tanh(float64(x))); u > worst {
			worst, at = u, x
		}
	})
	t.Logf("worst %.3f ulp at %g", worst, at)
	require.Less(t, worst, 2.0)
	require.Equal(t, float32(-1), Tanh(float32(math.Inf(-1))))
	require.True(t, math.IsNaN(float64(Tanh(float32(math.NaN())))))
}

// The error of an activation is measured against |x|·2⁻²⁴ where the result is near x, and against the result further out to the left, where
// exp's argument carries a rounding error that grows with it.
func TestActivationsAreClose(t *testing.T) {
	for name, c := range map[string]struct {
		got   func(float32) float32
		want  func(float64) float64
		bound float64 // relative error
		from  float64
	}{
		"silu":  {SiLU, func(x float64) float64 { return x / (1 + math.Exp(-x)) }, 2e-7, -80},
		"quick": {GELUQuickOf, func(x float64) float64 { return x / (1 + math.Exp(-1.702*x)) }, 6e-6, -45},
		"gelu": {GELU, func(x float64) float64 {
			return x / (1 + math.Exp(-2*math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
		}, 2e-5, -8},
		"erf": {GELUErf, func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 }, 6e-6, -12},
	} {
		t.Run(name, func(t *testing.T) {
			worst, at, abs := 0.0, float32(0), 0.0
			sweep(1e30, func(x float32) {
				got, want := float64(c.got(x)), c.want(float64(x))
				abs = max(abs, math.Abs(got-want)/max(1, math.Abs(want)))
				if float64(x) < c.from || math.Abs(want) < 1e-37 {
					return
				}
				if u := math.Abs(got-want) / math.Abs(want); u > worst {
					worst, at = u, x
				}
			})
			t.Logf("worst relative %.3g at %g, absolute %.3g", worst, at, abs)
			require.Less(t, worst, c.bound)
			require.Less(t, abs, 3e-7)
		})
	}
}

func TestSinCosIsExactlyReducedToTenMillion(t *testing.T) {
	freq := []float64{1, 0.5, 0.1, 0.31622776601683794, 1e-4, math.Pi / 2, 0.9999999999999999}
	cos, sin := make([]float32, len(freq)), make([]float32, len(freq))
	for pos := int64(0); pos < 10_000_000; pos += 7919 {
		SinCos(cos, sin, pos, freq, 1)
		for i, f := range freq {
			s, c := math.Sincos(float64(pos) * f)
			// Near a zero the bound is absolute: float64 angles are that coarse.
			require.InDelta(t, s, float64(sin[i]), math.Abs(s)*0x1.01p-24+3e-15, "sin %d·%g", pos, f)
			require.InDelta(t, c, float64(cos[i]), math.Abs(c)*0x1.01p-24+3e-15, "cos %d·%g", pos, f)
		}
	}
	SinCos(cos[:1], sin[:1], 1, []float64{math.Inf(1)}, 1)
	require.True(t, cos[0] != cos[0] && sin[0] != sin[0])
	SinCos(cos[:1], sin[:1], 1<<39, []float64{1}, 1)
	require.LessOrEqual(t, math.Abs(float64(cos[0])), 1.0)
}

// The bits are a promise; a change of a coefficient or of an order shows here, on every platform.
func TestTranscendentalsKeepTheirBits(t *testing.T) {
	var h uint64 = 14695981039346656037
	mix := func(v float32) {
		if v != v {
			v = 7
		}
		h = (h ^ uint64(math.Float32bits(v))) * 1099511628211
	}
	for b := uint32(1); b < 0x7f900000; b += 1000003 {
		for _, s := range []uint32{0, 1 << 31} {
			x := math.Float32frombits(b | s)
			mix(Exp(x))
			mix(Tanh(x))
			mix(SiLU(x))
			mix(GELU(x))
			mix(GELUErf(x))
			mix(GELUQuickOf(x))
			var c, n [1]float32
			SinCos(c[:], n[:], int64(b), []float64{0.001}, 1.25)
			mix(c[0])
			mix(n[0])
		}
	}
	require.Equal(t, uint64(goldenTranscendentals), h)
}

func TestQuantizeIsNearestWithinHalfAStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float32Range(-1e3, 1e3), 64, 64).Draw(t, "x")
		dst := make([]byte, tile.Q8XRowBytes(64))
		Quantize(dst, x)
		for b := range 2 {
			blk := dst[b*tile.Q8XBytes:]
			d := math.Float32frombits(binary.LittleEndian.Uint32(blk[tile.Q8XD:]))
			var sum, first int32
			for i := range 32 {
				q := int8(blk[i])
				require.GreaterOrEqual(t, q, int8(-127))
				require.InDelta(t, x[b*32+i], float32(q)*d, float64(d)*0.50001+1e-30)
				sum += int32(q)
				if i < 16 {
					first += int32(q)
				}
			}
			require.Equal(t, d*float32(sum), math.Float32frombits(binary.LittleEndian.Uint32(blk[tile.Q8XM:])))
			require.Equal(t, -128*sum, int32(binary.LittleEndian.Uint32(blk[tile.Q8XC:])))
			require.Equal(t, -128*first, int32(binary.LittleEndian.Uint32(blk[tile.Q8XC0:])))
		}
	})
}

func TestQuantizeMarksBlocksThatAreNotNumbers(t *testing.T) {
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		x := make([]float32, 32)
		x[3], x[17] = 1, bad
		dst := make([]byte, tile.Q8XBytes)
		Quantize(dst, x)
		require.Equal(t, uint32(0x7fc00000), binary.LittleEndian.Uint32(dst[tile.Q8XD:]))
		require.Equal(t, uint32(0x7fc00000), binary.LittleEndian.Uint32(dst[tile.Q8XM:]))
		clear(dst[tile.Q8XD:tile.Q8XC])
		require.Equal(t, make([]byte, tile.Q8XBytes), dst)
	}
	x := make([]float32, 32)
	x[5] = 0x1.8p-101
	dst := make([]byte, tile.Q8XBytes)
	Quantize(dst, x)
	require.Equal(t, make([]byte, tile.Q8XBytes), dst)
}

// hi + lo is x to a 254th of half of hi's step, and the bits of both are a promise.
func TestQuantizeFineHoldsFifteenBitsAndKeepsItsBits(t *testing.T) {
	const n = 32 * 64
	x := make([]float32, n)
	s := uint32(1)
	for i := range x {
		s = s*1664525 + 1013904223
		x[i] = float32(int32(s)>>8) * pow2(int32(i/32)-40)
		if i/32 == 5 || i%31 == 0 {
			x[i] = 0
		}
	}
	hi, lo := make([]byte, tile.Q8XRowBytes(n)), make([]byte, tile.Q8XRowBytes(n))
	QuantizeFine(hi, lo, x)
	plain := make([]byte, len(hi))
	Quantize(plain, x)
	require.Equal(t, plain, hi)
	for i := range x {
		b := i / 32 * tile.Q8XBytes
		dh := math.Float32frombits(binary.LittleEndian.Uint32(hi[b+tile.Q8XD:]))
		dl := math.Float32frombits(binary.LittleEndian.Uint32(lo[b+tile.Q8XD:]))
		require.LessOrEqual(t, dl, dh*(0.50001/127))
		got := float64(dh)*float64(int8(hi[b+i%32])) + float64(dl)*float64(int8(lo[b+i%32]))
		require.InDelta(t, x[i], got, float64(dh)/253.9)
	}
	var h uint64 = 14695981039346656037
	for _, b := range append(hi, lo...) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	require.Equal(t, uint64(goldenQuantizeFine), h)
}

func TestArgMaxIsLowestIndexAndSeesNonFinite(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		x  []float32
		at int
		ok bool
	}{
		{nil, 0, true},
		{[]float32{1, 3, 3}, 1, true},
		{[]float32{float32(math.Copysign(0, -1)), 0}, 0, true},
		{[]float32{nan, 2, 1}, 1, false},
		{[]float32{nan, nan}, 0, false},
		{[]float32{-inf, -5, -inf}, 1, false},
		{[]float32{-inf, -inf}, 0, false},
		{[]float32{1, inf, 4}, 1, false},
	} {
		at, ok := ArgMax(c.x)
		require.Equal(t, c.at, at, "%v", c.x)
		require.Equal(t, c.ok, ok, "%v", c.x)
	}
}

func TestNormsAgreeWithFloat64(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "n")
		x := rapid.SliceOfN(rapid.Float32Range(-10, 10), n, n).Draw(t, "x")
		var sq, mean, va float64
		for _, v := range x {
			sq += float64(v) * float64(v)
			mean += float64(v) / float64(n)
		}
		for _, v := range x {
			va += (float64(v) - mean) * (float64(v) - mean)
		}
		rms, layer := make([]float32, n), make([]float32, n)
		RMSNorm(rms, x, nil, 1e-2)
		LayerNorm(layer, x, nil, nil, 1e-2)
		for i, v := range x {
			require.InDelta(t, float64(v)/math.Sqrt(sq/float64(n)+1e-2), rms[i], 1e-4)
			require.InDelta(t, (float64(v)-mean)/math.Sqrt(va/float64(n)+1e-2), layer[i], 1e-4)
		}
	})
}
