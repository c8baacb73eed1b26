package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	jnscli "jns/cmd/internal/cli"
	"jns/cmd/internal/output"
	"jns/compiler"
)

// TestSessionStories runs testdata/session.txtar. $TINY is the embedded model, compiled.
//
//	joined A B  appends B to A
//	same A B    compares two answers, or lists of them, but for what --json says of reuse, and ends of lines, which every process writes
func TestSessionStories(t *testing.T) {
	tiny := filepath.Join(t.TempDir(), "tiny.jns")
	_, err := compiler.Compile(t.Context(), compiler.Options{Source: "../../testdata/models/tiny/jns-tiny.gguf", Output: tiny})
	require.NoError(t, err)
	plain := func(s string) string { return regexp.MustCompile(`,?"tokens_reused":\d+|\n`).ReplaceAllString(s, "") }
	testscript.Run(t, testscript.Params{
		Files: []string{"testdata/session.txtar"},
		Setup: func(e *testscript.Env) error {
			e.Setenv("TINY", tiny)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
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
		code, text := command(t, append([]string{model, "--temp", "0", "-n", "3", "-p", "-", "--session", path}, more...)...)
		os.Stdin = old
		require.Equal(t, jnscli.ExitFailed, code)
		require.Contains(t, text, "Hello")
		require.NotContains(t, text, `"session"`, "it is not kept")
		require.NoFileExists(t, path+output.Suffix)
		require.NoError(t, os.Remove(path))
	}
}
