package fetch

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func damage(t *testing.T, path string, at ...int64) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	b := make([]byte, 1)
	for _, a := range at {
		_, err = f.ReadAt(b, a)
		require.NoError(t, err)
		b[0] ^= 0x10
		_, err = f.WriteAt(b, a)
		require.NoError(t, err)
	}
}

func TestRepairFetchesTheDamagedChunksOnly(t *testing.T) {
	data := content(40*mib+3, 20)
	s := serve(t, data, nil)
	spec := specFor(t, data, s.URL+"/x")
	require.NoError(t, os.WriteFile(spec.Path, data, 0o666))
	damage(t, spec.Path, 5, 17*mib+9, 40*mib+1)
	_, err := Verify(context.Background(), spec, quick())
	require.ErrorIs(t, err, ErrDigest)
	require.ErrorContains(t, err, "chunk 0 (bytes 0 to 1048576) is damaged, and 2 more of 41")
	res, err := Repair(context.Background(), spec, quick())
	require.NoError(t, err)
	require.Equal(t, 3, res.Bad)
	require.EqualValues(t, 2*mib+3, res.Fetched)
	right(t, spec, data)
	_, err = Verify(context.Background(), spec, quick())
	require.NoError(t, err)

	// Cut short: what is missing is fetched.
	require.NoError(t, os.Truncate(spec.Path, 38*mib+100))
	res, err = Repair(context.Background(), spec, quick())
	require.NoError(t, err)
	require.Equal(t, 3, res.Bad)
	right(t, spec, data)
}

// TestProvingTheWholeEndsWithTheContext: what is hashed after every chunk is there can take minutes, and Ctrl-C must end that too.
func TestProvingTheWholeEndsWithTheContext(t *testing.T) {
	data := content(3*mib, 21)
	spec := specFor(t, data)
	require.NoError(t, os.WriteFile(spec.Path, data, 0o600))
	f, err := os.Open(spec.Path)
	require.NoError(t, err)
	defer f.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	spec.Chunks = nil
	g := &get{spec: &spec, part: &part{f: f}, res: &Result{}, rule: blind(spec.Size), state: bytes.Repeat([]byte{done}, 3)}
	require.ErrorIs(t, g.startFrontier(ctx).wait(), context.Canceled)
	require.ErrorIs(t, g.finish(ctx, nil), context.Canceled)
	require.NoError(t, g.finish(context.Background(), nil))
	require.Equal(t, "SHA-256", g.res.Proof)
}
