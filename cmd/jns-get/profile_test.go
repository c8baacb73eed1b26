package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler"
	"jns/format"
)

// A container whose experts lie by a profile cannot be made here without it; that is said before anything is fetched, with the profile's SHA-256. For another target it can.
func TestCompileAsksForTheProfileOfAPublishedContainer(t *testing.T) {
	text, err := os.ReadFile("../../manifests/published/jns-tiny-moe.portable.json")
	require.NoError(t, err)
	source, sum := "../../testdata/models/tiny/jns-tiny-moe.gguf", strings.Repeat("5a", 32)
	manifest := func(options string) string {
		name := filepath.Join(t.TempDir(), "m.json")
		changed := bytes.Replace(text, []byte(`"keep-unknown=false"`), []byte(`"`+options+`"`), 1)
		require.NotEqual(t, text, changed)
		require.NoError(t, os.WriteFile(name, changed, 0o666))
		return name
	}
	out := filepath.Join(t.TempDir(), "out.jns")
	compile := func(args ...string) error {
		return root().Run(context.Background(), append([]string{"jns-get", "compile", "-o", out}, args...))
	}
	named := manifest("keep-unknown=false profile=" + sum)
	err = compile("--manifest", named, "--source", "no such file")
	require.ErrorIs(t, err, compiler.ErrNoProfile)
	require.ErrorContains(t, err, sum)
	require.ErrorContains(t, err, "--profile")
	require.Equal(t, 4, classes.Code(err))
	require.ErrorIs(t, compile("--manifest", named, "--profile", source), compiler.ErrTrace)
	require.NoFileExists(t, out)

	err = compile("--manifest", manifest("lies-by=moonlight"), "--source", source)
	require.ErrorIs(t, err, format.ErrUnsupported)
	require.ErrorContains(t, err, "lies-by=moonlight")

	require.NoError(t, compile("--manifest", named, "--source", source, "--target", "x86-64-v3"))
	require.FileExists(t, out)
}
