package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"jns/format"
)

// Verify proves that a file on disk is what Spec says, in one pass over it, and says by what. Without SHA256, Root and Chunks a container is compared with what it carries
// itself. Errors wrap ErrDigest and name the chunks that are wrong.
func Verify(ctx context.Context, spec Spec, opt Options) (proof string, err error) {
	opt.fill()
	f, size, err := format.OpenFile(spec.Path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if spec.Size > 0 && size != spec.Size {
		return "", fmt.Errorf("%s: %w: it has %d bytes, not %d", spec.Path, ErrDigest, size, spec.Size)
	}
	r, err := localRule(f, size, &spec)
	if err != nil {
		return "", fmt.Errorf("%s: %w", spec.Path, err)
	}
	if r.list != nil {
		bad, err := badChunks(ctx, f, r, opt.Progress)
		if err != nil {
			return "", err
		}
		if len(bad) > 0 {
			return "", fmt.Errorf("%s: %w: %s", spec.Path, ErrDigest, describe(bad, r))
		}
	}
	if spec.Root != nil {
		if err := checkRoot(f, *spec.Root); err != nil {
			return "", fmt.Errorf("%s: %w", spec.Path, err)
		}
	}
	if spec.SHA256 != nil && !r.anchored {
		h := sha256.New()
		if _, err := io.Copy(h, &interruptible{ctx, f}); err != nil {
			return "", err
		}
		if have := [32]byte(h.Sum(nil)); have != *spec.SHA256 {
			return "", fmt.Errorf("%s: %w: SHA-256 is %x, not %x", spec.Path, ErrDigest, have, *spec.SHA256)
		}
		return "SHA-256", nil
	}
	return r.proof, nil
}

type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i *interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.r.Read(p)
}

// localRule is the rule of a file at hand.
func localRule(f io.ReaderAt, size int64, spec *Spec) (*rule, error) {
	if spec.Chunks != nil {
		return listed(size, spec.Chunks)
	}
	r, err := carried(size, spec.Root, func(from, to int64) ([]byte, error) {
		if to > size || to < from {
			return nil, fmt.Errorf("%w: the file ends at %d", format.ErrCorrupt, size)
		}
		b := make([]byte, to-from)
		_, err := f.ReadAt(b, from)
		return b, err
	})
	switch {
	case err == nil:
		return r, nil
	case spec.SHA256 != nil && spec.Root == nil:
		return blind(size), nil
	case errors.Is(err, format.ErrCorrupt):
		return nil, fmt.Errorf("%w: %w", ErrDigest, err)
	}
	return nil, err
}

// badChunks gives the numbers of the chunks that break the rule, ascending.
func badChunks(ctx context.Context, f io.ReaderAt, r *rule, progress func(done, total int64)) ([]int, error) {
	var mu sync.Mutex
	var bad []int
	var total int64
	var next atomic.Int64
	workers := min(runtime.GOMAXPROCS(0), r.chunks())
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			buf := make([]byte, format.ChunkSize)
			for errs[w] == nil {
				i := int(next.Add(1)) - 1
				if i >= r.chunks() {
					return
				}
				if errs[w] = ctx.Err(); errs[w] != nil {
					return
				}
				lo, hi := r.span(i)
				n, err := f.ReadAt(buf[:hi-lo], lo)
				if n < int(hi-lo) && err != nil && !errors.Is(err, io.EOF) {
					errs[w] = err
					return
				}
				good := n == int(hi-lo) // the file may end before
				if good {
					_, good = r.check(i, buf[:n])
				}
				mu.Lock()
				if !good {
					bad = append(bad, i)
				}
				total += hi - lo
				progress(total, r.size)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(bad)
	return bad, errors.Join(errs...)
}

// describe says which chunks are bad.
func describe(bad []int, r *rule) string {
	lo, hi := r.span(bad[0])
	s := fmt.Sprintf("chunk %d (bytes %d to %d) is damaged", bad[0], lo, hi)
	if len(bad) > 1 {
		s += fmt.Sprintf(", and %d more of %d", len(bad)-1, r.chunks())
	}
	return s
}

// Repair mends a damaged file where it lies: the chunks that are wrong are fetched again, and nothing else. The file's own list of chunks tells which they are if Spec does
// not; if that list is damaged too, it comes from a source and must fit what the header says. Only chunks that were proved are written, and what follows the end is cut off last, so that a file
// is never worse than before.
func Repair(ctx context.Context, spec Spec, opt Options) (*Result, error) {
	opt.fill()
	p, err := openInPlace(spec.Path)
	if err != nil {
		return nil, err
	}
	defer p.close()
	st, err := p.f.Stat()
	if err != nil {
		return nil, err
	}
	g := &get{spec: &spec, opt: &opt, part: p, res: &Result{Path: spec.Path}}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g.wake = sync.NewCond(&g.mu)
	defer context.AfterFunc(ctx, func() { g.mu.Lock(); g.wake.Broadcast(); g.mu.Unlock() })()
	defer g.closeSources()
	size := st.Size()
	if spec.Chunks != nil {
		size = spec.Size
	}
	if g.rule, err = localRule(p.f, size, &spec); err != nil || g.rule.list == nil {
		if err := g.remoteRule(ctx, err); err != nil {
			return nil, err
		}
	}
	bad, err := badChunks(ctx, p.f, g.rule, func(int64, int64) {})
	if err != nil {
		return nil, err
	}
	n := g.rule.chunks()
	long := st.Size() - g.rule.size
	g.state, g.left, g.doneSize = bytes.Repeat([]byte{done}, n), len(bad), g.rule.size
	g.tries, g.badFrom = map[int]int{}, map[int]*src{}
	for _, i := range bad {
		lo, hi := g.rule.span(i)
		g.state[i] = pending
		g.doneSize -= hi - lo
	}
	g.res.Size, g.res.Proof, g.res.Already = g.rule.size, g.rule.proof, len(bad) == 0 && long <= 0
	if len(bad) > 0 {
		if g.sources == nil {
			if err := g.openSources(ctx); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", spec.Path, describe(bad, g.rule), err)
			}
		}
		g.opt.Progress(g.doneSize, g.rule.size)
		if err := g.fetch(ctx); err != nil {
			return nil, err
		}
		g.res.Bad = len(bad)
	}
	if long > 0 {
		g.note("%s: cutting off %d bytes that follow its end", spec.Path, long)
		if err := p.f.Truncate(g.rule.size); err != nil {
			return nil, err
		}
	}
	return g.res, g.finish(ctx)
}

// remoteRule learns the rule from a source, because the file at hand cannot tell it.
func (g *get) remoteRule(ctx context.Context, why error) error {
	if g.spec.Root == nil {
		return fmt.Errorf("%s: %w; its own list of chunks is of no use: name its manifest, or give --root", g.spec.Path, errors.Join(ErrDigest, why))
	}
	g.opt.Note(fmt.Sprintf("%s: %v; asking the sources", g.spec.Path, why))
	if err := g.openSources(ctx); err != nil {
		return err
	}
	g.rule = nil
	return g.learn(ctx)
}

// finish makes the mended file durable, and proves what the chunks alone do not.
func (g *get) finish(ctx context.Context) error {
	if !g.res.Already {
		if err := g.part.f.Sync(); err != nil {
			return err
		}
	}
	if g.spec.Root != nil {
		if err := checkRoot(g.part.f, *g.spec.Root); err != nil {
			return fmt.Errorf("%s: %w", g.spec.Path, err)
		}
	}
	if g.spec.SHA256 != nil && !g.rule.anchored {
		h := sha256.New()
		if _, err := io.Copy(h, &interruptible{ctx, io.NewSectionReader(g.part.f, 0, g.rule.size)}); err != nil {
			return err
		}
		if have := [32]byte(h.Sum(nil)); have != *g.spec.SHA256 {
			return fmt.Errorf("%s: %w: every chunk is what the file itself says, but its SHA-256 is %x, not %x", g.spec.Path, ErrDigest, have, *g.spec.SHA256)
		}
		g.res.Proof = "SHA-256"
	}
	return nil
}
