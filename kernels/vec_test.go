package kernels

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"jns/kernels/cpu"
	"jns/kernels/scalar"
	"jns/kernels/tile"
)

const poison = 0xffabcdef // bits of a NaN that no operation makes

// eachVec runs f for every set of the machine that has vector functions of its own.
func eachVec(t *testing.T, f func(t *testing.T, v *Vec)) {
	seen := map[string]bool{cpu.Scalar: true}
	for _, set := range cpu.Available() {
		v := VecFor(set)
		if seen[v.Set] {
			continue
		}
		seen[v.Set] = true
		t.Run(v.Set, func(t *testing.T) { f(t, v) })
	}
}

// canon makes all NaN one: which payload and sign an operation passes on is not promised.
func canon(v float32) uint32 {
	if v != v {
		return 0x7fc00000
	}
	return math.Float32bits(v)
}

func requireBits(t require.TestingT, want, got []float32, msg string, args ...any) {
	require.Len(t, got, len(want))
	for i := range want {
		if canon(want[i]) != canon(got[i]) {
			require.Failf(t, "different bits", "%s: element %d of %d: want %g (%08x), got %g (%08x)", fmt.Sprintf(msg, args...), i, len(want),
				want[i], math.Float32bits(want[i]), got[i], math.Float32bits(got[i]))
		}
	}
}

var special = []float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1, -1,
	math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 0x1p-126, 0x1.8p-101, -0x1p-100, math.MaxFloat32, -math.MaxFloat32, 0.625, -0.625, 88.7,
	-87.4, -103.9, 65504, 65520, 0x1p-24, 0x1p-25, 1e4, -1e4}

// fill makes n numbers of one of a few kinds: ordinary, of all magnitudes, or with special values.
func fill(r *rand.Rand, kind, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		switch {
		case kind == 1 && r.IntN(8) == 0:
			x[i] = special[r.IntN(len(special))]
		case kind == 2:
			x[i] = math.Float32frombits(r.Uint32())
		default:
			x[i] = float32(r.NormFloat64() * 3)
		}
	}
	return x
}

// guarded is a slice of n poisoned elements with more poison on both sides; check fails when those changed.
func guarded(n int) (x []float32, check func(t require.TestingT)) {
	all := make([]float32, n+32)
	for i := range all {
		all[i] = math.Float32frombits(poison)
	}
	return all[16 : 16+n : 16+n], func(t require.TestingT) {
		for i, v := range all {
			if i < 16 || i >= 16+n {
				require.Equal(t, uint32(poison), math.Float32bits(v), "guard %d of %d", i, n)
			}
		}
	}
}

type elemCase struct {
	name string
	run  func(v *Vec, dst, a, b, c []float32, f float32)
}

func elemCases() []elemCase {
	cases := []elemCase{
		{"AddScaled", func(v *Vec, dst, a, b, c []float32, f float32) { v.AddScaled(dst, a, b, f) }},
		{"Scale", func(v *Vec, dst, a, b, c []float32, f float32) { v.Scale(dst, a, f) }},
		{"Mul", func(v *Vec, dst, a, b, c []float32, f float32) { v.Mul(dst, a, b) }},
		{"SoftCap", func(v *Vec, dst, a, b, c []float32, f float32) { v.SoftCap(dst, a, 30) }},
		{"Softmax", func(v *Vec, dst, a, b, c []float32, f float32) { v.Softmax(dst, a) }},
		{"Finish", func(v *Vec, dst, a, b, c []float32, f float32) { v.Finish(dst, a, f) }},
		{"RMSNorm", func(v *Vec, dst, a, b, c []float32, f float32) { v.RMSNorm(dst, a, b, 1e-5) }},
		{"RMSNorm/nil", func(v *Vec, dst, a, b, c []float32, f float32) { v.RMSNorm(dst, a, nil, 1e-5) }},
		{"LayerNorm", func(v *Vec, dst, a, b, c []float32, f float32) { v.LayerNorm(dst, a, b, c, 1e-5) }},
		{"LayerNorm/nil", func(v *Vec, dst, a, b, c []float32, f float32) { v.LayerNorm(dst, a, nil, nil, 1e-5) }},
		{"LayerNorm/noBias", func(v *Vec, dst, a, b, c []float32, f float32) { v.LayerNorm(dst, a, b, nil, 1e-5) }},
	}
	for act := Act(0); act <= ActNone; act++ {
		cases = append(cases,
			elemCase{fmt.Sprintf("ActMul/%d", act), func(v *Vec, dst, a, b, c []float32, f float32) { v.ActMul(dst, a, b, act) }},
			elemCase{fmt.Sprintf("ActMul/%d/nil", act), func(v *Vec, dst, a, b, c []float32, f float32) { v.ActMul(dst, a, nil, act) }})
	}
	return cases
}

func TestVectorFunctionsHaveTheBitsOfScalar(t *testing.T) {
	ref := VecFor(cpu.Scalar)
	eachVec(t, func(t *testing.T, v *Vec) {
		for _, c := range elemCases() {
			t.Run(c.name, func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					n := rapid.IntRange(0, 300).Draw(t, "n")
					kind := rapid.IntRange(0, 2).Draw(t, "kind")
					alias := rapid.IntRange(0, 2).Draw(t, "alias")
					r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
					a, b, cc := fill(r, kind, n), fill(r, kind, n), fill(r, kind, n)
					f := fill(r, kind, 1)[0]
					want, got := make([]float32, n), []float32(nil)
					c.run(ref, want, a, b, cc, f)
					got, check := guarded(n)
					switch alias {
					case 1:
						copy(got, a)
						c.run(v, got, got, b, cc, f)
					case 2:
						// In place of the second input.
						copy(got, b)
						if c.name == "LayerNorm" || c.name == "LayerNorm/noBias" || c.name == "RMSNorm" {
							copy(got, a) // weights are not written
							c.run(v, got, got, b, cc, f)
						} else {
							c.run(v, got, a, got, cc, f)
						}
					default:
						c.run(v, got, a, b, cc, f)
					}
					requireBits(t, want, got, "%s n=%d kind=%d alias=%d", c.name, n, kind, alias)
					check(t)
				})
			})
		}
	})
}

// Exp over every exponent, through Softmax's neighbour SiLU and through SoftCap: all float32 in steps.
func TestTranscendentalsHaveTheBitsOfScalarEverywhere(t *testing.T) {
	ref := VecFor(cpu.Scalar)
	eachVec(t, func(t *testing.T, v *Vec) {
		x, want, got := make([]float32, 4096), make([]float32, 4096), make([]float32, 4096)
		for b := uint64(0); b < 1<<32; b += 4096 * 8171 {
			for i := range x {
				x[i] = math.Float32frombits(uint32(b + uint64(i)*8171))
			}
			for act := ActSiLU; act <= ActNone; act++ {
				ref.ActMul(want, x, nil, act)
				v.ActMul(got, x, nil, act)
				requireBits(t, want, got, "act %d", act)
			}
			ref.SoftCap(want, x, 50)
			v.SoftCap(got, x, 50)
			requireBits(t, want, got, "softcap")
		}
	})
}

func TestQuantizeHasTheBitsOfScalar(t *testing.T) {
	eachVec(t, func(t *testing.T, v *Vec) {
		rapid.Check(t, func(t *rapid.T) {
			blocks := rapid.IntRange(0, 9).Draw(t, "blocks")
			kind := rapid.IntRange(0, 2).Draw(t, "kind")
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			x := fill(r, kind, blocks*32)
			for b := range blocks {
				switch r.IntN(6) {
				case 0:
					clear(x[b*32 : b*32+32])
				case 1: // magnitudes around the bound of zero blocks, ties
					for i := range 32 {
						x[b*32+i] = float32(r.IntN(255)-127) / 2
					}
					scalar.Scale(x[b*32:b*32+32], x[b*32:b*32+32], float32(math.Ldexp(1, -r.IntN(110))))
				}
			}
			want := make([]byte, tile.Q8XRowBytes(len(x))+16)
			got := make([]byte, len(want))
			for i := range got {
				want[i], got[i] = 0xa5, 0xa5
			}
			scalar.Quantize(want, x)
			v.Quantize(got, x)
			require.Equal(t, want, got)

			want2, got2 := bytes.Clone(want), bytes.Clone(want)
			for i := range want {
				want[i], got[i], want2[i], got2[i] = 0xa5, 0xa5, 0xa5, 0xa5
			}
			scalar.QuantizeFine(want, want2, x)
			v.QuantizeFine(got, got2, x)
			require.Equal(t, want, got)
			require.Equal(t, want2, got2)
		})
	})
}

func TestRopeHasTheBitsOfScalar(t *testing.T) {
	eachVec(t, func(t *testing.T, v *Vec) {
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.IntRange(0, 130).Draw(t, "pairs")
			neox := rapid.Bool().Draw(t, "neox")
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			kind := rapid.IntRange(0, 2).Draw(t, "kind")
			x, cos, sin := fill(r, kind, 2*n+5), fill(r, kind, n), fill(r, kind, n)
			got, check := guarded(len(x))
			copy(got, x)
			scalar.Rope(x, cos, sin, neox)
			v.Rope(got, cos, sin, neox)
			requireBits(t, x, got, "pairs %d neox %v", n, neox)
			check(t)
		})
	})
}

func TestStoreKAndStoreVWriteOnlyTheirPosition(t *testing.T) {
	eachVec(t, func(t *testing.T, v *Vec) {
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.IntRange(1, 140).Draw(t, "n")
			pos := rapid.IntRange(0, KVChunk-1).Draw(t, "pos")
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			x := fill(r, rapid.IntRange(0, 2).Draw(t, "kind"), n)
			for _, store := range []func(v *Vec, p unsafe.Pointer){
				func(v *Vec, p unsafe.Pointer) { v.StoreK(p, x, pos) },
				func(v *Vec, p unsafe.Pointer) { v.StoreV(p, x, pos) },
			} {
				want, got := make([]uint16, n*KVChunk), make([]uint16, n*KVChunk)
				for i := range want {
					want[i], got[i] = 0xabcd, 0xabcd
				}
				store(VecFor(cpu.Scalar), unsafe.Pointer(&want[0]))
				store(v, unsafe.Pointer(&got[0]))
				require.Equal(t, want, got)
			}
		})
	})
}

func TestArgMaxAgreesWithScalar(t *testing.T) {
	eachVec(t, func(t *testing.T, v *Vec) {
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.IntRange(0, 300).Draw(t, "n")
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			x := fill(r, rapid.IntRange(0, 2).Draw(t, "kind"), n)
			if n > 0 && r.IntN(2) == 0 { // ties
				for range 3 {
					x[r.IntN(n)] = 1e30
				}
			}
			if r.IntN(8) == 0 {
				for i := range x {
					x[i] = special[2+2*r.IntN(2)] // NaN, −Inf
				}
			}
			i, ok := scalar.ArgMax(x)
			j, ok2 := v.ArgMax(x)
			require.Equal(t, i, j)
			require.Equal(t, ok, ok2)
		})
	})
}

func TestSelectVecObeysTheEnvironment(t *testing.T) {
	t.Setenv(cpu.Env, "scalar")
	v, err := SelectVec()
	require.NoError(t, err)
	require.Equal(t, cpu.Scalar, v.Set)
	t.Setenv(cpu.Env, "sse9")
	_, err = SelectVec()
	require.ErrorIs(t, err, cpu.ErrSet)
}

// A set without an entry would fail in the middle of a run.
func TestVecTablesAreComplete(t *testing.T) {
	for _, set := range append(cpu.Available(), "unknown") {
		v := reflect.ValueOf(*VecFor(set))
		for i := range v.NumField() {
			require.False(t, v.Field(i).IsZero(), "%s: %s", set, v.Type().Field(i).Name)
		}
	}
}

// An AVX2 kernel with an instruction of AVX-512 would end the process on most machines.
func TestAVX2VectorFilesNeedNoAVX512(t *testing.T) {
	for _, name := range []string{"vec", "attend"} {
		text, err := os.ReadFile("amd64/" + name + "_avx2_amd64.s")
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			if needs, ok := strings.CutPrefix(line, "// Requires: "); ok {
				for _, bad := range []string{"AVX512", "BMI"} {
					require.NotContains(t, needs, bad)
				}
			}
		}
	}
}

// Fetch only asks: beyond the end of what is mapped too.
func TestFetchChangesNothing(t *testing.T) {
	eachVec(t, func(t *testing.T, v *Vec) {
		b := bytes.Repeat([]byte{0x5a}, 1<<12)
		for _, n := range []int{-1, 0, 1, 63, 64, 255, 256, 257, 1 << 12, 1 << 16} {
			v.Fetch(unsafe.Pointer(&b[0]), n)
		}
		require.Equal(t, bytes.Repeat([]byte{0x5a}, 1<<12), b)
	})
}
