package fetch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"jns/format"
)

// Errors of this package wrap one of these (or an error of the system).
var (
	// ErrSource: no source gave the file; the text says for each why not.
	ErrSource = errors.New("no source gives the file")
	// ErrDigest: what was fetched, or lies on disk, is not what it should be.
	ErrDigest = errors.New("wrong bytes")
	// ErrNoDirectory: a file is to be written into a directory that is not there.
	ErrNoDirectory = errors.New("its directory is not there; make it first")
	// ErrBusy: another process is fetching the same file.
	ErrBusy = errors.New("another process is fetching this file")
	// ErrExists: there is a file of that name with other contents.
	ErrExists = errors.New("a file of that name is there and is not this one")
	// ErrSpace: the disk has no room for the file.
	ErrSpace = errors.New("not enough room on the disk")
	// ErrRefused: a source may not be used: an address, a redirect or a name that is not safe.
	ErrRefused = errors.New("refused")
	// ErrOffline: something would have to be fetched.
	ErrOffline = errors.New("offline")

	errChanged = errors.New("the file changed on the server while it was fetched")
	errWhole   = fmt.Errorf("%w: the source has another file", ErrDigest)
)

// Spec says what a file must be and where it can be had. At least one of SHA256, Root and Chunks must be set.
type Spec struct {
	Path    string     // where it shall lie
	Name    string     // how sources that hold several files call it; empty: the last element of Path
	Size    int64      // 0: not known
	SHA256  *[32]byte  // of the whole file
	Root    *[32]byte  // root digest of a container
	Chunks  [][32]byte // BLAKE3 of every MiB; they prove the file without SHA256
	Sources []string   // addresses, the best first
	Force   bool       // replace a file of that name that is not this one
}

// Options: the zero value is useful.
type Options struct {
	Connections int           // in all; 0: 8
	Retries     int           // failures of a source in a row, without a whole chunk between them, before it is given up; 0: 8
	Backoff     time.Duration // wait after the first failure, doubled after each; 0: half a second
	Stall       time.Duration // a source that sends nothing for so long has failed; 0: 30 s
	Offline     bool          // use only files of this machine
	LocalFiles  bool          // file: addresses are allowed
	Getenv      func(string) string
	Transport   http.RoundTripper // nil: the standard one, with proxies from the environment
	Progress    func(done, total int64)
	Note        func(string) // told what went wrong and is being dealt with; may be called by several goroutines, one at a time
}

const (
	maxBackoff    = 30 * time.Second
	maxRetryAfter = 5 * time.Minute
	spareDisk     = 16 << 20
	// badInRow is how many bad chunks in a row make a source useless, badPerChunk how often one chunk is tried.
	badInRow    = 3
	badPerChunk = 3
	// PartSuffix marks an unfinished file, StateSuffix the journal beside it.
	PartSuffix  = ".part"
	StateSuffix = ".part.state"
)

func (o *Options) fill() {
	if o.Connections <= 0 {
		o.Connections = 8
	}
	if o.Retries <= 0 {
		o.Retries = 8
	}
	if o.Backoff <= 0 {
		o.Backoff = 500 * time.Millisecond
	}
	if o.Stall <= 0 {
		o.Stall = 30 * time.Second
	}
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if o.Note == nil {
		o.Note = func(string) {}
	}
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
}

// Result says what was done.
type Result struct {
	Path    string
	Size    int64
	Already bool  // the file was there and right; nothing was fetched
	Resumed int64 // bytes that an earlier, interrupted call had left
	Fetched int64 // bytes that sources sent
	Bad     int   // chunks that arrived wrong and were fetched again
	Proof   string
}

// Get puts a file on disk. It appears under its name only when it was proved to be what Spec says and is on disk. What an interrupted call fetched is used by the
// next one. Errors wrap one of the sentinels of this package.
func Get(ctx context.Context, spec Spec, opt Options) (*Result, error) {
	opt.fill()
	if spec.SHA256 == nil && spec.Root == nil && spec.Chunks == nil {
		return nil, fmt.Errorf("%w: nothing is known that could prove the file; give its SHA-256", ErrRefused)
	}
	if spec.Name == "" {
		spec.Name = filepath.Base(spec.Path)
	}
	if res, err := there(ctx, &spec, opt); res != nil || err != nil {
		return res, err
	}
	p, err := openPart(spec.Path)
	if err != nil {
		return nil, err
	}
	defer p.close()
	var alone []string // sources still to be asked one by one
	for try := 0; ; try++ {
		g := &get{spec: &spec, opt: &opt, part: p, res: &Result{Path: spec.Path}}
		if err = g.run(ctx); err == nil {
			return g.res, p.commit(spec.Path)
		}
		switch {
		case errors.Is(err, errChanged) && try == 0:
			opt.Note(err.Error() + "; beginning anew")
		case errors.Is(err, errWhole) && (try == 0 || len(alone) > 0):
			// One of them has another file, and only the whole could tell.
			if try == 0 {
				alone = g.suspects()
			}
			if len(alone) == 0 {
				p.discard()
				return nil, err
			}
			spec.Sources, alone = alone[:1], alone[1:]
			opt.Note(fmt.Sprintf("%v; trying %s alone", err, spec.Sources[0]))
		default:
			if g.doneSize == 0 { // nothing worth keeping
				err = errors.Join(err, p.forget())
			}
			p.discard()
			return nil, err
		}
		if err := p.forget(); err != nil {
			return nil, err
		}
	}
}

// suspects lists the sources to ask one by one after a file that was put together from all of them turned out wrong: none if there is but one, and not the one that
// sent everything.
func (g *get) suspects() []string {
	if len(g.sources) < 2 {
		return nil
	}
	var out, gave []string
	for _, s := range g.sources {
		if s.gave {
			gave = append(gave, s.address)
		} else {
			out = append(out, s.address)
		}
	}
	if len(gave) > 1 {
		out = append(gave, out...)
	}
	return out
}

// there looks whether the file is on disk already.
func there(ctx context.Context, spec *Spec, opt Options) (*Result, error) {
	st, err := os.Lstat(spec.Path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w: it is no regular file", spec.Path, ErrExists)
	}
	proof, err := Verify(ctx, *spec, opt)
	switch {
	case err == nil:
		return &Result{Path: spec.Path, Size: st.Size(), Already: true, Proof: proof}, nil
	case ctx.Err() != nil:
		return nil, err
	case spec.Force:
		return nil, nil
	}
	return nil, fmt.Errorf("%w: %w; jns-get repair mends a damaged one, --force replaces it", ErrExists, err)
}

// get is one file being fetched.
type get struct {
	spec *Spec
	opt  *Options
	part *part
	res  *Result

	rule    *rule
	sources []*src
	blind   bool // nothing proves a chunk by itself: the whole file's SHA-256 decides

	mu       sync.Mutex
	wake     *sync.Cond
	state    []byte // of every chunk: pending, taken, done
	tries    map[int]int
	badFrom  map[int]*src
	low      int // no chunk before it is pending
	left     int // chunks that are not done
	doneSize int64
	fatal    error
	noted    sync.Mutex
}

const (
	pending byte = iota
	taken
	done
)

func (g *get) note(format string, args ...any) {
	g.noted.Lock()
	defer g.noted.Unlock()
	g.opt.Note(fmt.Sprintf(format, args...))
}

// run is the main path: ask the sources, learn what the bytes must be, look at what is there, fetch the rest, prove the whole.
func (g *get) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g.wake = sync.NewCond(&g.mu)
	defer context.AfterFunc(ctx, func() { g.mu.Lock(); g.wake.Broadcast(); g.mu.Unlock() })()
	if err := g.openSources(ctx); err != nil {
		return err
	}
	defer g.closeSources()
	if err := g.learn(ctx); err != nil {
		return err
	}
	if err := g.resume(ctx); err != nil {
		return err
	}
	if err := g.room(); err != nil {
		return err
	}
	var sum *frontier
	if !g.rule.anchored && g.spec.SHA256 != nil {
		sum = g.startFrontier(ctx)
	}
	err := g.fetch(ctx)
	if sum != nil {
		if e := sum.wait(); err == nil {
			err = e
		}
	}
	if err != nil {
		return err
	}
	return g.prove(sum)
}

// room compares what is still to be written with the free space.
func (g *get) room() error {
	free, ok := freeSpace(filepath.Dir(g.spec.Path))
	need := uint64(g.rule.size - g.doneSize + spareDisk)
	if ok && g.left > 0 && free < need {
		return fmt.Errorf("%w: %s needs %d MiB more, %d MiB are free", ErrSpace, filepath.Dir(g.spec.Path), need>>20, free>>20)
	}
	return nil
}

// prove checks what must hold of the whole file, when every chunk is there.
func (g *get) prove(sum *frontier) error {
	g.res.Size = g.rule.size
	g.res.Proof = g.rule.proof
	if g.spec.Root != nil {
		if err := checkRoot(g.part.f, *g.spec.Root); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", g.spec.Path, err), g.part.forget())
		}
	}
	if sum != nil {
		if have := [32]byte(sum.h.Sum(nil)); have != *g.spec.SHA256 {
			return errors.Join(fmt.Errorf("%w: what was fetched has SHA-256 %x, not %x; nothing of it was kept", errWhole, have, *g.spec.SHA256), g.part.forget())
		}
		g.res.Proof = "SHA-256"
	}
	return nil
}

// checkRoot compares the root digest of a container's header. A header of a later version is none of our business.
func checkRoot(r io.ReaderAt, root [32]byte) error {
	b := make([]byte, format.HeaderSize)
	if _, err := r.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if _, err := format.DecodeHeader(b); err != nil && !errors.Is(err, format.ErrVersion) {
		return fmt.Errorf("%w: %w", ErrDigest, err)
	}
	if have := [32]byte(b[format.HeaderSize-32:]); have != root {
		return fmt.Errorf("%w: root digest %x, wanted %x: this is another container", ErrDigest, have, root)
	}
	return nil
}

// frontier computes the SHA-256 of the file behind the chunks as they become done, in order.
type frontier struct {
	h    hash.Hash
	stop chan error
}

func (g *get) startFrontier(ctx context.Context) *frontier {
	f := &frontier{h: sha256.New(), stop: make(chan error, 1)}
	go func() { f.stop <- g.follow(ctx, f.h) }()
	return f
}

func (f *frontier) wait() error { return <-f.stop }

// follow hashes the chunks in order, each as soon as it is there. It may have much to do after the last has arrived, so it looks at ctx itself.
func (g *get) follow(ctx context.Context, h hash.Hash) error {
	buf := make([]byte, format.ChunkSize)
	for i := range g.rule.chunks() {
		g.mu.Lock()
		for g.state[i] != done && g.fatal == nil {
			g.wake.Wait()
		}
		err := g.fatal
		g.mu.Unlock()
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		lo, hi := g.rule.span(i)
		if _, err := g.part.f.ReadAt(buf[:hi-lo], lo); err != nil {
			return err
		}
		h.Write(buf[:hi-lo])
	}
	return nil
}
