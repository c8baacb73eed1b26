package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestModelsFileIsWhatTheManifestsSay(t *testing.T) {
	require.NoError(t, run("../../MODELS.md", "", true))
	require.NoError(t, run("../../MODELS.md", "../published", true))
	out := filepath.Join(t.TempDir(), "M.md")
	require.NoError(t, run(out, "", false))
	require.NoError(t, run(out, "", true))
	require.NoError(t, os.WriteFile(out, []byte("by hand"), 0o666))
	require.ErrorContains(t, run(out, "", true), "make models-md")
}
