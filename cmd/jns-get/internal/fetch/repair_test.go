package fetch

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
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

// TestAFailedRepairLeavesTheFileAsItWas: longer or shorter than it should be, with and without a list of chunks, with sources that cannot be asked, or give other bytes.
func TestAFailedRepairLeavesTheFileAsItWas(t *testing.T) {
	data, root := container(t)
	wrong := serve(t, content(len(data), 30), nil)
	gone := serve(t, data, func(_ *server, _ int, _, _ int64, w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusNotFound)
		return true
	})
	var answers atomic.Int32
	late := serve(t, data, func(_ *server, _ int, _, _ int64, w http.ResponseWriter, _ *http.Request) bool {
		if answers.Add(-1) >= 0 { // it tells what the file should be, and no more
			return false
		}
		w.WriteHeader(http.StatusNotFound)
		return true
	})
	for _, n := range []int{0, 100, len(data) - 1, len(data) / 2, len(data), len(data) + 5} {
		for i, sources := range [][]string{nil, {"ftp://nowhere/x"}, {wrong.URL + "/x"}, {gone.URL + "/x"}, {late.URL + "/x"}} {
			for _, withList := range []bool{true, false} {
				answers.Store(4)                // of its first byte, header, table of contents and list of chunks
				if withList || n == len(data) { // then nobody need tell
					answers.Store(1)
				}
				before := append(bytes.Clone(data[:min(n, len(data))]), make([]byte, max(0, n-len(data)))...)
				if n > 100 {
					before[len(data)/3] ^= 1
				}
				spec := Spec{Path: filepath.Join(t.TempDir(), "x.jns"), Root: &root, Sources: sources}
				if withList {
					spec.Chunks, spec.Size = chunkList(data), int64(len(data))
				}
				require.NoError(t, os.WriteFile(spec.Path, before, 0o666))
				_, err := Repair(context.Background(), spec, quick())
				require.Error(t, err, "%d bytes, sources %d, list %t", n, i, withList)
				after, err := os.ReadFile(spec.Path)
				require.NoError(t, err)
				require.True(t, bytes.Equal(before, after), "%d bytes, sources %d, list %t", n, i, withList)
			}
		}
	}
}

// TestRepairCutsOffWhatFollowsTheEnd, and does not say that nothing was wrong.
func TestRepairCutsOffWhatFollowsTheEnd(t *testing.T) {
	data := content(3*mib+3, 22)
	spec := specFor(t, data)
	require.NoError(t, os.WriteFile(spec.Path, append(bytes.Clone(data), 1, 2, 3), 0o666))
	res, err := Repair(context.Background(), spec, quick())
	require.NoError(t, err)
	require.False(t, res.Already)
	require.Zero(t, res.Bad)
	right(t, spec, data)
	res, err = Repair(context.Background(), spec, quick())
	require.NoError(t, err)
	require.True(t, res.Already)
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
	g := &get{spec: &spec, part: &part{f: f}, res: &Result{Already: true}, rule: blind(spec.Size), state: bytes.Repeat([]byte{done}, 3)}
	require.ErrorIs(t, g.startFrontier(ctx).wait(), context.Canceled)
	require.ErrorIs(t, g.finish(ctx), context.Canceled)
	require.NoError(t, g.finish(context.Background()))
	require.Equal(t, "SHA-256", g.res.Proof)
}
