package fetch

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAFileThatCannotBeReadIsNotAbsent: a manifest whose signature cannot be read must not pass for one that has none.
func TestAFileThatCannotBeReadIsNotAbsent(t *testing.T) {
	o := quick()
	o.LocalFiles = true
	path := filepath.Join(t.TempDir(), "m.json.minisig")
	_, err := Small(context.Background(), "file:"+path, 100, o)
	require.ErrorIs(t, err, ErrAbsent)
	require.NoError(t, os.Mkdir(path, 0o777))
	_, err = Small(context.Background(), "file:"+path, 100, o)
	require.ErrorIs(t, err, ErrSource)
	require.NotErrorIs(t, err, ErrAbsent)
	require.ErrorContains(t, err, "not a regular file: it is a directory")
}

// TestNothingIsWrittenThroughLinks that somebody put where an unfinished file, its journal, or a new journal goes.
func TestNothingIsWrittenThroughLinks(t *testing.T) {
	data := content(mib, 31)
	s := serve(t, data, nil)
	for _, suffix := range []string{PartSuffix, StateSuffix, StateSuffix + newSuffix} {
		spec := specFor(t, data, s.URL+"/x")
		mine := filepath.Join(t.TempDir(), "mine")
		require.NoError(t, os.WriteFile(mine, []byte("mine"), 0o666))
		require.NoError(t, os.Symlink(mine, spec.Path+suffix))
		_, err := Get(context.Background(), spec, quick())
		require.ErrorIs(t, err, ErrRefused, suffix)
		b, err := os.ReadFile(mine)
		require.NoError(t, err)
		require.Equal(t, "mine", string(b), suffix)
	}
}
