package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// An architecture that nobody has heard of and one that is known to be missing end with exit code 4, their name, and what they would need; nothing is written.
func TestUnsupportedArchitecturesEndWithTheirNameAndExitCodeFour(t *testing.T) {
	model, err := os.ReadFile(filepath.Join(tinyDir, "jns-tiny.gguf"))
	require.NoError(t, err)
	key := append([]byte("general.architecture"), 8, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0) // a string of five letters
	at := bytes.Index(model, append(bytes.Clone(key), "llama"...))
	require.Positive(t, at)
	for name, words := range map[string]string{"dream": "fills in a whole text", "hal90": "not known to this compiler"} {
		changed := bytes.Clone(model)
		copy(changed[at+len(key):], name)
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "m.gguf"), changed, 0o600))
		for _, args := range [][]string{{"compile", "m.gguf", "-o", "m.jns"}, {"explain", "m.gguf", "--program"}} {
			cmd := exec.Command("jnsc", args...)
			cmd.Dir = dir
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			var exit *exec.ExitError
			require.True(t, errors.As(cmd.Run(), &exit), name)
			require.Equal(t, 4, exit.ExitCode(), stderr.String())
			require.Contains(t, stderr.String(), name)
			require.Contains(t, stderr.String(), words)
		}
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, left, 1)
	}
}

// explain shows the program alone, as a list or as a graph, one form at a time.
func TestExplainShowsTheProgram(t *testing.T) {
	model := filepath.Join(tinyDir, "jns-tiny.gguf")
	list, err := call("explain", model, "--program")
	require.NoError(t, err)
	require.Contains(t, list, "arena ")
	require.Contains(t, list, "rows       token_embd.weight[")
	graph, err := call("explain", model, "--dot")
	require.NoError(t, err)
	require.Contains(t, graph, "digraph program {")
	for _, two := range [][]string{{"--dot", "--program"}, {"--program", "--roofline"}, {"--dot", "--roofline"}, {"--dot", "--json"}} {
		_, err = call(append([]string{"explain", model}, two...)...)
		require.ErrorContains(t, err, "one form at a time", "%q", two)
	}
}
