package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	jnscli "jns/cmd/internal/cli"
	"jns/cmd/internal/output"
	"jns/runtime/engine"
)

func TestPoliciesAreNamesWithACommaBetween(t *testing.T) {
	for s, want := range map[string][2]string{"": {}, "big": {"big", ""}, "lru": {"", "lru"}, "big,lru": {"big", "lru"}, " lru , even ": {"even", "lru"}} {
		processors, experts, err := policies(s)
		require.NoError(t, err, "%q", s)
		require.Equal(t, want, [2]string{processors, experts}, "%q", s)
	}
	for _, s := range []string{",", "big,", ",lru", "big,,lru", "big,big", "lru,aged", "big,lru,next", "smallest"} {
		_, _, err := policies(s)
		require.ErrorIs(t, err, jnscli.ErrUsage, "%q", s)
	}
}

// TestNothingIsWrittenOverWhatIsRead: the container, or a trace.
func TestNothingIsWrittenOverWhatIsRead(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.jns")
	b, err := os.ReadFile(container(t, "jns-tiny"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(model, b, 0o600))
	for _, args := range [][]string{
		{"logits", model, "--tokens", "1", "-o", model}, {"bench", model, "-p", "2", "-n", "1", "-r", "1", "-o", model}, {model, "-p", "hi", "--record-routing", model},
		{"stats", model, "-p", "hi", "--record-routing", model},
		{"logits", container(t, "jns-tiny"), "--tokens", "1", "-o", model}, {container(t, "jns-tiny-moe"), "-p", "hi", "--record-routing", model}, // another model
	} {
		code, _ := command(t, args...)
		require.Equal(t, jnscli.ExitUsage, code, "%q", args)
		again, err := os.ReadFile(model)
		require.NoError(t, err)
		require.True(t, bytes.Equal(b, again), "%q", args)
	}
}

// A session and a trace are two files; what cannot be recorded leaves the trace that was there.
func TestATraceGetsItsNameWhenItIsWhole(t *testing.T) {
	model, name := container(t, "jns-tiny-moe"), filepath.Join(t.TempDir(), "f")
	code, _ := command(t, model, "-p", "hi", "--session", name, "--record-routing", name)
	require.Equal(t, jnscli.ExitUsage, code)
	require.NoFileExists(t, name)

	require.NoError(t, os.WriteFile(name, []byte("before"), 0o600))
	code, _ = command(t, model, "-p", "hi", "--record-routing", name)
	require.Equal(t, jnscli.ExitUsage, code, "it fits in memory")
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "before", string(b))

	f := traceFile{name: name}
	_, err = f.Write([]byte("half of it"))
	require.NoError(t, err)
	require.NoError(t, f.close(false))
	b, err = os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "before", string(b))
	require.NoFileExists(t, name+output.Suffix)

	f = traceFile{name: name}
	_, err = f.Write([]byte("all of it"))
	require.NoError(t, err)
	require.NoError(t, f.close(true))
	b, err = os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "all of it", string(b))
}

// A trace that could not hold all of a run is whole, and the user is told that it is not of the whole run.
func TestATraceThatIsFullIsSpokenOfOnce(t *testing.T) {
	for _, full := range []bool{false, true} {
		e, err := engine.Open(container(t, "jns-tiny"), engine.Options{})
		require.NoError(t, err)
		o := &opened{e, &traceFile{name: filepath.Join(t.TempDir(), "f")}, func() bool { return full }}
		_, err = o.trace.Write([]byte("as much as fits"))
		require.NoError(t, err)
		words, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
		require.NoError(t, err)
		old := os.Stderr
		os.Stderr = words
		err = o.Close()
		os.Stderr = old
		require.NoError(t, err)
		require.NoError(t, words.Close())
		b, err := os.ReadFile(words.Name())
		require.NoError(t, err)
		if full {
			require.Equal(t, 1, strings.Count(string(b), "longer than a trace can be"), "%s", b)
		} else {
			require.Empty(t, string(b))
		}
		require.FileExists(t, o.trace.name)
	}
}
