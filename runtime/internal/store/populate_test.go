package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPopulatingEndsByItselfAndByStop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, make([]byte, 3*populateStep+5), 0o600))
	s, err := Open(path)
	require.NoError(t, err)
	whole := Extent{0, uint64(s.Size())}
	var none *Populating
	none.Stop()
	p := s.Populate([]Extent{{5, populateStep}, whole, {whole.Length - 1, 1}})
	p.done.Wait()
	p.Stop()
	p.Stop()
	s.Populate([]Extent{{whole.Length, 1}, {1 << 62, 1 << 62}}).Stop() // outside the file
	s.Populate([]Extent{whole, whole, whole}).Stop()
	require.NoError(t, s.Close())
}
