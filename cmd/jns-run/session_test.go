package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

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
	require.NoFileExists(t, k.path+sessionPartial)
}
