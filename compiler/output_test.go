package compiler

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"jns/compiler/internal/gguf"
	"jns/compiler/internal/restore"
	"jns/format"
)

func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestCancelledCompilationLeavesNothing(t *testing.T) {
	src := write(t, small("gemma3").file())
	for _, phase := range []string{"pack", "seal"} {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(context.Background())
		_, err := Compile(ctx, Options{Source: src, Output: filepath.Join(dir, "m.jns"), Progress: func(p Progress) {
			if p.Phase == phase {
				cancel()
			}
		}})
		cancel()
		require.ErrorIs(t, err, context.Canceled, phase)
		require.Empty(t, entries(t, dir), phase)
	}
}

// TestCancelledVerificationSaysSo ends the context before verification and before each of its later steps.
func TestCancelledVerificationSaysSo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jns")
	source := write(t, small("gemma3").file())
	_, err := Compile(context.Background(), Options{Source: source, Output: path})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = Verify(ctx, VerifyOptions{Container: path, Against: source})
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrVerify)

	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	st, err := f.Stat()
	require.NoError(t, err)
	c, err := format.Open(f, st.Size())
	require.NoError(t, err)
	set, err := restore.Source(context.Background(), c)
	require.NoError(t, err)
	v := &verifier{opt: VerifyOptions{Container: path, Against: source}, c: c, set: set, out: &Verified{}}
	for _, step := range []func(context.Context) error{v.tensors, v.rebuild, v.against} {
		require.ErrorIs(t, step(ctx), context.Canceled)
	}
	_, err = restore.Source(ctx, c)
	require.ErrorIs(t, err, context.Canceled)
}

func TestFailedCompilationKeepsTheOldContainer(t *testing.T) {
	src := write(t, small("llama").file())
	out := filepath.Join(t.TempDir(), "m.jns")
	require.NoError(t, os.WriteFile(out, []byte("old"), 0o666))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Compile(ctx, Options{Source: src, Output: out})
	require.Error(t, err)
	b, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, "old", string(b))
	require.Equal(t, []string{"m.jns"}, entries(t, filepath.Dir(out)))
	compile(t, Options{Source: src, Output: out})
	require.Equal(t, []string{"m.jns"}, entries(t, filepath.Dir(out)))
}

func TestPartialFilesOfKilledProcessesAreReplaced(t *testing.T) {
	src := write(t, small("llama").file())
	out := filepath.Join(t.TempDir(), "m.jns")
	want := compile(t, Options{Source: src})
	require.NoError(t, os.WriteFile(out+partialSuffix, make([]byte, 1<<20), 0o666))
	have := compile(t, Options{Source: src, Output: out})
	require.Equal(t, want.Root, have.Root)
	require.Equal(t, []string{"m.jns"}, entries(t, filepath.Dir(out)))
	_, err := Verify(context.Background(), VerifyOptions{Container: out})
	require.NoError(t, err)
}

func TestTwoCompilationsOfOneOutputAreRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files are not locked here")
	}
	src := write(t, small("llama").file())
	out := filepath.Join(t.TempDir(), "m.jns")
	held, err := createOutput(out, nil)
	require.NoError(t, err)
	_, err = Compile(context.Background(), Options{Source: src, Output: out})
	require.ErrorIs(t, err, ErrBusy)
	held.discard()
	compile(t, Options{Source: src, Output: out})
}

func TestTheSourceIsNeverOverwritten(t *testing.T) {
	src := write(t, small("llama").file())
	before, err := os.ReadFile(src)
	require.NoError(t, err)
	_, err = Compile(context.Background(), Options{Source: src, Output: src})
	require.ErrorContains(t, err, "is the source")
	after, err := os.ReadFile(src)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestOutputIsNamedAfterModelAndTarget(t *testing.T) {
	for src, want := range map[string]string{
		"m.gguf":                        "m.zen5.jns",
		"a/b-00002-of-00003.gguf":       "a/b.zen5.jns",
		"a.b/SmolLM2-Q4_1.gguf":         "a.b/SmolLM2-Q4_1.zen5.jns",
		"noextension":                   "noextension.zen5.jns",
		"dir/x-1-of-2.gguf":             "dir/x-1-of-2.zen5.jns",
		"dir/model-00001-of-00001.gguf": "dir/model.zen5.jns",
	} {
		opt := Options{Source: filepath.FromSlash(src), Target: "zen5"}
		target, err := opt.target()
		require.NoError(t, err)
		require.Equal(t, filepath.FromSlash(want), opt.output(target))
	}
}

func TestNativeTargetsAreKnownAndEndWithPortable(t *testing.T) {
	first, err := (&Options{Target: "native"}).target()
	require.NoError(t, err)
	var known []string
	for _, k := range Targets() {
		known = append(known, k.Name)
	}
	fit := Native()
	require.Equal(t, first.Name, fit[0])
	require.Equal(t, "portable", fit[len(fit)-1])
	require.Subset(t, known, fit)
}

// A child process compiles again and again; it is killed at moments spread over its work.
func TestKilledCompilationLeavesNoFileUnderTheTargetName(t *testing.T) {
	if src := os.Getenv("JNS_TEST_COMPILE"); src != "" {
		_, err := Compile(context.Background(), Options{Source: src, Output: os.Getenv("JNS_TEST_OUTPUT")})
		require.NoError(t, err)
		return
	}
	m := small("gemma3")
	m.vocab = 4000
	src := write(t, m.file())
	out := filepath.Join(t.TempDir(), "m.jns")
	for i := range 12 {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestKilledCompilationLeavesNoFileUnderTheTargetName$")
		cmd.Env = append(os.Environ(), "JNS_TEST_COMPILE="+src, "JNS_TEST_OUTPUT="+out)
		require.NoError(t, cmd.Start())
		time.Sleep(time.Duration(i) * 8 * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if _, err := os.Stat(out); err == nil {
			_, err := Verify(context.Background(), VerifyOptions{Container: out, Against: src})
			require.NoError(t, err, "a file under the target name must be whole")
			require.NoError(t, os.Remove(out))
		}
		for _, e := range entries(t, filepath.Dir(out)) {
			require.Equal(t, "m.jns"+partialSuffix, e)
		}
	}
	compile(t, Options{Source: src, Output: out})
	require.Equal(t, []string{"m.jns"}, entries(t, filepath.Dir(out)))
}

func TestASourceThatChangesMeanwhileMakesNoContainer(t *testing.T) {
	src := write(t, small("llama").file())
	dir := t.TempDir()
	st, err := os.Stat(src)
	require.NoError(t, err)
	_, err = Compile(context.Background(), Options{Source: src, Output: filepath.Join(dir, "m.jns"), Progress: func(p Progress) {
		if p.Phase == "pack" {
			f, err := os.OpenFile(src, os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = f.WriteAt([]byte{1}, st.Size()-1)
			require.NoError(t, errors.Join(err, f.Close()))
			require.NoError(t, os.Chtimes(src, time.Time{}, st.ModTime().Add(time.Second))) // whatever the clock of the file system
		}
	}})
	require.ErrorIs(t, err, gguf.ErrChanged)
	require.ErrorContains(t, err, src)
	require.Empty(t, entries(t, dir))
}

func TestThePartialFileIsNeitherTheSourceNorALink(t *testing.T) {
	dir := t.TempDir()
	b, err := os.ReadFile(write(t, small("llama").file()))
	require.NoError(t, err)
	src := filepath.Join(dir, "m.jns.partial")
	require.NoError(t, os.WriteFile(src, b, 0o600))
	_, err = Compile(context.Background(), Options{Source: src, Output: filepath.Join(dir, "m.jns")})
	require.ErrorContains(t, err, "is the source")
	still, err := os.ReadFile(src)
	require.NoError(t, err)
	require.Equal(t, b, still)

	require.NoError(t, os.Symlink(src, filepath.Join(dir, "o.jns")))
	_, err = Compile(context.Background(), Options{Source: src, Output: filepath.Join(dir, "o.jns")})
	require.ErrorContains(t, err, "no regular file")

	victim := filepath.Join(dir, "victim")
	require.NoError(t, os.WriteFile(victim, []byte("precious"), 0o600))
	require.NoError(t, os.Symlink(victim, filepath.Join(dir, "n.jns.partial")))
	_, err = Compile(context.Background(), Options{Source: src, Output: filepath.Join(dir, "n.jns")})
	require.ErrorContains(t, err, "no regular file")
	still, err = os.ReadFile(victim)
	require.NoError(t, err)
	require.Equal(t, "precious", string(still))
}

func TestASourceOfEndlessZerosIsRefused(t *testing.T) {
	src := write(t, small("llama").file())
	require.NoError(t, os.Truncate(src, 1<<42)) // a hole, costs nothing
	dir := t.TempDir()
	start := time.Now()
	_, err := Compile(context.Background(), Options{Source: src, Output: filepath.Join(dir, "m.jns")})
	require.ErrorIs(t, err, gguf.ErrUnsupported)
	require.ErrorContains(t, err, "belong to no tensor")
	require.Less(t, time.Since(start), time.Minute)
	require.Empty(t, entries(t, dir))
}
