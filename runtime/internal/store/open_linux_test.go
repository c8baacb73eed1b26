package store

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// answers makes statx tell these alignments.
func answers(t *testing.T, err error, mask, mem, offset uint32) {
	old := statx
	t.Cleanup(func() { statx = old })
	statx = func(_ int, _ string, _, _ int, st *unix.Statx_t) error {
		st.Mask, st.Dio_mem_align, st.Dio_offset_align = mask, mem, offset
		return err
	}
}

func TestAlignmentIsWhatTheFileSystemSays(t *testing.T) {
	for name, c := range map[string]struct {
		err         error
		mask        uint32
		mem, offset uint32
		align       int
		refused     bool
	}{
		"a sector":                 {nil, unix.STATX_DIOALIGN, 512, 512, 512, false},
		"less than a sector":       {nil, unix.STATX_DIOALIGN, 4, 1, 512, false},
		"a page":                   {nil, unix.STATX_DIOALIGN, 4096, 4096, 4096, false},
		"memory at less":           {nil, unix.STATX_DIOALIGN, 4, 4096, 4096, false},
		"memory at more":           {nil, unix.STATX_DIOALIGN, 4096, 512, 4096, false},
		"more than a slot has":     {nil, unix.STATX_DIOALIGN, 512, 65536, 0, true},
		"memory at more than that": {nil, unix.STATX_DIOALIGN, 65536, 512, 0, true},
		"no direct reads":          {nil, unix.STATX_DIOALIGN, 0, 0, 0, true},
		"not told":                 {nil, unix.STATX_BASIC_STATS, 0, 0, 4096, false},
		"no statx":                 {unix.ENOSYS, 0, 0, 0, 4096, false},
		"statx refused":            {unix.EPERM, unix.STATX_DIOALIGN, 512, 512, 4096, false},
	} {
		t.Run(name, func(t *testing.T) {
			answers(t, c.err, c.mask, c.mem, c.offset)
			align, err := alignment(0)
			require.Equal(t, c.align, align)
			if c.refused {
				require.ErrorIs(t, err, unix.EOPNOTSUPP)
				return
			}
			require.NoError(t, err)
		})
	}
}

// Whatever the file system needs, the file is read: what cannot be read past the system's cache is read through it.
func TestAFileIsReadWithAnyAlignment(t *testing.T) {
	file := content(32)
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	for _, align := range []uint32{0, 512, 4096, 65536} {
		answers(t, nil, unix.STATX_DIOALIGN, align, align)
		s, err := Open(path)
		require.NoError(t, err)
		mem, err := Frames(len(file))
		require.NoError(t, err)
		o, err := s.OpenBackend(Auto, mem, Probe{Length: int64(len(file)), Slot: block})
		require.NoError(t, err)
		if align == 0 || align == 65536 {
			require.NotContains(t, o.Name, "direct")
			require.Contains(t, o.Why, "operation not supported")
		}
		r := &Read{Off: block, Buf: mem[:3*block]}
		o.Demand.Start(r)
		require.NoError(t, o.Demand.Wait(r))
		require.True(t, bytes.Equal(r.Buf, file[block:4*block]))
		require.NoError(t, o.Close())
		require.NoError(t, FreeFrames(mem))
		require.NoError(t, s.Close())
	}
}
