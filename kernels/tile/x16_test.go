package tile

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// x16Block gives elements and bytes of a source block, beside the layouts' own tables.
var x16Block = map[string][2]int{
	"q8_0x16": {32, 34}, "q4_0x16": {32, 18}, "q4_1x16": {32, 20}, "q5_0x16": {32, 22}, "q5_1x16": {32, 24},
	"q4_kx16": {256, 144}, "q5_kx16": {256, 176}, "q6_kx16": {256, 210}, "f16x16": {1, 2}, "bf16x16": {1, 2}, "f32x16": {1, 4},
	"q2_kx16": {256, 84}, "q3_kx16": {256, 110}, "iq4_nlx16": {32, 18}, "iq4_xsx16": {256, 136}, "tq1_0x16": {256, 54}, "tq2_0x16": {256, 66},
	"mxfp4x16": {32, 17}, "nvfp4x16": {64, 36}, "q1_0x16": {128, 18}, "q2_0x16": {64, 18},
}

func eachX16(t *testing.T, f func(t *testing.T, l *Layout, elems, size int)) {
	n := 0
	for _, l := range layouts {
		b, ok := x16Block[l.Name]
		if !ok {
			continue
		}
		n++
		t.Run(l.Name, func(t *testing.T) { f(t, l, b[0], b[1]) })
	}
	require.Equal(t, len(x16Block), n)
}

func randomBytes(seed uint64, n int) []byte {
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	b := make([]byte, n)
	_, _ = r.Read(b)
	return b
}

func TestX16UnpackInvertsPackOnRandomBytes(t *testing.T) {
	eachX16(t, func(t *testing.T, l *Layout, elems, size int) {
		for _, nb := range []int{1, 2, 3, 5, 8, 33} {
			cols := nb * elems
			src := randomBytes(uint64(nb), Rows16*nb*size)
			n := l.RowBytes(cols)
			require.Zero(t, n%64)
			require.GreaterOrEqual(t, n, len(src))
			require.Less(t, n, len(src)+128)

			// Over 0xFF and over 0x00: a byte that Pack leaves alone differs.
			ones, zero := bytes.Repeat([]byte{0xff}, n+64), make([]byte, n+64)
			l.Pack(ones[:n], src, cols)
			l.Pack(zero[:n], src, cols)
			require.Equal(t, zero[:n], ones[:n])
			require.Equal(t, bytes.Repeat([]byte{0xff}, 64), ones[n:])

			got := bytes.Repeat([]byte{0xff}, len(src))
			l.Unpack(got, zero[:n], cols)
			require.Equal(t, src, got)
			for r := range Rows16 {
				row := make([]byte, nb*size)
				l.Row(row, zero[:n], r, cols)
				require.Equal(t, src[r*nb*size:(r+1)*nb*size], row)
			}
		}
	})
}

func TestX16BitOrderIsAsDescribed(t *testing.T) {
	for e := range 32 {
		v := transposeBits(1 << e)
		i, j := e%4, e/4
		require.Equal(t, uint32(1)<<(8*i+j), v)
		require.Equal(t, uint32(1)<<e, untransposeBits(v))
	}
}

func TestX16PaddingIsZero(t *testing.T) {
	// One Q8_0 block: 32 bytes of scales, 32 of padding.
	src := bytes.Repeat([]byte{0xff}, Rows16*34)
	dst := make([]byte, Q8_0x16.RowBytes(32))
	Q8_0x16.Pack(dst, src, 32)
	require.Equal(t, make([]byte, 32), dst[32:64])
	require.Equal(t, 64+512, len(dst))
}

func BenchmarkX16Pack(b *testing.B) {
	for _, l := range []*Layout{Q8_0x16, Q4_Kx16, Q5_0x16, F16x16} {
		blk := x16Block[l.Name]
		cols := 1024
		src := randomBytes(1, Rows16*cols/blk[0]*blk[1])
		dst := make([]byte, l.RowBytes(cols))
		b.Run(l.Name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				l.Pack(dst, src, cols)
			}
		})
	}
}

// Where bits change places, an element alone in a block lands where the comment of the layout says.
func TestX16BitsOfQ1_0AndQ2_0LieAsDescribed(t *testing.T) {
	for e := range 128 {
		src := make([]byte, Rows16*18)
		src[2+e>>3] = 1 << (e & 7)
		dst := make([]byte, Q1_0x16.RowBytes(128))
		Q1_0x16.Pack(dst, src, 128)
		j, i, item := e>>5, e&3, e>>2&7
		require.Equal(t, byte(1)<<(2*j+1-item>>2), dst[64+item&3*64+i], "element %d", e)
	}
	for e := range 64 {
		src := make([]byte, Rows16*18)
		src[2+e>>2] = 2 << (e & 3 * 2)
		dst := make([]byte, Q2_0x16.RowBytes(64))
		Q2_0x16.Pack(dst, src, 64)
		j, i, item := e>>5, e&3, e>>2&7
		require.Equal(t, byte(2)<<(4*j+2-item>>2*2), dst[64+item&3*64+i], "element %d", e)
	}
}
