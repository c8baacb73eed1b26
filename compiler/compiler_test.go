package compiler

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler/internal/gguf"
	"jns/compiler/internal/gguf/gguftest"
	"jns/format"
)

var update = flag.Bool("update", false, "rewrite golden files")

func compile(t *testing.T, opt Options) *Report {
	t.Helper()
	if opt.Output == "" {
		opt.Output = filepath.Join(t.TempDir(), "model.jns")
	}
	rep, err := Compile(context.Background(), opt)
	require.NoError(t, err)
	return rep
}

// roundTrip compiles, verifies against the source, and restores.
func roundTrip(t *testing.T, opt Options) *Report {
	t.Helper()
	rep := compile(t, opt)
	_, err := Verify(context.Background(), VerifyOptions{Container: rep.Output, Against: opt.Source})
	require.NoError(t, err)
	done, err := Restore(context.Background(), RestoreOptions{Container: rep.Output, Output: t.TempDir()})
	require.NoError(t, err)
	require.Len(t, done, len(rep.Source))
	for i, d := range done {
		want, err := os.ReadFile(rep.Source[i])
		require.NoError(t, err)
		have, err := os.ReadFile(d.Path)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, have), "%s restores differently", rep.Source[i])
	}
	return rep
}

func TestEveryArchitectureCompilesVerifiesAndRestores(t *testing.T) {
	for name, m := range allModels() {
		for _, target := range []string{"x86-64-v4", "portable"} {
			t.Run(name+"/"+target, func(t *testing.T) {
				roundTrip(t, Options{Source: write(t, m.file()), Target: target})
			})
		}
	}
}

func TestEveryTypeRestores(t *testing.T) {
	for typ := gguf.Type(0); typ < 64; typ++ {
		block, _, ok := typ.Block()
		switch typ {
		case gguf.TypeI8, gguf.TypeI16, gguf.TypeI32, gguf.TypeI64, gguf.TypeF64, gguf.TypeQ8_1, gguf.TypeQ8_K:
			continue
		}
		if !ok {
			continue
		}
		t.Run(typ.String(), func(t *testing.T) {
			m := small("llama")
			m.embed, m.ff, m.head, m.layers = max(block, 128), max(block, 128), max(block/4, 32), 1
			m.weights = []gguf.Type{typ}
			roundTrip(t, Options{Source: write(t, m.file())})
		})
	}
}

func TestSharedModelsCompileVerifyAndRestore(t *testing.T) {
	dir := sharedDir(t)
	known := map[string]bool{}
	for _, a := range Architectures() {
		known[a] = true
	}
	for _, pattern := range []string{"tiny/*.gguf", "models/*/*.gguf", "archs/*.gguf"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		require.NoError(t, err)
		for _, p := range found {
			t.Run(filepath.Base(p), func(t *testing.T) {
				set, err := gguf.Open(p)
				require.NoError(t, err)
				name, _, _ := set.Str("general.architecture")
				require.NoError(t, set.Close())
				if !known[name] {
					_, err := Explain(Options{Source: p})
					require.ErrorIs(t, err, ErrUnsupported)
					require.ErrorContains(t, err, name)
					return
				}
				roundTrip(t, Options{Source: p})
			})
		}
	}
}

func TestSplitSetsCompileFromAnyPart(t *testing.T) {
	parts := gguftest.WriteParts(t, t.TempDir(), "model", gguftest.Split(small("qwen2").file(), 3))
	first := roundTrip(t, Options{Source: parts[0]})
	last := roundTrip(t, Options{Source: parts[2]})
	require.Equal(t, first.Root, last.Root)
	require.Len(t, first.Source, 3)
}

func TestBytesThatBelongToNoTensorAreRestored(t *testing.T) {
	m := small("llama")
	f := m.file()
	f.Set("general.alignment", uint32(256))
	f.Tail = append(bytes.Repeat([]byte{0}, 100000), "trailing bytes"...)
	roundTrip(t, Options{Source: write(t, f)})
	f.Version = 2
	f.Tail = nil
	f.NoEndPad = true
	roundTrip(t, Options{Source: write(t, f)})
}

func TestCompileIsReproducible(t *testing.T) {
	for name, m := range allModels() {
		t.Run(name, func(t *testing.T) {
			src := write(t, m.file())
			one := compile(t, Options{Source: src})
			want, err := os.ReadFile(one.Output)
			require.NoError(t, err)

			old := runtime.GOMAXPROCS(1)
			t.Cleanup(func() { runtime.GOMAXPROCS(old) })
			t.Setenv("TZ", "Pacific/Chatham")
			other := filepath.Join(t.TempDir(), "elsewhere", "other name.gguf")
			require.NoError(t, os.MkdirAll(filepath.Dir(other), 0o777))
			b, err := os.ReadFile(src)
			require.NoError(t, err)
			gguftest.WriteBytes(t, other, b)
			two := compile(t, Options{Source: other})
			runtime.GOMAXPROCS(8)
			three := compile(t, Options{Source: other, Workers: 8})
			for _, r := range []*Report{two, three} {
				have, err := os.ReadFile(r.Output)
				require.NoError(t, err)
				require.True(t, bytes.Equal(want, have), "containers differ")
			}
		})
	}
}

func TestContainersOfTheEmbeddedModelsArePinned(t *testing.T) {
	models := tinyModels(t)
	if len(models) == 0 {
		t.Skip("no embedded models")
	}
	for _, p := range models {
		t.Run(filepath.Base(p), func(t *testing.T) {
			rep := roundTrip(t, Options{Source: p})
			golden(t, "roots/"+filepath.Base(p)+".txt", fmt.Sprintf("revision %d\n%x\n", OutputRevision, rep.Root))
		})
	}
}

// golden compares text with testdata/name; -update rewrites it. A change of bytes that users' containers would see needs a
// higher OutputRevision.
func golden(t *testing.T, name, have string) {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte(have), 0o666))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run with -update")
	require.Equal(t, string(want), have, "if this is meant, raise OutputRevision and run with -update")
}

func TestPlansAndProgramsAreAsPinned(t *testing.T) {
	for name, m := range allModels() {
		t.Run(name, func(t *testing.T) {
			ex, err := Explain(Options{Source: write(t, m.file())})
			require.NoError(t, err)
			var b strings.Builder
			require.NoError(t, ex.Text(&b))
			for _, s := range ex.Sections {
				fmt.Fprintf(&b, "section %-10s %8d bytes at %d\n", s.Kind, s.Length, s.Offset)
			}
			golden(t, "plans/"+name+".txt", b.String())
		})
	}
}

func TestVerifyNoticesEveryFlippedByte(t *testing.T) {
	rep := compile(t, Options{Source: write(t, small("llama").file())})
	whole, err := os.ReadFile(rep.Output)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "bad.jns")
	step := len(whole)/199 + 1
	for at := 0; at < len(whole); at += step {
		bad := bytes.Clone(whole)
		bad[at] ^= 0x10
		require.NoError(t, os.WriteFile(path, bad, 0o666))
		_, err := Verify(context.Background(), VerifyOptions{Container: path})
		require.ErrorIs(t, err, ErrVerify, "byte %d", at)
		require.ErrorContains(t, err, path)
	}
	for _, n := range []int{0, 1, 4095, len(whole) / 2, len(whole) - 1} {
		require.NoError(t, os.WriteFile(path, whole[:n], 0o666))
		_, err := Verify(context.Background(), VerifyOptions{Container: path})
		require.Error(t, err, "cut to %d bytes", n)
	}
}

func TestVerifyAgainstAnotherModelFails(t *testing.T) {
	m := small("llama")
	rep := compile(t, Options{Source: write(t, m.file())})
	f := m.file()
	f.Tensors[0].Seed++
	_, err := Verify(context.Background(), VerifyOptions{Container: rep.Output, Against: write(t, f)})
	require.ErrorIs(t, err, ErrVerify)
	require.ErrorContains(t, err, "SHA-256")
}

// TestVerifyRefusesWhatTheSourceDoesNotLeadTo makes containers whose digests are all right, and that say something which the source does not.
func TestVerifyRefusesWhatTheSourceDoesNotLeadTo(t *testing.T) {
	src := write(t, small("llama").file())
	for _, c := range []struct {
		forge func(d *format.Draft)
		says  string
	}{
		{func(d *format.Draft) { d.Program.Ops[0].Params.(*format.RowsParams).Scale = 2 }, "section program is not what the source leads to"},
		{func(d *format.Draft) { d.Template = []byte("{{ messages }}") }, "section template is not what the source leads to"},
		{func(d *format.Draft) { d.Model.Name = "a better one" }, `the model is said to be "a better one"`},
		{func(d *format.Draft) { d.Model.Context *= 2 }, "context 1024"},
		{func(d *format.Draft) { d.Model.Params++ }, "parameters"},
		{func(d *format.Draft) {
			d.Model.Facts = append([]format.Fact{}, d.Model.Facts...)
			d.Model.Facts[0].Value = "public domain"
		}, "facts"},
		{func(d *format.Draft) { d.Model.Facts = d.Model.Facts[1:] }, "facts"},
		{func(d *format.Draft) { d.TunedFor = "something-else" }, "tuned for"},
	} {
		b := &build{opt: Options{Source: src}}
		require.NoError(t, b.inventory())
		require.NoError(t, b.lower())
		require.NoError(t, b.plan())
		c.forge(b.laid.Draft)
		var err error
		b.laid, err = format.Lay(b.laid.Draft)
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "forged.jns")
		out, err := createOutput(path, b.set)
		require.NoError(t, err)
		require.NoError(t, b.pack(context.Background(), out.f))
		require.NoError(t, b.seal(context.Background(), out.f))
		require.NoError(t, out.commit())
		require.NoError(t, b.set.Close())
		_, err = Verify(context.Background(), VerifyOptions{Container: path})
		require.ErrorIs(t, err, ErrVerify, c.says)
		require.ErrorContains(t, err, c.says)
	}
}

// TestRowsThatFillUpATileAreZero makes a container whose digests are all right, with bytes in the rows behind a matrix's last.
func TestRowsThatFillUpATileAreZero(t *testing.T) {
	m := small("llama") // 37 rows of token_embd.weight in tiles of 16
	b := &build{opt: Options{Source: write(t, m.file())}}
	require.NoError(t, b.inventory())
	defer b.set.Close()
	require.NoError(t, b.lower())
	require.NoError(t, b.plan())
	path := filepath.Join(t.TempDir(), "padded.jns")
	out, err := createOutput(path, b.set)
	require.NoError(t, err)
	require.NoError(t, b.pack(context.Background(), out.f))
	d := b.laid.Draft
	i := slices.IndexFunc(d.Tensors, func(x format.Tensor) bool { return x.Name == "token_embd.weight" })
	x, l := &d.Tensors[i], b.tiles.Layouts[i]
	require.Equal(t, []uint64{37, 16, 1}, []uint64{x.Rows, uint64(x.TileRows), uint64(x.Slots)})
	last := int64(d.Slots[x.FirstSlot].Offset + x.SlotOffset + 2*x.TileRowBytes)
	packed := make([]byte, x.TileRowBytes)
	_, err = out.f.ReadAt(packed, last)
	require.NoError(t, err)
	rows := make([]byte, 16*l.Codec.RowBytes(int(x.Cols)))
	l.Unpack(rows, packed, int(x.Cols))
	rows[len(rows)-1] = 1
	l.Pack(packed, rows, int(x.Cols))
	_, err = out.f.WriteAt(packed, last)
	require.NoError(t, err)
	require.NoError(t, b.seal(context.Background(), out.f))
	require.NoError(t, out.commit())
	_, err = Verify(context.Background(), VerifyOptions{Container: path})
	require.ErrorIs(t, err, ErrVerify)
	require.ErrorContains(t, err, fmt.Sprintf("the rows that fill up the tile at offset %d of the file are not zero", last))
	_, err = Restore(context.Background(), RestoreOptions{Container: path, Output: t.TempDir()})
	require.ErrorIs(t, err, format.ErrCorrupt)
}

func TestRestoreOfADamagedContainerLeavesNothing(t *testing.T) {
	rep := compile(t, Options{Source: write(t, small("llama").file())})
	b, err := os.ReadFile(rep.Output)
	require.NoError(t, err)
	for _, s := range rep.Sections {
		if s.Kind == format.SectionLayers {
			b[s.Offset+s.Length/2] ^= 1
		}
	}
	require.NoError(t, os.WriteFile(rep.Output, b, 0o666))
	dir := t.TempDir()
	_, err = Restore(context.Background(), RestoreOptions{Container: rep.Output, Output: dir})
	require.ErrorIs(t, err, ErrMismatch)
	require.Empty(t, entries(t, dir))
}
