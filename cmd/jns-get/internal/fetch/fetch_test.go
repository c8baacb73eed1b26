package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/blake3"

	"jns/format"
)

const mib = format.ChunkSize

// content is n bytes from a seed.
func content(n int, seed uint64) []byte {
	b := make([]byte, n)
	var key [32]byte
	key[0] = byte(seed)
	rand.NewChaCha8(key).Read(b)
	return b
}

func chunkList(b []byte) (out [][32]byte) {
	for len(b) > 0 {
		n := min(len(b), mib)
		out = append(out, blake3.Sum256(b[:n]))
		b = b[n:]
	}
	return out
}

// server is a file server with faults. fault sees every request for a range, numbered from 0, and deals with it if it returns true.
type server struct {
	*httptest.Server
	mu    sync.Mutex
	data  []byte
	etag  string
	n     int
	sent  atomic.Int64
	auth  []string // Authorization of every request
	fault func(s *server, n int, from, to int64, w http.ResponseWriter, r *http.Request) bool
}

func serve(t *testing.T, data []byte, fault func(s *server, n int, from, to int64, w http.ResponseWriter, r *http.Request) bool) *server {
	s := &server{data: data, etag: `"one"`, fault: fault}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		_ = c.(*net.TCPConn).SetWriteBuffer(64 << 10) // what is sent is soon received: sent counts what the client got
		return ctx
	}
	s.Start()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	n := s.n
	s.n++
	data, etag := s.data, s.etag
	s.auth = append(s.auth, r.Header.Get("Authorization"))
	s.mu.Unlock()
	from, to := int64(0), int64(len(data))
	ranged := false
	if a, b, ok := strings.Cut(strings.TrimPrefix(r.Header.Get("Range"), "bytes="), "-"); ok {
		from, _ = strconv.ParseInt(a, 10, 64)
		last, _ := strconv.ParseInt(b, 10, 64)
		to, ranged = min(last+1, to), true
	}
	if v := r.Header.Get("If-Range"); v != "" && v != etag {
		ranged = false
	}
	if s.fault != nil && s.fault(s, n, from, to, w, r) {
		return
	}
	w.Header().Set("ETag", etag)
	if !ranged {
		s.all(w)
		return
	}
	if from >= int64(len(data)) {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", len(data)))
		w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		return
	}
	s.part(w, from, to, to)
}

// all sends the whole file with 200.
func (s *server) all(w http.ResponseWriter) {
	data, _ := s.file()
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	n, _ := w.Write(data)
	s.sent.Add(int64(n))
}

// part promises a range and sends it up to end.
func (s *server) part(w http.ResponseWriter, from, to, end int64) {
	data, etag := s.file()
	w.Header().Set("ETag", etag)
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(data)))
	w.Header().Set("Content-Length", strconv.FormatInt(to-from, 10))
	w.WriteHeader(http.StatusPartialContent)
	n, _ := w.Write(data[from:end])
	s.sent.Add(int64(n))
}

// file is what the server has now.
func (s *server) file() (data []byte, etag string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.data, s.etag
}

// quick retries without waiting. Its stall is long: a slow machine must not look like a server that does not send.
func quick() Options {
	return Options{Connections: 3, Backoff: time.Millisecond, Stall: 10 * time.Second, Retries: 4, LocalFiles: true}
}

func specFor(t *testing.T, data []byte, at ...string) Spec {
	sum := sha256.Sum256(data)
	return Spec{Path: filepath.Join(t.TempDir(), "file.jns"), Size: int64(len(data)), SHA256: &sum, Chunks: chunkList(data), Sources: at}
}

// right demands that the file is there, right, and alone.
func right(t *testing.T, spec Spec, data []byte) {
	t.Helper()
	have, err := os.ReadFile(spec.Path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, have))
	require.NoFileExists(t, spec.Path+PartSuffix)
	require.NoFileExists(t, spec.Path+StateSuffix)
}

func TestFileArrivesWhole(t *testing.T) {
	for _, size := range []int{1, 4095, mib - 1, mib, mib + 1, 5*mib + 77} {
		data := content(size, 1)
		s := serve(t, data, nil)
		spec := specFor(t, data, s.URL+"/x")
		res, err := Get(context.Background(), spec, quick())
		require.NoError(t, err)
		right(t, spec, data)
		require.EqualValues(t, size, res.Fetched)
		res, err = Get(context.Background(), spec, quick())
		require.NoError(t, err)
		require.True(t, res.Already)
	}
}

// TestFaultsEndRightOrAbsent goes through what servers do wrong. Every case ends with the right file, or with none and words that tell why.
func TestFaultsEndRightOrAbsent(t *testing.T) {
	const size = 12*mib + 4321
	data := content(size, 2)
	type fault = func(s *server, n int, from, to int64, w http.ResponseWriter, r *http.Request) bool
	once := func(at int, f fault) fault {
		return func(s *server, n int, from, to int64, w http.ResponseWriter, r *http.Request) bool {
			return n == at && f(s, n, from, to, w, r)
		}
	}
	status := func(code int, header ...string) fault {
		return func(_ *server, _ int, _, _ int64, w http.ResponseWriter, _ *http.Request) bool {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			return true
		}
	}
	corrupt := func(s *server, _ int, from, to int64, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("ETag", s.etag)
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(s.data)))
		w.WriteHeader(http.StatusPartialContent)
		b := bytes.Clone(s.data[from:to])
		b[len(b)/2] ^= 1
		n, _ := w.Write(b)
		s.sent.Add(int64(n))
		return true
	}
	cases := map[string]struct {
		fault fault
		fails string // words of the error; empty: the file arrives
		again int64  // bytes that may be sent twice
	}{
		"truncates once": {once(2, func(s *server, _ int, from, to int64, w http.ResponseWriter, _ *http.Request) bool {
			s.part(w, from, to, from+(to-from)/2)
			return true
		}), "", 0},
		"truncates always, but goes on": {func(s *server, n int, from, to int64, w http.ResponseWriter, _ *http.Request) bool {
			s.part(w, from, to, from+min(to-from, max(300<<10, (to-from)*9/10)))
			return true
		}, "", 0},
		"sends nothing, always": {func(s *server, n int, from, to int64, w http.ResponseWriter, _ *http.Request) bool {
			if n == 0 {
				return false
			}
			s.part(w, from, to, from)
			return true
		}, "connection broke", 0},
		"corrupts once":   {once(2, corrupt), "", 2 * mib},
		"corrupts always": {corrupt, "", 0},
		"stalls once": {once(3, func(s *server, _ int, from, to int64, w http.ResponseWriter, r *http.Request) bool {
			s.part(w, from, to, from+100)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return true
		}), "", mib},
		"stalls always": {func(s *server, _ int, from, to int64, w http.ResponseWriter, r *http.Request) bool {
			<-r.Context().Done()
			return true
		}, "stopped sending", 0},
		"200 to every range": {func(s *server, _ int, _, _ int64, w http.ResponseWriter, _ *http.Request) bool { s.all(w); return true }, "", 0},
		"200 to one range":   {once(3, func(s *server, _ int, _, _ int64, w http.ResponseWriter, _ *http.Request) bool { s.all(w); return true }), "", 2 * size},
		"416 once":           {once(2, status(416)), "", 0},
		"416 always":         {status(416, "Content-Range", "bytes */7"), "416.*7 bytes", 0},
		"429 once":           {once(1, status(429, "Retry-After", "0")), "", 0},
		"429 always":         {status(429), "429", 0},
		"503 once":           {once(2, status(503)), "", 0},
		"503 with a date":    {once(2, status(503, "Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT")), "", 0},
		"500 always":         {status(500), "500", 0},
		"404":                {status(404), "404", 0},
		"403":                {status(403), "403", 0},
		"204":                {status(204), "204", 0},
		"gzip": {func(s *server, _ int, from, to int64, w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Encoding", "gzip")
			s.part(w, from, to, to)
			return true
		}, "packed", 0},
		"another range than asked for": {func(s *server, n int, from, to int64, w http.ResponseWriter, _ *http.Request) bool {
			if n == 0 {
				return false
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from+1, to, len(s.data)+1))
			w.WriteHeader(206)
			return true
		}, "asked for", 0},
		"no name for the range": {func(s *server, _ int, from, to int64, w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(206)
			_, _ = w.Write(s.data[from:to])
			return true
		}, "names it", 0},
		"several ranges": {func(s *server, _ int, from, to int64, w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "multipart/byteranges; boundary=x")
			w.WriteHeader(206)
			return true
		}, "names it", 0},
		"length that does not fit the range": {func(s *server, _ int, from, to int64, w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(s.data)))
			w.Header().Set("Content-Length", strconv.FormatInt(to-from+5, 10))
			w.WriteHeader(206)
			return true
		}, "for a range of", 0},
		"shorter ranges than asked for": {func(s *server, _ int, from, to int64, w http.ResponseWriter, _ *http.Request) bool {
			to = min(to, from+mib*3/4)
			s.part(w, from, to, to)
			return true
		}, "", 0},
		"another size": {func(s *server, _ int, from, to int64, w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(s.data)+9))
			w.WriteHeader(206)
			_, _ = w.Write(s.data[from:to])
			return true
		}, "it is another one", 0},
		"redirects to http elsewhere": {func(_ *server, _ int, _, _ int64, w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "http://example.org/x", http.StatusFound)
			return true
		}, "plain http", 0},
		"redirects for ever": {func(_ *server, _ int, _, _ int64, w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
			return true
		}, "redirects", 0},
		"changes under the same name": {func(s *server, n int, _, _ int64, _ http.ResponseWriter, _ *http.Request) bool {
			if n == 2 {
				s.mu.Lock()
				s.data, s.etag = content(size, 3), `"two"`
				s.mu.Unlock()
			}
			return false
		}, "wrong bytes|changed|no source", 0},
		"changes its name only": {func(s *server, n int, _, _ int64, _ http.ResponseWriter, _ *http.Request) bool {
			if n == 2 {
				s.mu.Lock()
				s.etag = `"two"`
				s.mu.Unlock()
			}
			return false
		}, "", 3 * size},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, bytes.Clone(data), c.fault)
			spec := specFor(t, data, s.URL+"/x")
			o := quick()
			if strings.HasPrefix(name, "stalls") {
				o.Stall = 300 * time.Millisecond
			}
			res, err := Get(context.Background(), spec, o)
			if name == "corrupts always" {
				c.fails = "wrong bytes"
			}
			if c.fails != "" {
				require.Error(t, err)
				require.Regexp(t, c.fails, err.Error())
				require.NoFileExists(t, spec.Path)
				return
			}
			require.NoError(t, err)
			right(t, spec, data)
			require.LessOrEqual(t, res.Fetched, size+c.again, "bytes fetched again")
		})
	}
}

func TestABadSourceIsReplacedByAGoodOne(t *testing.T) {
	data := content(20*mib+5, 4)
	good := serve(t, data, func(*server, int, int64, int64, http.ResponseWriter, *http.Request) bool {
		time.Sleep(10 * time.Millisecond) // so that the others are asked before all is there
		return false
	})
	other := serve(t, content(20*mib+5, 5), nil) // same size, other bytes
	short := serve(t, data[:mib], nil)
	gone := serve(t, data, func(_ *server, _ int, _, _ int64, w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(404)
		return true
	})
	spec := specFor(t, data, other.URL+"/x", short.URL+"/x", gone.URL+"/x", good.URL+"/x")
	var notes []string
	o := quick()
	o.Note = func(s string) { notes = append(notes, s) }
	res, err := Get(context.Background(), spec, o)
	require.NoError(t, err)
	right(t, spec, data)
	require.LessOrEqual(t, res.Bad, badInRow)
	require.LessOrEqual(t, res.Fetched, int64(len(data)+(res.Bad+1)*mib))
	require.Contains(t, strings.Join(notes, "\n"), "another one")
}

func TestMirrorsWorkTogether(t *testing.T) {
	data := content(60*mib, 6)
	slow := func(_ *server, _ int, _, _ int64, _ http.ResponseWriter, _ *http.Request) bool {
		time.Sleep(5 * time.Millisecond)
		return false
	}
	a, b := serve(t, data, slow), serve(t, data, slow)
	spec := specFor(t, data, a.URL+"/x", b.URL+"/x")
	res, err := Get(context.Background(), spec, quick())
	require.NoError(t, err)
	right(t, spec, data)
	require.EqualValues(t, len(data), res.Fetched)
	require.Greater(t, a.sent.Load(), int64(4*mib))
	require.Greater(t, b.sent.Load(), int64(4*mib))
}

// TestWithoutAListTheDigestDecides: only size and SHA-256 are known.
func TestWithoutAListTheDigestDecides(t *testing.T) {
	data := content(5*mib+9, 7)
	s := serve(t, data, nil)
	spec := specFor(t, data, s.URL+"/x.gguf")
	spec.Chunks, spec.Size = nil, 0
	_, err := Get(context.Background(), spec, quick())
	require.NoError(t, err)
	right(t, spec, data)

	wrong := serve(t, content(5*mib+9, 8), nil)
	spec = specFor(t, data, wrong.URL+"/x.gguf")
	spec.Chunks = nil
	_, err = Get(context.Background(), spec, quick())
	require.ErrorIs(t, err, ErrDigest)
	require.NoFileExists(t, spec.Path)

	// The first source has another file: nothing but the whole can tell, and then the others are asked one by one.
	for _, size := range []int{5*mib + 9, 3 * mib} {
		wrong := serve(t, content(size, 8), nil)
		spec = specFor(t, data, wrong.URL+"/x.gguf", s.URL+"/x.gguf")
		spec.Chunks, spec.Size = nil, 0
		res, err := Get(context.Background(), spec, quick())
		require.NoError(t, err)
		right(t, spec, data)
		require.EqualValues(t, len(data), res.Size)
		spec = specFor(t, data, wrong.URL+"/x.gguf", wrong.URL+"/y.gguf")
		spec.Chunks, spec.Size = nil, 0
		_, err = Get(context.Background(), spec, quick())
		require.ErrorIs(t, err, ErrDigest)
		require.NoFileExists(t, spec.Path+PartSuffix)
	}

	// It changes while it is fetched: begun anew, once.
	changes := serve(t, content(5*mib+9, 8), func(s *server, n int, _, _ int64, _ http.ResponseWriter, _ *http.Request) bool {
		if n == 3 {
			s.mu.Lock()
			s.data, s.etag = data, `"two"`
			s.mu.Unlock()
		}
		return false
	})
	spec = specFor(t, data, changes.URL+"/x.gguf")
	spec.Chunks = nil
	o := quick()
	o.Connections = 1
	_, err = Get(context.Background(), spec, o)
	require.NoError(t, err)
	right(t, spec, data)
}

func TestPartsOfAnotherFileAreNotUsed(t *testing.T) {
	old, data := content(6*mib, 9), content(6*mib, 10)
	s := serve(t, old, func(s *server, n int, from, to int64, w http.ResponseWriter, _ *http.Request) bool {
		if _, etag := s.file(); n >= 4 && etag == `"one"` {
			w.WriteHeader(404)
			return true
		}
		return false
	})
	spec := specFor(t, data, s.URL+"/x.gguf")
	spec.Chunks = nil
	o := quick()
	o.Connections = 1
	_, err := Get(context.Background(), spec, o)
	require.ErrorIs(t, err, ErrSource)
	s.mu.Lock()
	s.data, s.etag = data, `"two"`
	s.mu.Unlock()
	res, err := Get(context.Background(), spec, o)
	require.NoError(t, err)
	require.Zero(t, res.Resumed)
	right(t, spec, data)
}

func TestResumeKeepsWhatIsRightAndFetchesTheRest(t *testing.T) {
	data := content(30*mib, 11)
	s := serve(t, data, nil)
	spec := specFor(t, data, s.URL+"/x")
	ctx, cancel := context.WithCancel(context.Background())
	o := quick()
	o.Progress = func(done, _ int64) {
		if done > 15*mib {
			cancel()
		}
	}
	_, err := Get(ctx, spec, o)
	require.ErrorIs(t, err, context.Canceled)
	require.NoFileExists(t, spec.Path)
	// One chunk rots on disk meanwhile, and the journal ends in the middle of a line.
	f, err := os.OpenFile(spec.Path+PartSuffix, os.O_RDWR, 0)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("rot"), 100)
	require.NoError(t, err)
	f.Close()
	st, err := os.Stat(spec.Path + StateSuffix)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(spec.Path+StateSuffix, st.Size()-10))
	res, err := Get(context.Background(), spec, quick())
	require.NoError(t, err)
	right(t, spec, data)
	require.GreaterOrEqual(t, res.Resumed, int64(13*mib))
	require.EqualValues(t, len(data), res.Resumed+res.Fetched)
}

func TestTwoAtOnceAreRefused(t *testing.T) {
	data := content(mib, 12)
	spec := specFor(t, data, "https://example.org/x")
	p, err := openPart(spec.Path)
	require.NoError(t, err)
	defer p.close()
	_, err = Get(context.Background(), spec, quick())
	require.ErrorIs(t, err, ErrBusy)
}

func TestAnotherFileOfTheNameStays(t *testing.T) {
	data := content(mib, 13)
	s := serve(t, data, nil)
	spec := specFor(t, data, s.URL+"/x")
	require.NoError(t, os.WriteFile(spec.Path, []byte("mine"), 0o666))
	_, err := Get(context.Background(), spec, quick())
	require.ErrorIs(t, err, ErrExists)
	have, err := os.ReadFile(spec.Path)
	require.NoError(t, err)
	require.Equal(t, "mine", string(have))
	spec.Force = true
	_, err = Get(context.Background(), spec, quick())
	require.NoError(t, err)
	right(t, spec, data)
}

func TestNoRoomIsSaidBeforeAnythingIsFetched(t *testing.T) {
	s := serve(t, content(mib, 1), func(_ *server, _ int, from, to int64, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, int64(format.MaxFile)))
		w.WriteHeader(206)
		_, _ = w.Write(make([]byte, to-from))
		return true
	})
	sum := [32]byte{1}
	spec := Spec{Path: filepath.Join(t.TempDir(), "x"), SHA256: &sum, Sources: []string{s.URL + "/x"}}
	_, err := Get(context.Background(), spec, quick())
	require.ErrorIs(t, err, ErrSpace)
	require.NoFileExists(t, spec.Path+PartSuffix)
}

func rangeText(from, to int64, size int) string {
	return fmt.Sprintf("bytes %d-%d/%d", from, to-1, size)
}
