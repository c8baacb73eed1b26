package store

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPopulatedPagesAreMapped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	const size = 16 << 20
	require.NoError(t, os.WriteFile(path, make([]byte, size), 0o600))
	s, err := Open(path)
	require.NoError(t, err)
	defer s.Close()
	if err := populate(s.data[:os.Getpagesize()]); err != nil {
		t.Skipf("the system refuses: %v", err)
	}
	mapped := func() (pages int) {
		b, err := os.ReadFile("/proc/self/statm")
		require.NoError(t, err)
		_, err = fmt.Sscanf(string(b), "%d %d %d", new(int), new(int), &pages) // of files
		require.NoError(t, err)
		return pages
	}
	before := mapped()
	s.Populate([]Extent{{0, size}}).done.Wait()
	require.Greater(t, mapped()-before, size/os.Getpagesize()/2)
}
