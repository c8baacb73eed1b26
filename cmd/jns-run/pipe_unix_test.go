//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	jnscli "jns/cmd/internal/cli"
)

// A pipe to which nobody writes would be waited for, deaf to signals; so it is refused, like all else that is no file.
func TestWhatIsNoRegularFileIsRefusedAtOnce(t *testing.T) {
	dir, model := t.TempDir(), container(t, "jns-tiny")
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	for args, code := range map[string]int{
		"X -p hi":                         jnscli.ExitCorrupt,
		"info X":                          jnscli.ExitCorrupt,
		"tokenize X -p hi":                jnscli.ExitCorrupt,
		"tokenize MODEL -f X":             jnscli.ExitCorrupt,
		"ppl MODEL -f X":                  jnscli.ExitCorrupt,
		"ppl MODEL -p hello --against X":  jnscli.ExitCorrupt,
		"embed MODEL -f X":                jnscli.ExitCorrupt,
		"rerank MODEL -q what -f X":       jnscli.ExitCorrupt,
		"cache-sim X --memory 1MiB":       jnscli.ExitCorrupt,
		"heatmap X":                       jnscli.ExitCorrupt,
		"chat X":                          jnscli.ExitCorrupt,
		"serve X --port 0":                jnscli.ExitCorrupt,
		"selftest X":                      jnscli.ExitCorrupt,
		"MODEL -p hi --session X":         jnscli.ExitUsage,
		"bench MODEL --compare X":         jnscli.ExitUsage,
		"bench X --compare MODEL":         jnscli.ExitCorrupt,
		"verify-evidence X":               jnscli.ExitCorrupt,
		"X -p hi --record-routing MODEL2": jnscli.ExitCorrupt,
	} {
		for _, what := range []string{fifo, dir, os.DevNull} {
			if what == dir && strings.HasPrefix(args, "verify-evidence") {
				continue
			}
			done := make(chan int, 1)
			go func() {
				code, _ := command(t, strings.Fields(strings.NewReplacer("MODEL2", filepath.Join(dir, "trace"), "MODEL", model, "X", what).Replace(args))...)
				done <- code
			}()
			select {
			case got := <-done:
				require.Equal(t, code, got, "%s, X is %s", args, what)
			case <-time.After(time.Minute):
				t.Fatalf("%s, X is %s: it waits", args, what)
			}
		}
	}
}

// What the shell makes of <(…) is open already.
func TestATextMayComeFromAPipeThatIsOpen(t *testing.T) {
	model := container(t, "jns-tiny")
	_, want := command(t, "tokenize", model, "-p", "Once upon a time")
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	_, err = w.WriteString("Once upon a time")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	code, got := command(t, "tokenize", model, "-f", fmt.Sprintf("/dev/fd/%d", r.Fd()))
	require.Zero(t, code)
	require.Equal(t, want, got)
}
