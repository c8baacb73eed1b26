package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRangesAreInsideTheFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(name, []byte("0123456789"), 0o600))
	s, err := Open(name)
	require.NoError(t, err)
	b, err := s.Range(2, 3)
	require.NoError(t, err)
	require.Equal(t, "234", string(b))
	_, err = s.Range(10, 0)
	require.NoError(t, err)
	for _, r := range [][2]uint64{{9, 2}, {11, 0}, {1, ^uint64(0)}, {^uint64(0), 2}} {
		_, err = s.Range(r[0], r[1])
		require.ErrorIs(t, err, ErrRange)
	}
	require.NoError(t, s.Close())
	_, err = Open(t.TempDir())
	require.ErrorContains(t, err, "not a regular file")
}
