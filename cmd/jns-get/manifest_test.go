package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v3"
)

func TestSiblingsLieInTheSameDirectory(t *testing.T) {
	for _, c := range [][4]string{
		{"https://h.example/a/m.json", "x.jns", "", "https://h.example/a/x.jns"},
		{"https://h.example/a/m.json?sig=1", "", ".minisig", "https://h.example/a/m.json.minisig?sig=1"},
		{"hf:org/repo/m.json@v1", "x.jns", "", "hf:org/repo/x.jns@v1"},
		{"hf:org/repo/m.json@v1", "", ".minisig", "hf:org/repo/m.json.minisig@v1"},
		{"file:/d/m.json", "x.jns", "", "file:/d/x.jns"},
		{"file:m.json", "x.jns", "", "file:x.jns"},
	} {
		require.Equal(t, c[3], siblingOf(c[0], c[1], c[2]))
	}
}

// TestAManifestFromElsewhereNamesNothingOfThisMachine: its addresses of this machine's servers and files are left out; those of the command line are the user's own.
func TestAManifestFromElsewhereNamesNothingOfThisMachine(t *testing.T) {
	at := []string{"https://h.example/x", "http://127.0.0.1:1/x", "file:/etc/passwd"}
	sources := func(f *found, args ...string) (got []string) {
		f.beside = func(name string) string { return "https://h.example/" + name }
		cmd := &cli.Command{Flags: sourceFlags(), Action: func(_ context.Context, c *cli.Command) error {
			got = f.sources(c, "x", at)
			return nil
		}}
		require.NoError(t, cmd.Run(context.Background(), append([]string{"x"}, args...)))
		return got
	}
	require.Equal(t, []string{"https://h.example/x"}, sources(&found{}))
	require.Equal(t, at, sources(&found{local: true}))
	require.Equal(t, []string{"http://127.0.0.1:2/d/x", "https://h.example/x"}, sources(&found{}, "--mirror", "http://127.0.0.1:2/d/"))
}

func TestOutputPathsStayWhereTheyShould(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"../x", "a/b", "", ".x", "..", `a\b`, "nul"} {
		_, err := outputPath(dir, name)
		require.Error(t, err, name)
	}
	for _, address := range []string{"https://h.example/", "https://h.example/..", "https://h.example/a%2f..", "hf:o/r/..@main", "file:/", "oci:h/r:t"} {
		_, err := nameOf(address)
		require.Error(t, err, address)
	}
	p, err := outputPath(dir, "x.jns")
	require.NoError(t, err)
	require.Equal(t, dir+"/x.jns", p)
}
