package gguf_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"jns/compiler/internal/gguf"
	"jns/compiler/internal/gguf/gguftest"
)

func parse(b []byte) (*gguf.File, error) {
	return gguf.Parse(bytes.NewReader(b), int64(len(b)))
}

func TestHostileFilesAreRefusedForTheirReason(t *testing.T) {
	for _, c := range gguftest.Hostile() {
		t.Run(c.Name, func(t *testing.T) {
			_, err := parse(c.Bytes)
			require.ErrorIs(t, err, c.Want)
			require.ErrorContains(t, err, c.Says)
			var place *gguf.Error
			require.ErrorAs(t, err, &place)
			n := 0
			for _, s := range []error{gguf.ErrNotGGUF, gguf.ErrCorrupt, gguf.ErrUnsupported, gguf.ErrMissingPart} {
				if errors.Is(err, s) {
					n++
				}
			}
			require.Equal(t, 1, n, "an error belongs to one group: %v", err)
		})
	}
}

func TestWhatWasWrittenIsWhatIsParsed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := gguftest.Random(rapid.Uint64().Draw(t, "seed"))
		b := want.Bytes()
		f, err := parse(b)
		require.NoError(t, err)
		require.Equal(t, want.Version, f.Version)
		require.EqualValues(t, len(b), f.Size)
		require.Len(t, f.KVs, len(want.KVs))
		for i, kv := range want.KVs {
			require.Equal(t, kv.Key, f.KVs[i].Key)
			require.Equal(t, kv.Value, elements(t, f.KVs[i].Value), kv.Key)
		}
		require.Len(t, f.Tensors, len(want.Tensors))
		for i, w := range want.Tensors {
			g := f.Tensors[i]
			require.Equal(t, w.Name, g.Name)
			require.Equal(t, w.Type, g.Type)
			require.Equal(t, w.Dims, g.Dims)
			require.Zero(t, (g.Offset-f.DataOffset)%f.Alignment)
			blocks := uint64(1)
			for _, d := range w.Dims {
				blocks *= d
			}
			elems, _, _ := w.Type.Block()
			data := gguftest.Data(w.Type, blocks/elems, 0)
			require.EqualValues(t, len(data), g.Size)
		}
	})
}

// elements turns an Array into the slice that was written.
func elements(t require.TestingT, v gguf.Value) any {
	a, ok := v.(gguf.Array)
	if !ok {
		return v
	}
	var out any
	var err error
	switch a.Elem {
	case gguf.KindString:
		out, err = a.Strings()
	case gguf.KindInt32:
		out, err = a.Int32s()
	case gguf.KindFloat32:
		out, err = a.Float32s()
	case gguf.KindBool:
		out, err = a.Bools()
	default:
		t.Errorf("unexpected array of %s", a.Elem)
	}
	require.NoError(t, err)
	return out
}

func TestEveryTruncationIsRefused(t *testing.T) {
	f := gguftest.Small()
	f.Set("tokenizer.ggml.tokens", []string{"a", "b", "longer token"})
	f.Set("tokenizer.ggml.scores", []float32{1, 2, 3})
	b := f.Bytes()
	whole, err := parse(b)
	require.NoError(t, err)
	for n := range int(whole.DataEnd) {
		_, err := parse(b[:n])
		require.Error(t, err, "%d of %d bytes", n, len(b))
		if n >= 4 {
			require.ErrorIs(t, err, gguf.ErrCorrupt, "%d of %d bytes", n, len(b))
		}
	}
}

func TestBytesAfterTheLastTensorAreKeptOutOfIt(t *testing.T) {
	f := gguftest.Small()
	end := len(f.Bytes())
	f.Tail = []byte("trailing bytes of some tool")
	g, err := parse(f.Bytes())
	require.NoError(t, err)
	require.LessOrEqual(t, g.DataEnd, uint64(end))
	require.EqualValues(t, end+len(f.Tail), g.Size)
}

func TestGapsBetweenTensorsAndAnyOrderAreAccepted(t *testing.T) {
	f := gguftest.Small()
	f.Tensors[0].Data = make([]byte, 512)
	f.Tensors[0].Offset = gguftest.P(uint64(256))
	f.Tensors[1].Offset = gguftest.P(uint64(0))
	g, err := parse(f.Bytes())
	require.NoError(t, err)
	require.Equal(t, g.DataOffset, g.Tensors[1].Offset)
	require.Equal(t, g.DataOffset+256+128, g.DataEnd)
}

func TestEveryUnsupportedTensorIsListed(t *testing.T) {
	f := gguftest.Small()
	f.Tensors[0].Type, f.Tensors[1].Type = 5, 105
	_, err := parse(f.Bytes())
	var list *gguf.UnsupportedTypesError
	require.ErrorAs(t, err, &list)
	require.Equal(t, []gguf.UnsupportedTensor{{Name: "token_embd.weight", Type: 5}, {Name: "output.weight", Type: 105}}, list.Tensors)
	require.ErrorContains(t, err, "Q4_3")
	require.ErrorContains(t, err, "type 105")
}

func TestLongListsOfUnsupportedTensorsAreCut(t *testing.T) {
	f := gguftest.File{}
	for i := range 500 {
		f.Tensors = append(f.Tensors, gguftest.Tensor{Name: fmt.Sprint("t", i), Type: 99, Dims: []uint64{1}})
	}
	_, err := parse(f.Bytes())
	require.ErrorContains(t, err, "500 tensors")
	require.Less(t, len(err.Error()), 4000)
}

func TestCorruptRowsOutrankUnsupportedOnes(t *testing.T) {
	f := gguftest.Small()
	f.Tensors[0].Type = 105
	f.Tensors[1].Dims = []uint64{32, 0}
	_, err := parse(f.Bytes())
	require.ErrorIs(t, err, gguf.ErrCorrupt)
}

func TestGettersTellAbsentFromWrong(t *testing.T) {
	f := gguftest.File{}
	f.Set("u", uint16(7))
	f.Set("neg", int32(-7))
	f.Set("big", uint64(math.MaxUint64))
	f.Set("f", float32(1.5))
	f.Set("d", float64(2.5))
	f.Set("s", "text")
	f.Set("b", true)
	f.Set("a", []int32{1, 2})
	g, err := parse(f.Bytes())
	require.NoError(t, err)

	_, ok, err := g.Uint("absent")
	require.False(t, ok)
	require.NoError(t, err)
	u, ok, err := g.Uint("u")
	require.NoError(t, err)
	require.True(t, ok)
	require.EqualValues(t, 7, u)
	u, _, err = g.Uint("big")
	require.NoError(t, err)
	require.EqualValues(t, uint64(math.MaxUint64), u)
	i, _, err := g.Int("neg")
	require.NoError(t, err)
	require.EqualValues(t, -7, i)
	for _, key := range []string{"f", "d"} {
		v, ok, err := g.Float(key)
		require.NoError(t, err)
		require.True(t, ok)
		require.NotZero(t, v)
	}
	b, _, err := g.Bool("b")
	require.NoError(t, err)
	require.True(t, b)

	for _, wrong := range []func() (bool, error){
		func() (bool, error) { _, ok, err := g.Uint("neg"); return ok, err },
		func() (bool, error) { _, ok, err := g.Uint("s"); return ok, err },
		func() (bool, error) { _, ok, err := g.Uint("b"); return ok, err },
		func() (bool, error) { _, ok, err := g.Int("big"); return ok, err },
		func() (bool, error) { _, ok, err := g.Float("u"); return ok, err },
		func() (bool, error) { _, ok, err := g.Str("u"); return ok, err },
		func() (bool, error) { _, ok, err := g.Bool("u"); return ok, err },
		func() (bool, error) { _, ok, err := g.Array("s"); return ok, err },
	} {
		ok, err := wrong()
		require.True(t, ok)
		require.ErrorIs(t, err, gguf.ErrCorrupt)
	}
	_, _, err = g.Str("a")
	require.ErrorContains(t, err, `"a"`)
	require.ErrorContains(t, err, "array of int32")
	require.ErrorContains(t, err, "string")
}

func TestArraysConvertOnlyWhereExact(t *testing.T) {
	f := gguftest.File{}
	f.Set("u8", []uint8{0, 255})
	f.Set("i8", []int8{-128, 127})
	f.Set("i16", []int16{-3, 3})
	f.Set("u64", []uint64{1, math.MaxUint64})
	f.Set("i64", []int64{math.MinInt64, 5})
	f.Set("f64", []float64{0.5, 0.1})
	f.Set("half", []float64{0.5})
	f.Set("badbool", gguftest.Raw{Kind: 9, Bytes: append([]byte{7, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0}, 1, 2)})
	g, err := parse(f.Bytes())
	require.NoError(t, err)
	arr := func(key string) gguf.Array {
		a, ok, err := g.Array(key)
		require.NoError(t, err)
		require.True(t, ok)
		return a
	}
	i32, err := arr("u8").Int32s()
	require.NoError(t, err)
	require.Equal(t, []int32{0, 255}, i32)
	i64, err := arr("i8").Int64s()
	require.NoError(t, err)
	require.Equal(t, []int64{-128, 127}, i64)
	u64, err := arr("u64").Uint64s()
	require.NoError(t, err)
	require.Equal(t, []uint64{1, math.MaxUint64}, u64)
	f32, err := arr("half").Float32s()
	require.NoError(t, err)
	require.Equal(t, []float32{0.5}, f32)
	f64, err := arr("f64").Float64s()
	require.NoError(t, err)
	require.Equal(t, []float64{0.5, 0.1}, f64)

	for name, wrong := range map[string]func() error{
		"negative as uint32":       func() error { _, err := arr("i16").Uint32s(); return err },
		"uint64 as int64":          func() error { _, err := arr("u64").Int64s(); return err },
		"int64 as int32":           func() error { _, err := arr("i64").Int32s(); return err },
		"255 as uint8 is fine, -3": func() error { _, err := arr("i16").Uint8s(); return err },
		"0.1 as float32":           func() error { _, err := arr("f64").Float32s(); return err },
		"uint8 as float32":         func() error { _, err := arr("u8").Float32s(); return err },
		"float64 as int32":         func() error { _, err := arr("half").Int32s(); return err },
		"uint8 as string":          func() error { _, err := arr("u8").Strings(); return err },
		"uint8 as bool":            func() error { _, err := arr("u8").Bools(); return err },
		"bool that is 2":           func() error { _, err := arr("badbool").Bools(); return err },
	} {
		require.ErrorIs(t, wrong(), gguf.ErrCorrupt, name)
	}
	_, err = arr("u8").Float32s()
	require.ErrorContains(t, err, `"u8"`)
	require.ErrorContains(t, err, "array of uint8")
}

// A file whose size was misreported must not bring allocations of the size it claims.
func TestAReaderShorterThanPromisedCostsLittle(t *testing.T) {
	f := gguftest.File{}
	f.Set("s", gguftest.Raw{Kind: 8, Bytes: []byte{0, 0, 0, 0x30, 0, 0, 0, 0}}) // 768 MiB
	b := f.Bytes()
	spent := allocated(func() {
		_, err := gguf.Parse(bytes.NewReader(b), 1<<40)
		require.ErrorIs(t, err, gguf.ErrCorrupt)
	})
	require.Less(t, spent, uint64(4<<20))
}

func TestAnErrorOfTheDiskIsNotCalledCorruption(t *testing.T) {
	f := gguftest.Small()
	f.Set("pad", strings.Repeat("x", 1<<20))
	b := f.Bytes()
	broken := errors.New("device error")
	for _, at := range []int64{0, 600, 300 << 10} {
		_, err := gguf.Parse(failingReader{bytes.NewReader(b), at, broken}, int64(len(b)))
		require.ErrorIs(t, err, broken)
		require.NotErrorIs(t, err, gguf.ErrCorrupt)
	}
}

type failingReader struct {
	io.ReaderAt
	at  int64
	err error
}

func (r failingReader) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > r.at {
		return 0, r.err
	}
	return r.ReaderAt.ReadAt(p, off)
}

func TestAVocabularyOf262kTokensParsesInAHundredMilliseconds(t *testing.T) {
	tokens := make([]string, 262144)
	for i := range tokens {
		tokens[i] = fmt.Sprintf("token-%d", i)
	}
	f := gguftest.Small()
	f.Set("tokenizer.ggml.tokens", tokens)
	f.Set("tokenizer.ggml.scores", make([]float32, len(tokens)))
	b := f.Bytes()
	best := time.Hour
	for range 5 { // the best of five: the machine has other work
		start := time.Now()
		g, err := parse(b)
		require.NoError(t, err)
		a, _, _ := g.Array("tokenizer.ggml.tokens")
		got, err := a.Strings()
		require.NoError(t, err)
		best = min(best, time.Since(start))
		require.Equal(t, tokens[262143], got[262143])
	}
	require.Less(t, best, 100*time.Millisecond)
}

// allocated is the bytes allocated by f, garbage included.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
