package routing_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/format/routing"
)

const first = "jns-routing 3\n"

// small is a trace with everything in it: two layers, of two experts and of three.
func small() *routing.Trace {
	return &routing.Trace{
		Root: sha256.Sum256([]byte("a container")),
		Slots: []routing.Slot{
			{Layer: 1, Expert: 0, Length: 4096}, {Layer: 1, Expert: 1, Length: 4096}, {Layer: 4, Expert: 0, Length: 100}, {Layer: 4, Expert: 1, Length: 100}, {Layer: 4, Expert: 2, Length: 1 << 40},
		},
		Turns: []routing.Turn{
			{Rows: 200}, {Slots: []uint32{1, 0}, Count: []int32{200, 3}, Soon: []uint32{3, 3}, Class: []uint8{0, 255}}, {Slots: []uint32{4}, Count: []int32{1}},
			{Rows: 1}, {Slots: []uint32{0}, Count: []int32{1}},
		},
	}
}

func bytesOf(t testing.TB, tr *routing.Trace) []byte {
	var b bytes.Buffer
	require.NoError(t, tr.Write(&b))
	return b.Bytes()
}

// summed puts the sum behind what stands before it.
func summed(b []byte) []byte {
	sum := sha256.Sum256(b)
	return append(bytes.Clone(b), sum[:]...)
}

func read(b []byte) (*routing.Trace, error) { return routing.Read(bytes.NewReader(b)) }

func TestATraceIsReadAsItWasWritten(t *testing.T) {
	want := small()
	b := bytesOf(t, want)
	got, err := read(b)
	require.NoError(t, err)
	require.Equal(t, b[len(b)-32:], got.Sum[:])
	want.Sum = got.Sum
	require.Equal(t, want, got)
	require.Equal(t, b, bytesOf(t, got))
}

func TestEveryCutIsRefusedWithItsPlace(t *testing.T) {
	b := bytesOf(t, small())
	for n := range b {
		_, err := read(b[:n])
		require.ErrorIs(t, err, routing.ErrTrace, "%d bytes", n)
		require.ErrorContains(t, err, "--record-routing", "%d bytes", n)
	}
	_, err := read(b[:20])
	require.ErrorContains(t, err, "ends at byte 20, in the root digest")
	_, err = read(b[:len(b)-40])
	require.ErrorContains(t, err, "in record ")
	_, err = read(b[:len(b)-1])
	require.ErrorContains(t, err, "inside its SHA-256")
	_, err = read(append(bytes.Clone(b), 0))
	require.ErrorContains(t, err, "1 bytes follow its end")
}

func TestEveryChangedBitIsRefused(t *testing.T) {
	b := bytesOf(t, small())
	for i := range b {
		for bit := range 8 {
			wrong := bytes.Clone(b)
			wrong[i] ^= 1 << bit
			_, err := read(wrong)
			require.True(t, errors.Is(err, routing.ErrTrace) || errors.Is(err, routing.ErrVersion), "byte %d bit %d: %v", i, bit, err)
		}
	}
	wrong := bytes.Clone(b)
	wrong[20] ^= 1 // of the root digest: only the sum can tell
	_, err := read(wrong)
	require.ErrorContains(t, err, "it was changed after it was recorded")
}

func TestOtherVersionsAreRefusedByName(t *testing.T) {
	for _, v := range []string{"1", "2", "4", "30"} {
		_, err := read([]byte("jns-routing " + v + "\n\x01\x00\x00"))
		require.ErrorIs(t, err, routing.ErrVersion)
		require.ErrorContains(t, err, `version "`+v+`", this program reads 3`)
		require.ErrorContains(t, err, "record it anew")
	}
	for _, s := range []string{"GGUF", "", "\x89jnsc\r\n\x1a", "jns-hot 1\n"} {
		_, err := read([]byte(s))
		require.ErrorIs(t, err, routing.ErrTrace, s)
		require.NotErrorIs(t, err, routing.ErrVersion)
	}
}

func TestRulesOfTheFile(t *testing.T) {
	head := first + strings.Repeat("r", 32)
	shape := head + "\x02\x01\x02\x10\x10\x04\x01\x10" // layer 1 with two experts, layer 4 with one
	huge := string(binary.AppendUvarint(nil, 1<<63))
	for _, c := range []struct{ bytes, says string }{
		{head + "\x00\x00", "the number of layers"},
		{head + "\x01\x00\x00\x00", "the number of experts"},
		{head + "\x01\x00\x01\x00\x00", "the length of a slot"},
		{head + "\x01" + huge + "\x01\x00", "the number of a layer"},
		{head + "\x02\x04\x01\x10\x01\x01\x10\x00", "layer 1 with 1 experts follows layer 4"},
		{head + "\x01\x80\x00\x01\x10\x00", "more bytes than it needs"},
		{shape + "\x02\x01\x00\x01\x00", "the first record is no pass"},
		{shape + "\x01\x00\x00", "the number of tokens"},
		{shape + "\x04\x00", "the kind of a record"},
		{shape + "\x01\x05\x02\x00\x00", "the number of slots"},
		{shape + "\x01\x05\x02\x01\x03\x01\x00", "a slot is not from 0 to 2"},
		{shape + "\x01\x05\x02\x01\x00\x00\x00", "the number of tokens"},
		{shape + "\x01\x05\x02\x02\x00\x01\x00\x01\x00", "slot 0 twice"},
		{shape + "\x01\x05\x02\x02\x00\x01\x02\x01\x00", "or slots of several layers"},
		{shape + "\x01\x05\x03\x01\x00\x00\x00", "of no turn"},
		{shape + "\x01\x05\x02\x01\x00\x01\x03\x01\x00\x00\x03\x01\x00\x00\x00", "twice of one"},
		{shape + "\x01\x05\x02\x01\x00\x01\x03" + huge + "\x00", "the number of slots"},
	} {
		_, err := read(summed([]byte(c.bytes)))
		require.ErrorIs(t, err, routing.ErrTrace, "%q", c.bytes)
		require.ErrorContains(t, err, c.says, "%q", c.bytes)
		require.ErrorContains(t, err, "byte ", "%q", c.bytes)
	}
	tr, err := read(summed([]byte(shape + "\x01\x05\x02\x01\x00\x01\x00")))
	require.NoError(t, err)
	require.Len(t, tr.Turns, 2)
}

func TestAWriterRefusesWhatNoReaderWouldTake(t *testing.T) {
	s := small().Slots
	for name, f := range map[string]func(w *routing.Writer){
		"turn before a pass": func(w *routing.Writer) { w.Turn([]uint32{0}, []int32{1}) },
		"no tokens":          func(w *routing.Writer) { w.Pass(0) },
		"slot":               func(w *routing.Writer) { w.Pass(1); w.Turn([]uint32{9}, []int32{1}) },
		"layers":             func(w *routing.Writer) { w.Pass(1); w.Turn([]uint32{0, 4}, []int32{1, 1}) },
		"count":              func(w *routing.Writer) { w.Pass(1); w.Turn([]uint32{0}, []int32{0}) },
		"likely":             func(w *routing.Writer) { w.Pass(1); w.Turn([]uint32{0}, []int32{1}); w.Soon([]uint32{9}, []uint8{0}) },
	} {
		w := routing.NewWriter(io.Discard, [32]byte{}, s)
		f(w)
		require.Error(t, w.Close(), name)
	}
	for _, bad := range [][]routing.Slot{nil, {{Layer: 0, Expert: 1, Length: 1}}, {{Layer: 0, Expert: 0, Length: 0}}, {{Layer: 3, Expert: 0, Length: 1}, {Layer: 2, Expert: 0, Length: 1}}} {
		require.ErrorIs(t, routing.NewWriter(io.Discard, [32]byte{}, bad).Close(), routing.ErrTrace)
	}
	require.ErrorIs(t, small().Write(failing{}), io.ErrClosedPipe)
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestRandomTracesComeBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		tr := &routing.Trace{}
		layers := 1 + r.IntN(5)
		for l := range layers {
			for e := range 1 + r.IntN(9) {
				tr.Slots = append(tr.Slots, routing.Slot{Layer: int32(3 * l), Expert: int32(e), Length: 1 + r.Int64N(1<<40)})
			}
		}
		groups, err := routing.Layers(tr.Slots)
		require.NoError(t, err)
		require.Len(t, groups, layers)
		for range r.IntN(20) {
			tr.Turns = append(tr.Turns, routing.Turn{Rows: 1 + r.IntN(300)})
			for _, g := range groups {
				var u routing.Turn
				for _, e := range r.Perm(g.Slots)[:1+r.IntN(g.Slots)] {
					u.Slots, u.Count = append(u.Slots, uint32(g.First+e)), append(u.Count, 1+r.Int32N(300))
				}
				for range r.IntN(4) {
					u.Soon, u.Class = append(u.Soon, r.Uint32N(uint32(len(tr.Slots)))), append(u.Class, uint8(r.UintN(256)))
				}
				tr.Turns = append(tr.Turns, u)
			}
		}
		got, err := read(bytesOf(t, tr))
		require.NoError(t, err)
		require.Equal(t, tr.Turns, got.Turns)
		require.Equal(t, tr.Slots, got.Slots)
	}
}

// FuzzRead: what is accepted is written again byte for byte. The sum is put right, so that the fuzzer gets past it.
func FuzzRead(f *testing.F) {
	b := bytesOf(f, small())
	f.Add(b[:len(b)-32])
	f.Add([]byte(first + strings.Repeat("r", 32) + "\x01\x00\x02\x10\x10\x01\x05\x02\x01\x01\x01\x03\x01\x00\x03\x00"))
	f.Add([]byte("jns-routing 2\n\x02\x00\x00\x10\x00\x01\x10\x00\x05\x02\x01\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, summed(b)} {
			tr, err := read(b)
			if err != nil {
				require.True(t, errors.Is(err, routing.ErrTrace) || errors.Is(err, routing.ErrVersion), err)
				continue
			}
			require.Equal(t, b, bytesOf(t, tr))
		}
	})
}
