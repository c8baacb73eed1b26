package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/format"
	"jns/format/formattest"
)

// container is one of a few MiB: the tiny one's rows are made longer.
func container(t *testing.T) (data []byte, root [32]byte) {
	m, _ := formattest.Tiny(true)
	h, err := format.DecodeHeader(m)
	require.NoError(t, err)
	return m, h.Digest
}

func TestAContainerProvesItselfFromItsRootDigest(t *testing.T) {
	data, root := container(t)
	s := serve(t, data, nil)
	spec := Spec{Path: filepath.Join(t.TempDir(), "x.jns"), Root: &root, Sources: []string{s.URL + "/x.jns"}}
	res, err := Get(context.Background(), spec, quick())
	require.NoError(t, err)
	right(t, spec, data)
	require.Contains(t, res.Proof, "root digest")

	other := [32]byte{1}
	spec = Spec{Path: filepath.Join(t.TempDir(), "y.jns"), Root: &other, Sources: []string{s.URL + "/x.jns"}}
	_, err = Get(context.Background(), spec, quick())
	require.ErrorContains(t, err, "another container")
	require.NoFileExists(t, spec.Path)
}

// TestEveryByteOfAContainerIsCoveredByItsRule flips bytes everywhere: header, table of contents, padding, sections, list.
func TestEveryByteOfAContainerIsCoveredByItsRule(t *testing.T) {
	data, root := container(t)
	path := filepath.Join(t.TempDir(), "x.jns")
	for at := 0; at < len(data); at += 997 {
		bad := bytes.Clone(data)
		bad[at] ^= 4
		require.NoError(t, os.WriteFile(path, bad, 0o666))
		_, err := Verify(context.Background(), Spec{Path: path}, quick())
		require.Error(t, err, "byte %d", at)
	}
	require.NoError(t, os.WriteFile(path, data, 0o666))
	proof, err := Verify(context.Background(), Spec{Path: path, Root: &root}, quick())
	require.NoError(t, err)
	require.Contains(t, proof, "BLAKE3")
}

func TestRepairOfAContainerUsesItsOwnList(t *testing.T) {
	data, root := container(t)
	s := serve(t, data, nil)
	spec := Spec{Path: filepath.Join(t.TempDir(), "x.jns"), Sources: []string{s.URL + "/x.jns"}}
	require.NoError(t, os.WriteFile(spec.Path, data, 0o666))
	damage(t, spec.Path, int64(len(data)/2))
	res, err := Repair(context.Background(), spec, quick())
	require.NoError(t, err)
	require.Equal(t, 1, res.Bad)
	right(t, spec, data)

	// With the header damaged the file cannot say what it was; the root digest can.
	damage(t, spec.Path, 30)
	_, err = Repair(context.Background(), spec, quick())
	require.ErrorContains(t, err, "--root")
	spec.Root = &root
	_, err = Repair(context.Background(), spec, quick())
	require.NoError(t, err)
	right(t, spec, data)
}

func TestAContainerOfASha256ChangesAndIsBegunAnew(t *testing.T) {
	data, _ := container(t)
	old := bytes.Clone(data)
	old[len(old)-1] ^= 1
	s := serve(t, old, func(s *server, n int, _, _ int64, _ http.ResponseWriter, _ *http.Request) bool {
		if n == 5 {
			s.mu.Lock()
			s.data, s.etag = data, `"two"`
			s.mu.Unlock()
		}
		return false
	})
	sum := sha256.Sum256(data)
	spec := Spec{Path: filepath.Join(t.TempDir(), "x.jns"), SHA256: &sum, Sources: []string{s.URL + "/x.jns"}}
	_, err := Get(context.Background(), spec, quick())
	if err != nil { // it may have been read whole before the change: then it is the wrong file, and gone
		require.NoFileExists(t, spec.Path)
		require.NoFileExists(t, spec.Path+PartSuffix)
		_, err = Get(context.Background(), spec, quick())
	}
	require.NoError(t, err)
	right(t, spec, data)
}

func FuzzCarriedRuleRefusesHostileHeads(f *testing.F) {
	m, _ := formattest.Tiny(false)
	f.Add(uint16(4100), byte(1), uint32(len(m)))
	f.Fuzz(func(t *testing.T, at uint16, flip byte, size uint32) {
		b := bytes.Clone(m)
		b[int(at)%len(b)] ^= flip
		n := min(int(size), len(b))
		_, _ = carried(int64(n), nil, func(from, to int64) ([]byte, error) {
			require.LessOrEqual(t, from, to)
			require.LessOrEqual(t, to, int64(n))
			return bytes.Clone(b[from:to]), nil
		})
	})
}
