package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const smaps = `7f0000000000-7f0000400000 r--s 00000000 fe:00 7   /a: file-with.signs
Size:               4096 kB
Rss:                4096 kB
FilePmdMapped:      2048 kB
VmFlags: rd sh
7f0000400000-7f0000600000 r--s 00400000 fe:00 7   /a
Rss:                  12 kB
FilePmdMapped:         0 kB
7f0000600000-7f0000800000 rw-p 00000000 00:00 0
Rss:                 999 kB
FilePmdMapped:       999 kB
`

func TestMappedAddsUpItsAreas(t *testing.T) {
	resident, large, ok := mapped(strings.NewReader(smaps), 0x7f0000000000, 0x7f0000600000)
	require.True(t, ok)
	require.Equal(t, []uint64{4108 << 10, 2048 << 10}, []uint64{resident, large})
	_, _, ok = mapped(strings.NewReader(smaps), 0x1000, 0x2000)
	require.False(t, ok, "no such area")
	_, _, ok = mapped(strings.NewReader(strings.Replace(smaps, "4096 kB\nFile", "many\nFile", 1)), 0x7f0000000000, 0x7f0000600000)
	require.False(t, ok, "not a number")
}

// TestMappedCountsTouchedPages: what was read through the mapping is mapped, the file's end is not.
func TestMappedCountsTouchedPages(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(name, make([]byte, 64<<20), 0o600))
	f, err := Open(name)
	require.NoError(t, err)
	defer f.Close()
	var sum byte
	for i := 0; i < 8<<20; i += 4096 {
		sum += f.data[i]
	}
	require.Zero(t, sum)
	resident, large, ok := f.Mapped()
	if !ok {
		t.Skip("the system has no /proc/self/smaps")
	}
	require.GreaterOrEqual(t, resident, uint64(8<<20))
	require.Less(t, resident, uint64(64<<20))
	require.LessOrEqual(t, large, resident)
}
