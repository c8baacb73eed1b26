package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/format"
	"jns/format/formattest"
)

// TestInspectShowsAValueAsALine: text of a file that has lines of its own does not pass for what inspect says.
func TestInspectShowsAValueAsALine(t *testing.T) {
	d := formattest.Draft(false)
	d.Model.Name = "x\nroot        0000"
	d.Model.Facts = []format.Fact{{Key: "a\nroot\t1111", Value: "b\r\nroot\t2222"}}
	m, _, err := formattest.Build(d)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "x.jns")
	require.NoError(t, os.WriteFile(path, m, 0o666))
	out, err := call("inspect", path)
	require.NoError(t, err)
	roots := 0
	for _, line := range strings.Split(out, "\n") {
		if strings.HasPrefix(line, "root") {
			roots++
		}
	}
	require.Equal(t, 1, roots, out)
}
