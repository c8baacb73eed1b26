package tile

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// blockValue is what element i of a decoded block stands for.
func blockValue(c *Codec, b *Block, i int) float32 {
	v := float32(b.Scale[i/c.Group] * float32(b.Code[i]))
	if c.OffGroup != 0 {
		v += b.Off[i/c.OffGroup]
	}
	return v
}

type dequantised struct {
	codec  *Codec
	blocks []byte
	values []float32
}

// fixture reads testdata/dequant.bin.gz (see testdata/README.md).
func fixture(t *testing.T) []dequantised {
	f, err := os.Open("testdata/dequant.bin.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	raw, err := io.ReadAll(z)
	require.NoError(t, err)
	var all []dequantised
	for len(raw) > 0 {
		typ, n, elems := binary.LittleEndian.Uint32(raw), int(binary.LittleEndian.Uint32(raw[4:])), int(binary.LittleEndian.Uint32(raw[8:]))
		raw = raw[12:]
		c, ok := CodecFor(Type(typ))
		require.True(t, ok, typ)
		require.Equal(t, elems, c.Elems, c.Name)
		d := dequantised{codec: c, blocks: raw[:n*c.Bytes], values: make([]float32, n*elems)}
		raw = raw[n*c.Bytes:]
		for i := range d.values {
			d.values[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
		raw = raw[4*len(d.values):]
		all = append(all, d)
	}
	return all
}

func TestEveryCodecGivesTheValuesOfThePythonPackage(t *testing.T) {
	seen := map[Type]bool{}
	for _, d := range fixture(t) {
		seen[d.codec.Type] = true
		t.Run(d.codec.Name, func(t *testing.T) {
			c := d.codec
			got := make([]float32, len(d.values))
			if c.Float() {
				c.Floats(got, d.blocks)
			} else {
				var b Block
				for i := range len(got) / c.Elems {
					c.Decode(&b, d.blocks[i*c.Bytes:(i+1)*c.Bytes])
					for j := range c.Elems {
						got[i*c.Elems+j] = blockValue(c, &b, j)
					}
				}
			}
			for i := range got {
				// Codes have no minus zero; every other value has the same bits.
				if got[i] != 0 || d.values[i] != 0 {
					require.Equal(t, math.Float32bits(d.values[i]), math.Float32bits(got[i]), "block %d element %d: want %g got %g",
						i/c.Elems, i%c.Elems, d.values[i], got[i])
				}
			}
		})
	}
	for _, c := range Codecs() {
		require.True(t, seen[c.Type], "%s has no values in the fixture", c.Name)
	}
}

func TestCodeBooksArePinned(t *testing.T) {
	for name, c := range map[string]struct {
		points []int8
		div    int8
		sum    string
	}{
		"IQ2_XXS": {pointsIQ2XXS, 1, "05826b5d3e472a3a78f196be62ac78acf81df0f909626e12ab9fa2a5d490dd54"},
		"IQ2_XS":  {pointsIQ2XS, 1, "06e47aaca60b4dc1d9b5a3f34540437058a6b142b4d7a59d5ded769b4d1bf1de"},
		"IQ2_S":   {pointsIQ2S, 1, "e1aa1473412b0552c2174c30ef22ab4073f6a181b85a17056e8249bd2932fd88"},
		"IQ3_XXS": {pointsIQ3XXS, 1, "46e35f5a997efdee6c99ce57854c8a0d4f0ff8ca57e5e8a60c0793ea580acf5d"},
		"IQ3_S":   {pointsIQ3S, 1, "bd1af4945a1717c65610b0284e4628b9a1ba3b306fae3a06f6e5f597356e349f"},
		"IQ1":     {pointsIQ1, 8, "07540ffc1aeaf6ad4d97e96b0fcc765aae39671d4ae4a27bbd0e796fde167c6a"},
	} {
		raw := make([]byte, len(c.points))
		for i, v := range c.points {
			raw[i] = byte(v / c.div)
		}
		sum := sha256.Sum256(raw)
		require.Equal(t, c.sum, hex.EncodeToString(sum[:]), name)
	}
}

func TestCodecsFitTheBlockAndTheActivations(t *testing.T) {
	last := -1
	for _, c := range Codecs() {
		require.Greater(t, int(c.Type), last, "Codecs is sorted")
		last = int(c.Type)
		require.Equal(t, c.Name, c.Type.String())
		if c.Float() {
			require.Nil(t, c.Decode)
			require.Zero(t, c.Group+c.OffGroup)
			require.Equal(t, 1, c.Elems)
			continue
		}
		require.Contains(t, []int{16, 32}, c.Group, c.Name)
		require.Contains(t, []int{0, 16, 32}, c.OffGroup, c.Name)
		require.Zero(t, c.Elems%Q8XElems, c.Name)
		require.LessOrEqual(t, c.Elems, 256, c.Name)
	}
	_, ok := CodecFor(4)
	require.False(t, ok)
	require.Equal(t, "type 4", Type(4).String())
	require.Nil(t, Portable(4))
}

func TestDecodeTakesAnyBytesAndReadsOnlyTheBlock(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range Codecs() {
		if c.Float() {
			continue
		}
		src := make([]byte, c.Bytes)
		for round := range 200 {
			for i := range src {
				switch round {
				case 0:
					src[i] = 0
				case 1:
					src[i] = 0xff // scales are NaN
				case 2:
					src[i] = 0x7c // scales are NaN or large
				default:
					src[i] = byte(r.Uint32())
				}
			}
			before := bytes.Clone(src)
			var a, b Block
			for i := range b.Code {
				b.Code[i] = 77 // what was in the block before must not matter
			}
			c.Decode(&a, src)
			c.Decode(&b, src)
			require.Equal(t, before, src)
			require.Equal(t, a.Code[:c.Elems], b.Code[:c.Elems], c.Name)
			for g := range c.Elems / c.Group {
				requireSameFloat(t, a.Scale[g], b.Scale[g])
			}
		}
		require.Panics(t, func() { c.Decode(new(Block), src[:c.Bytes-1:c.Bytes-1]) }, "%s must not decode a short block", c.Name)
	}
}

func TestInfiniteAndNaNScalesGiveNonFiniteValues(t *testing.T) {
	for _, h := range []uint16{0x7c00, 0xfc00, 0x7e00, 0x7c01} {
		c, _ := CodecFor(Q8_0)
		src := make([]byte, c.Bytes)
		binary.LittleEndian.PutUint16(src, h)
		src[2] = 5
		var b Block
		c.Decode(&b, src)
		v := blockValue(c, &b, 0)
		require.True(t, v-v != 0, "%04x", h)
	}
}

func TestPortableLayoutsKeepTheBytes(t *testing.T) {
	for _, c := range Codecs() {
		l := Portable(c.Type)
		rapid.Check(t, func(t *rapid.T) {
			cols := c.Elems * rapid.IntRange(1, 5).Draw(t, "blocks")
			src := rapid.SliceOfN(rapid.Byte(), c.RowBytes(cols), c.RowBytes(cols)).Draw(t, "src")
			require.Equal(t, len(src), l.RowBytes(cols))
			for _, f := range []func(dst, src []byte){
				func(dst, src []byte) { l.Pack(dst, src, cols) },
				func(dst, src []byte) { l.Unpack(dst, src, cols) },
				func(dst, src []byte) { l.Row(dst, src, 0, cols) },
			} {
				dst := make([]byte, len(src)+1)
				dst[len(src)] = 0xa5
				f(dst, src)
				require.Equal(t, src, dst[:len(src)])
				require.EqualValues(t, 0xa5, dst[len(src)], "wrote past the row")
			}
		})
	}
}

// TestLayoutIDsArePinned compares every layout with testdata/layouts.txt. A line there never changes; a new layout adds a line.
func TestLayoutIDsArePinned(t *testing.T) {
	var got strings.Builder
	for _, l := range Layouts() {
		fmt.Fprintf(&got, "%#04x %s %s %d rows, %d bytes for 512 columns\n", l.ID, l.Name, l.Codec.Name, l.Rows, l.RowBytes(512))
		byID, ok := ByID(l.ID)
		require.True(t, ok)
		require.Same(t, l, byID)
		byName, ok := ByName(l.Name)
		require.True(t, ok)
		require.Same(t, l, byName)
		require.Equal(t, l.Type, l.Codec.Type)
		require.Equal(t, l.ID&PortableID != 0, l == Portable(l.Type), l.Name)
	}
	want, err := os.ReadFile("testdata/layouts.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), got.String(), "a new layout gets a new line in testdata/layouts.txt; lines there do not change")
	_, ok := ByID(0xffff)
	require.False(t, ok)
	_, ok = ByName("")
	require.False(t, ok)
}

func BenchmarkDecode(b *testing.B) {
	for _, c := range Codecs() {
		if c.Float() {
			continue
		}
		src := make([]byte, c.Bytes)
		for i := range src {
			src[i] = byte(i * 37)
		}
		b.Run(c.Name, func(b *testing.B) {
			b.SetBytes(int64(c.Elems)) // elements, not bytes
			var block Block
			for b.Loop() {
				c.Decode(&block, src)
			}
		})
	}
}
