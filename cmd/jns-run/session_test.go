package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	jnscli "jns/cmd/internal/cli"
	"jns/cmd/internal/output"
	"jns/compiler"
)

// TestSessionStories runs testdata/session.txtar and usage.txtar. $TINY is the embedded model, compiled, and $GGUF what it was compiled from.
//
//	wrong CODE ARGUMENTS…  runs jns-run, which must end with that exit code
//	joined A B  appends B to A
//	same A B    compares two answers, or lists of them, but for what --json says of reuse, and ends of lines, which every process writes
func TestSessionStories(t *testing.T) {
	tiny := filepath.Join(t.TempDir(), "tiny.jns")
	gguf, err := filepath.Abs("../../testdata/models/tiny/jns-tiny.gguf")
	require.NoError(t, err)
	_, err = compiler.Compile(t.Context(), compiler.Options{Source: gguf, Output: tiny})
	require.NoError(t, err)
	plain := func(s string) string { return regexp.MustCompile(`,?"tokens_reused":\d+|\n`).ReplaceAllString(s, "") }
	testscript.Run(t, testscript.Params{
		Files: []string{"testdata/session.txtar", "testdata/usage.txtar"},
		Setup: func(e *testscript.Env) error {
			e.Setenv("TINY", tiny)
			e.Setenv("GGUF", gguf)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"wrong": func(ts *testscript.TestScript, _ bool, args []string) {
				err := ts.Exec("jns-run", args[1:]...)
				var exit *exec.ExitError
				if !errors.As(err, &exit) || strconv.Itoa(exit.ExitCode()) != args[0] {
					ts.Fatalf("jns-run %q: %v, want exit code %s", args[1:], err, args[0])
				}
			},
			"joined": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(ts.ReadFile(args[0])+ts.ReadFile(args[1])), 0o600))
			},
			"same": func(ts *testscript.TestScript, _ bool, args []string) {
				if a, b := plain(ts.ReadFile(args[0])), plain(ts.ReadFile(args[1])); a != b {
					ts.Fatalf("not the same:\n%s\n%s", a, b)
				}
			},
		},
	})
}

// TestASessionInUseIsNotUsedTwice: the second process is told.
func TestASessionInUseIsNotUsedTwice(t *testing.T) {
	k := &keptSession{path: filepath.Join(t.TempDir(), "s")}
	require.NoError(t, k.lock())
	err := (&keptSession{path: k.path}).lock()
	require.ErrorContains(t, err, "in use by another process")
	k.leave()
	k = &keptSession{path: k.path}
	require.NoError(t, k.lock())
	k.leave()
	require.NoFileExists(t, k.path+output.Suffix)
}

// TestAnAnswerIsGivenWhereItsSessionCannotBeKept: computing it again would take as long.
func TestAnAnswerIsGivenWhereItsSessionCannotBeKept(t *testing.T) {
	model, path := container(t, "jns-tiny"), filepath.Join(t.TempDir(), "s")
	for _, more := range [][]string{nil, {"--json"}} {
		in, w, err := os.Pipe()
		require.NoError(t, err)
		defer in.Close()
		old := os.Stdin
		os.Stdin = in
		go func() {
			defer w.Close()
			for range 1000 { // the prompt comes once the session is open, and then its name is taken
				if _, err := os.Stat(path + output.Suffix); err == nil {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			_ = os.Mkdir(path, 0o755)
			_, _ = w.WriteString("Hello.")
		}()
		words, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
		require.NoError(t, err)
		defer words.Close()
		stderr := os.Stderr
		os.Stderr = words
		code, text := command(t, append([]string{model, "--temp", "0", "-n", "3", "-p", "-", "--session", path}, more...)...)
		os.Stdin, os.Stderr = old, stderr
		said, err := os.ReadFile(words.Name())
		require.NoError(t, err)
		require.Contains(t, string(said), path+" is not made: ", "there was none that could be as it was")
		require.Equal(t, jnscli.ExitFailed, code)
		require.Contains(t, text, "Hello")
		require.NotContains(t, text, `"session"`, "it is not kept")
		require.NoFileExists(t, path+output.Suffix)
		require.NoError(t, os.Remove(path))
	}
}
