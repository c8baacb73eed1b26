package fetch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/blake3"
)

// TestSpeedBesideCurl fetches a large file from this machine with curl and with Get, which checks every chunk, in turns, and compares the medians. It needs
// JNS_SPEED_DIR, a directory with room for three such files, and curl; JNS_SPEED_MIB is the size (default 4096), JNS_SPEED_ROUNDS the number of turns (default 5). Run it on a
// machine that does nothing else.
func TestSpeedBesideCurl(t *testing.T) {
	dir := os.Getenv("JNS_SPEED_DIR")
	curl, err := exec.LookPath("curl")
	if dir == "" || err != nil {
		t.Skip("set JNS_SPEED_DIR, and have curl")
	}
	number := func(name string, n int) int {
		if s := os.Getenv(name); s != "" {
			n, err = strconv.Atoi(s)
			require.NoError(t, err)
		}
		return n
	}
	n, rounds := number("JNS_SPEED_MIB", 4096), number("JNS_SPEED_ROUNDS", 5)
	from := filepath.Join(dir, "speed-source")
	f, err := os.Create(from)
	require.NoError(t, err)
	defer os.Remove(from)
	var list [][32]byte
	r, b := rand.NewChaCha8([32]byte{1}), make([]byte, mib)
	for range n {
		r.Read(b)
		list = append(list, blake3.Sum256(b))
		_, err := f.Write(b)
		require.NoError(t, err)
	}
	require.NoError(t, f.Close())
	s := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer s.Close()
	size := float64(n) * mib
	path := filepath.Join(dir, "speed-got")
	var theirs, ours, checks []float64
	for range rounds {
		_ = os.Remove(path)
		start := time.Now()
		require.NoError(t, exec.Command(curl, "-sS", "-o", path, s.URL+"/speed-source").Run())
		g, err := os.Open(path) // Get's file is on disk when it returns; so must this one be
		require.NoError(t, err)
		require.NoError(t, g.Sync())
		require.NoError(t, g.Close())
		theirs = append(theirs, size/time.Since(start).Seconds()/1e9)
		require.NoError(t, os.Remove(path))
		start = time.Now()
		spec := Spec{Path: path, Size: int64(n) * mib, Chunks: list, Sources: []string{s.URL + "/speed-source"}}
		_, err = Get(context.Background(), spec, Options{})
		require.NoError(t, err)
		ours = append(ours, size/time.Since(start).Seconds()/1e9)
		start = time.Now()
		_, err = Verify(context.Background(), spec, Options{})
		require.NoError(t, err)
		checks = append(checks, size/time.Since(start).Seconds()/1e9)
	}
	_ = os.Remove(path)
	for _, l := range [][]float64{theirs, ours, checks} {
		slices.Sort(l)
	}
	fmt.Printf("%d MiB: curl %.2f GB/s, Get %.2f GB/s (ratio %.2f), Verify %.2f GB/s; medians of %d\n", n, theirs[rounds/2], ours[rounds/2], ours[rounds/2]/theirs[rounds/2], checks[rounds/2], rounds)
	require.GreaterOrEqual(t, ours[rounds/2], 0.8*theirs[rounds/2])
}
