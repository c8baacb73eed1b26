package tile

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func iqLayouts(t *testing.T) []*Layout {
	types := []Type{IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S}
	var ls []*Layout
	seen := map[Type]bool{}
	for _, l := range layouts {
		if l.Rows == Rows16 && slices.Contains(types, l.Type) {
			ls = append(ls, l)
			seen[l.Type] = true
		}
	}
	require.Len(t, seen, len(types))
	return ls
}

func TestPointsOfABookAreDistinct(t *testing.T) {
	for _, b := range []*Book{BookIQ1, BookIQ2XXS, BookIQ2XS, BookIQ2S, BookIQ3XXS, BookIQ3S} {
		for i, p := range b.Points {
			require.Equal(t, uint16(i), b.find(p))
		}
	}
}

func TestCodeBookLayoutsKeepEveryBytePattern(t *testing.T) {
	for _, l := range iqLayouts(t) {
		t.Run(l.Name, func(t *testing.T) {
			size := l.Codec.Bytes
			for _, nb := range []int{1, 2, 3, 5, 40} {
				cols := nb * 256
				src := randomBytes(uint64(nb), Rows16*nb*size)
				if nb == 3 {
					for i := range src {
						src[i] = []byte{0, 0xff, 0x80, 0x7f, 1}[int(src[i])%5]
					}
				}
				n := l.RowBytes(cols)
				require.Zero(t, n%64)
				// A byte that Pack leaves alone differs.
				ones, zero := bytes.Repeat([]byte{0xff}, n+64), make([]byte, n+64)
				l.Pack(ones[:n], src, cols)
				l.Pack(zero[:n], src, cols)
				require.Equal(t, zero[:n], ones[:n])
				require.Equal(t, bytes.Repeat([]byte{0xff}, 64), ones[n:])

				got := bytes.Repeat([]byte{0xff}, len(src))
				l.Unpack(got, zero[:n], cols)
				require.True(t, bytes.Equal(src, got), "%d blocks", nb)
				for r := range Rows16 {
					row := bytes.Repeat([]byte{0xff}, nb*size)
					l.Row(row, zero[:n], r, cols)
					require.True(t, bytes.Equal(src[r*nb*size:(r+1)*nb*size], row))
				}
			}
			for _, b := range []byte{0, 0xff} {
				src := bytes.Repeat([]byte{b}, Rows16*size)
				dst, got := make([]byte, l.RowBytes(256)), make([]byte, len(src))
				l.Pack(dst, src, 256)
				l.Unpack(got, dst, 256)
				require.True(t, bytes.Equal(src, got))
			}
		})
	}
}

// A damaged container may hold what no Pack has made.
func TestCodeBookLayoutsUnpackAnything(t *testing.T) {
	for _, l := range iqLayouts(t) {
		for seed := range uint64(20) {
			dst := make([]byte, Rows16*l.Codec.Bytes)
			l.Unpack(dst, randomBytes(seed, l.RowBytes(256)), 256)
		}
	}
}

func TestCrossSignsIsItsOwnInverse(t *testing.T) {
	for e := range 32 {
		l, h, c := e>>3, e>>2&1, e&3
		require.Equal(t, uint32(1)<<(8*c+4*h+l), crossSigns(1<<e))
		require.Equal(t, 4*h+l, IQSign(e>>2))
	}
	for range 1000 {
		v := rand.Uint32()
		require.Equal(t, v, crossSigns(crossSigns(v)))
		require.Equal(t, v&0x0fffffff, someSigns(allSigns(v)))
		require.Equal(t, v, signs2.take(signs2.put(v)))
		require.Equal(t, v, signs3.take(signs3.put(v)))
		require.Equal(t, v&255, gather(spread(v)))
	}
}

func BenchmarkCodeBookPack(b *testing.B) {
	for _, l := range []*Layout{IQ1_Sx16, IQ1_Mx16, IQ2_XXSx16, IQ2_XSx16, IQ2_Sx16, IQ3_XXSx16, IQ3_Sx16} {
		cols := 1024
		src := randomBytes(1, Rows16*l.Codec.RowBytes(cols))
		dst := make([]byte, l.RowBytes(cols))
		b.Run(l.Name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				l.Pack(dst, src, cols)
			}
		})
		b.Run(l.Name+"/unpack", func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				l.Unpack(src, dst, cols)
			}
		})
	}
}
