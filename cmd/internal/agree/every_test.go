package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFilesAreEqualByteForByte(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		p := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(p, b, 0o600))
		return p
	}
	long := bytes.Repeat([]byte{1, 2, 3}, 50000)
	a := write("a", long)
	for name, c := range map[string]struct {
		bytes []byte
		equal bool
	}{
		"same": {long, true}, "shorter": {long[:len(long)-1], false}, "longer": {append(bytes.Clone(long), 0), false}, "empty": {nil, false},
		"other": {append(bytes.Clone(long[:len(long)-1]), 9), false}, "cut at a block": {long[:1<<16], false},
	} {
		ok, err := equalFiles(a, write("b", c.bytes))
		require.NoError(t, err, name)
		require.Equal(t, c.equal, ok, name)
	}
	_, err := equalFiles(a, filepath.Join(dir, "none"))
	require.Error(t, err)
}

func TestWhatDoesNotHoldIsAFailure(t *testing.T) {
	require.Empty(t, exactness{true, true, true}.failures())
	require.Len(t, exactness{}.failures(), 3)
	require.Contains(t, exactness{true, false, true}.failures()[0], "scalar")
}

func TestRuleThreeIsForArchitecturesOnly(t *testing.T) {
	for class, halves := range map[string]bool{"archs": true, "more": true, "made": false, "synth": false, "real": false} {
		require.Equal(t, halves, result{Class: class}.halves(), class)
	}
}
