package fetch

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain is also the process that is killed: it fetches what its environment says.
func TestMain(m *testing.M) {
	if at := os.Getenv("FETCH_CHILD"); at != "" {
		var sum [32]byte
		b, _ := hex.DecodeString(os.Getenv("FETCH_SHA256"))
		copy(sum[:], b)
		list, _ := os.ReadFile(os.Getenv("FETCH_LIST"))
		spec := Spec{Path: os.Getenv("FETCH_PATH"), SHA256: &sum, Sources: []string{at}}
		for i := 0; i+32 <= len(list); i += 32 {
			spec.Chunks = append(spec.Chunks, [32]byte(list[i:]))
		}
		if st, err := os.Stat(os.Getenv("FETCH_DATA")); err == nil {
			spec.Size = st.Size()
		}
		// Small buffers of the system, so that what the server has sent and what the process has got are nearly the same.
		narrow := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			if err == nil {
				err = c.(*net.TCPConn).SetReadBuffer(64 << 10)
			}
			return c, err
		}}
		if _, err := Get(context.Background(), spec, Options{Connections: 8, Backoff: time.Millisecond, Transport: narrow}); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestKilledAtAnyMomentItGoesOn kills the fetching process at random moments, twenty times. Each time the next one completes, and the bytes that the server sends twice are
// at most 5 % of the file.
func TestKilledAtAnyMomentItGoesOn(t *testing.T) {
	trials, size := 20, 64*mib+12345
	if testing.Short() {
		trials = 4
	}
	data := content(size, 30)
	dir := t.TempDir()
	var list []byte
	for _, d := range chunkList(data) {
		list = append(list, d[:]...)
	}
	require.NoError(t, os.WriteFile(dir+"/list", list, 0o666))
	require.NoError(t, os.WriteFile(dir+"/data", data, 0o666))
	// The server sends in small pieces with pauses, so that its count of bytes sent is close to what the client has.
	s := serve(t, data, func(s *server, _ int, from, to int64, w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("ETag", s.etag)
		w.Header().Set("Content-Range", rangeText(from, to, len(s.data)))
		w.WriteHeader(http.StatusPartialContent)
		for at := from; at < to; {
			n, err := w.Write(s.data[at:min(at+128<<10, to)])
			s.sent.Add(int64(n))
			if at += int64(n); err != nil || r.Context().Err() != nil {
				return true
			}
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond)
		}
		return true
	})
	for trial := range trials {
		path := dir + "/file"
		sum := content(32, 1) // not used where a list is given
		start := func() *exec.Cmd {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "FETCH_CHILD="+s.URL+"/x", "FETCH_PATH="+path, "FETCH_LIST="+dir+"/list", "FETCH_DATA="+dir+"/data",
				"FETCH_SHA256="+hex.EncodeToString(sum))
			cmd.Stderr = os.Stderr
			require.NoError(t, cmd.Start())
			return cmd
		}
		s.sent.Store(0)
		cmd := start()
		// Killed when the server has sent a random part of the file.
		goal := rand.Int64N(int64(size))
		for s.sent.Load() < goal {
			time.Sleep(time.Millisecond)
		}
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		require.NoError(t, start().Wait(), "trial %d", trial)
		right(t, Spec{Path: path}, data)
		require.LessOrEqual(t, s.sent.Load(), int64(size)+int64(size)/20, "trial %d, killed at %d", trial, goal)
		require.NoError(t, os.Remove(path))
	}
}
