package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"jns/compiler"
	"jns/format"
)

// TestRootDigestsOfTheTinyModelsAreThoseRecorded pins the bytes of containers. When it fails on purpose, raise compiler.OutputRevision and run
// make golden.
func TestRootDigestsOfTheTinyModelsAreThoseRecorded(t *testing.T) {
	golden := filepath.Join(tinyDir, "jns.digest")
	var b strings.Builder
	fmt.Fprintf(&b, "# Root digests of the containers of output revision %d: digest, model, target.\n", compiler.OutputRevision)
	for _, model := range []string{"jns-tiny", "jns-tiny-moe"} {
		for _, target := range []string{"portable", "x86-64-v4", "arm64-i8mm"} {
			rep, err := compiler.Compile(context.Background(), compiler.Options{
				Source: filepath.Join(tinyDir, model+".gguf"), Output: filepath.Join(t.TempDir(), "m.jns"), Target: target,
			})
			require.NoError(t, err)
			fmt.Fprintf(&b, "%x  %s  %s\n", rep.Root, model, target)
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o666))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "the bytes of containers have changed: raise OutputRevision, then make golden")
}

// compileAndSignal starts a compilation and sends it a signal after a while. It reports whether the container is there.
func compileAndSignal(t *testing.T, sig os.Signal, after time.Duration) (dir string, there bool) {
	dir = t.TempDir()
	model, err := filepath.Abs(filepath.Join(tinyDir, "jns-tiny-moe.gguf"))
	require.NoError(t, err)
	cmd := exec.Command("jnsc", "compile", model, "-o", "m.jns")
	cmd.Dir = dir
	require.NoError(t, cmd.Start())
	time.Sleep(after)
	_ = cmd.Process.Signal(sig) // it may have ended
	_ = cmd.Wait()
	out := filepath.Join(dir, "m.jns")
	b, err := os.ReadFile(out)
	if os.IsNotExist(err) {
		return dir, false
	}
	require.NoError(t, err)
	_, err = format.Verify(context.Background(), strings.NewReader(string(b)), int64(len(b)), format.VerifyOptions{})
	require.NoError(t, err, "killed after %v", after)
	return dir, true
}

func TestAKilledCompilationLeavesNoFileUnderTheTargetsName(t *testing.T) {
	complete := 0
	const tries = 24
	for i := range tries {
		// compileAndSignal fails the test when what is there is not whole.
		if _, there := compileAndSignal(t, os.Kill, time.Duration(i)*4*time.Millisecond); there {
			complete++
		}
	}
	t.Logf("%d of %d were done before they were killed", complete, tries)
}

func TestAnInterruptedCompilationLeavesNothing(t *testing.T) {
	for i := range 12 {
		// A process that has not yet begun to listen for signals dies like a killed one, before it writes anything.
		dir, there := compileAndSignal(t, syscall.SIGINT, time.Duration(i)*6*time.Millisecond)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		if there {
			require.Len(t, left, 1)
			continue
		}
		require.Empty(t, left)
	}
}

func TestWhatAKilledCompilationLeavesIsRemovedByTheNext(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m.jns.partial"), make([]byte, 12345), 0o666))
	model, err := filepath.Abs(filepath.Join(tinyDir, "jns-tiny.gguf"))
	require.NoError(t, err)
	cmd := exec.Command("jnsc", "compile", model, "-o", "m.jns")
	cmd.Dir = dir
	require.NoError(t, cmd.Run())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, "m.jns", left[0].Name())
}

func TestEveryVerbHasJSONAndHelp(t *testing.T) {
	for _, v := range root().Commands {
		require.NotEmpty(t, v.Usage, v.Name)
		require.NotEmpty(t, v.Description, v.Name)
		has := false
		for _, f := range v.Flags {
			has = has || f.Names()[0] == "json"
		}
		require.True(t, has, "%s has no --json", v.Name)
	}
}

func TestDocumentsAreOneValidJSONValue(t *testing.T) {
	dir := t.TempDir()
	model, err := filepath.Abs(filepath.Join(tinyDir, "jns-tiny-moe.gguf"))
	require.NoError(t, err)
	for _, args := range [][]string{
		{"compile", model, "-o", "m.jns"}, {"inspect", "m.jns"}, {"explain", "m.jns"}, {"explain", model}, {"verify", "m.jns"}, {"restore", "m.jns"},
		{"dump", "m.jns"}, {"diff", "m.jns", "m.jns"}, {"targets"},
	} {
		cmd := exec.Command("jnsc", append(args, "--json")...)
		cmd.Dir = dir
		out, err := cmd.Output()
		require.NoError(t, err, args)
		var doc map[string]any
		require.NoError(t, json.Unmarshal(out, &doc), args)
		require.NotEmpty(t, doc)
	}
}
