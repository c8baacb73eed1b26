package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/zeebo/blake3"

	"jns/format"
)

// maxRun is the number of chunks asked for at once.
const maxRun = 32

// openSources makes the sources; that some are unfit is no error as long as one is fit.
func (g *get) openSources(ctx context.Context) error {
	client := newClient(g.opt)
	var errs []error
	for _, a := range g.spec.Sources {
		r, err := parseSource(a, g.spec.Name, client, g.opt)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		g.sources = append(g.sources, &src{remote: r, address: a})
	}
	if len(g.sources) > 0 {
		for _, err := range errs {
			g.note("%v", err)
		}
		return nil
	}
	if len(errs) == 0 {
		errs = append(errs, errors.New("none is known; give the address it can be had from, or --mirror ADDRESS"))
	}
	return fmt.Errorf("%w: %w", ErrSource, errors.Join(errs...))
}

func (g *get) closeSources() {
	for _, s := range g.sources {
		if s.first != nil {
			s.first.Close()
			s.first = nil
		}
	}
}

// learn finds the rule of the file, asking a source for what the caller does not know: the size, and the list that a container carries.
func (g *get) learn(ctx context.Context) (err error) {
	if g.spec.Chunks != nil {
		g.rule, err = listed(g.spec.Size, g.spec.Chunks)
		return err
	}
	for _, s := range g.sources {
		if err = g.probe(ctx, s, 0); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			g.otherwise(s, err)
			continue
		}
		if err = g.ruleOf(ctx, s); err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.kill(err)
		g.otherwise(s, err)
	}
	return g.noSource()
}

// otherwise says why a source is of no use, where another one may be.
func (g *get) otherwise(s *src, err error) {
	if len(g.sources) > 1 {
		g.note("%s: %v", s, err)
	}
}

// ruleOf learns from a source that answered.
func (g *get) ruleOf(ctx context.Context, s *src) (err error) {
	size := g.rule.size
	if s.noRanges {
		if g.spec.SHA256 == nil {
			return errors.New("the server does not send ranges, and without the file's SHA-256 they are needed")
		}
		return nil
	}
	r, err := carried(size, g.spec.Root, func(from, to int64) ([]byte, error) { return g.small(ctx, s, from, to) })
	switch {
	case err == nil:
		g.rule = r
	case errors.Is(err, format.ErrMagic) && g.spec.Root == nil, errors.Is(err, format.ErrVersion) && g.spec.SHA256 != nil:
		return nil // no container, or of a later kind: SHA-256 decides
	case g.spec.Root == nil && g.spec.SHA256 != nil && errors.Is(err, format.ErrCorrupt):
		g.note("%s: %v; it will be fetched whole and then compared", s, err)
		return nil
	}
	return err
}

// probe asks a source for its first byte: that tells the size, whether it sends ranges, and what its file is called today. size 0: take what it says.
func (g *get) probe(ctx context.Context, s *src, size int64) error {
	for {
		b, err := s.open(ctx, 0, 1, "")
		if err == nil {
			switch {
			case b.size < 0:
				err = permanentError{errors.New("the server does not say how long the file is")}
			case b.size == 0:
				err = permanentError{errors.New("the file there is empty")}
			case b.size > format.MaxFile:
				err = permanentError{fmt.Errorf("the file there is said to have %d bytes", b.size)}
			case size > 0 && b.size != size, g.spec.Size > 0 && b.size != g.spec.Size:
				err = permanentError{fmt.Errorf("the file there has %d bytes, not %d: it is another one", b.size, max(size, g.spec.Size))}
			}
			if err == nil {
				if s.noRanges, s.validator = b.whole, b.validator; b.whole {
					s.first = b
				} else {
					b.Close()
				}
				if g.rule == nil {
					g.rule = blind(b.size)
				}
				return nil
			}
			b.Close()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		wait, alive := s.failed(err, g.opt)
		if !alive {
			return err
		}
		g.note("%s: %v; trying again in %s", s, err, wait)
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// small reads a short range of one source, with retries.
func (g *get) small(ctx context.Context, s *src, from, to int64) ([]byte, error) {
	out := make([]byte, to-from)
	n := 0
	for {
		b, err := s.open(ctx, from+int64(n), to, s.validator)
		if err == nil {
			if b.whole {
				b.Close()
				return nil, errChanged
			}
			var k int
			k, err = io.ReadFull(b, out[n:])
			n += k
			g.count(k)
			b.Close()
			if err == nil {
				return out, nil
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		wait, alive := s.failed(err, g.opt)
		if !alive {
			return nil, err
		}
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

func (g *get) count(n int) { g.mu.Lock(); g.res.Fetched += int64(n); g.mu.Unlock() }

// want names what is being fetched, for the journal.
func (g *get) want() string {
	var b strings.Builder
	if g.spec.SHA256 != nil {
		fmt.Fprintf(&b, "sha256:%x ", *g.spec.SHA256)
	}
	if g.spec.Root != nil {
		fmt.Fprintf(&b, "root:%x ", *g.spec.Root)
	}
	if g.spec.Chunks != nil {
		h := blake3.New()
		for i := range g.spec.Chunks {
			h.Write(g.spec.Chunks[i][:])
		}
		fmt.Fprintf(&b, "chunks:%x ", h.Sum(nil))
	}
	return b.String()
}

// resume looks at what an earlier call left, and begins the journal.
func (g *get) resume(ctx context.Context) error {
	n := g.rule.chunks()
	g.state, g.left, g.blind = make([]byte, n), n, g.rule.list == nil
	g.tries, g.badFrom = map[int]int{}, map[int]*src{}
	head, chunks := g.part.read()
	same := head.Want == g.want() && head.Size == g.rule.size
	for _, s := range g.sources {
		if v, ok := head.Validators[s.String()]; ok && g.blind && s.validator != v {
			same = false // what is there may be of another file, and nothing could tell
		}
	}
	kept := map[int][32]byte{}
	if same {
		if err := g.recall(ctx, chunks, kept); err != nil {
			return err
		}
	} else if err := g.part.forget(); err != nil {
		return err
	}
	g.res.Resumed = g.doneSize
	if err := g.part.f.Truncate(g.rule.size); err != nil {
		return fmt.Errorf("%w: %w", ErrSpace, err)
	}
	head = journalHead{Want: g.want(), Size: g.rule.size, Validators: map[string]string{}}
	for _, s := range g.sources {
		if s.validator != "" {
			head.Validators[s.String()] = s.validator
		}
	}
	g.opt.Progress(g.doneSize, g.rule.size)
	return g.part.begin(head, kept)
}

// recall hashes the chunks that the journal names and keeps those that are right.
func (g *get) recall(ctx context.Context, chunks, kept map[int][32]byte) error {
	buf := make([]byte, format.ChunkSize)
	for i := range g.state { // in the order of the file, which disks read fastest
		want, written := chunks[i]
		if !written {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		lo, hi := g.rule.span(i)
		if n, err := g.part.f.ReadAt(buf[:hi-lo], lo); n < int(hi-lo) && err != nil {
			continue
		}
		if sum, good := g.rule.check(i, buf[:hi-lo]); good && sum == want {
			g.state[i] = done
			g.left--
			g.doneSize += hi - lo
			kept[i] = sum
		}
	}
	return nil
}

// fetch lets every source work on the chunks that are not there until none is left.
func (g *get) fetch(ctx context.Context) error {
	if g.left == 0 {
		return nil
	}
	alive := 0
	for _, s := range g.sources {
		if s.death() == nil {
			alive++
		}
	}
	conns := max(1, g.opt.Connections/max(1, alive))
	// What a crash loses are the chunks in flight: few of a small file.
	conns = max(1, min(conns, g.rule.chunks()/(24*max(1, alive))))
	var wg sync.WaitGroup
	for _, s := range g.sources {
		if s.death() == nil {
			wg.Go(func() { g.serve(ctx, s, conns) })
		}
	}
	wg.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fatal == nil && ctx.Err() != nil {
		g.fatal = ctx.Err()
	}
	if g.fatal == nil && g.left > 0 {
		g.fatal = g.noSource()
	}
	g.wake.Broadcast()
	return g.fatal
}

// noSource is the error when no source is left: each with its reason.
func (g *get) noSource() error {
	var parts []string
	changed := false
	for _, s := range g.sources {
		if err := s.death(); err != nil {
			parts = append(parts, fmt.Sprintf("%s: %v", s, err))
			changed = changed || errors.Is(err, errChanged)
		}
	}
	err := fmt.Errorf("%w: %s", ErrSource, strings.Join(parts, "; "))
	if changed {
		err = fmt.Errorf("%w: %w", err, errChanged)
	}
	return err
}

// serve works for one source: over several connections if it sends ranges, over one if it does not.
func (g *get) serve(ctx context.Context, s *src, conns int) {
	defer func() { g.mu.Lock(); g.wake.Broadcast(); g.mu.Unlock() }()
	if s.validator == "" && !s.noRanges { // not asked yet, or it has no validator
		if err := g.probe(ctx, s, g.rule.size); err != nil {
			g.gone(ctx, s)
			return
		}
	}
	if s.noRanges {
		conns = 1
	}
	var wg sync.WaitGroup
	for range conns {
		wg.Go(func() { g.work(ctx, s) })
	}
	wg.Wait()
	g.gone(ctx, s)
}

// gone tells that a source was given up while it was still needed.
func (g *get) gone(ctx context.Context, s *src) {
	g.mu.Lock()
	needed := g.left > 0 && g.fatal == nil
	g.mu.Unlock()
	if err := s.death(); err != nil && needed && ctx.Err() == nil && len(g.sources) > 1 {
		g.note("%s: given up: %v", s, err)
	}
}

// work is one connection.
func (g *get) work(ctx context.Context, s *src) {
	buf := make([]byte, format.ChunkSize)
	for s.death() == nil {
		a, b, ok := g.take(ctx, s)
		if !ok {
			return
		}
		s.mu.Lock()
		stream := s.noRanges
		s.mu.Unlock()
		if stream {
			g.putBack(a, b)
			g.stream(ctx, s, buf)
			continue
		}
		g.runOf(ctx, s, a, b, buf)
	}
}

// take gives the source a run of chunks, or waits for one; false when nothing will come.
func (g *get) take(ctx context.Context, s *src) (a, b int, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		if g.left == 0 || g.fatal != nil || ctx.Err() != nil || s.death() != nil {
			return 0, 0, false
		}
		for g.low < len(g.state) && g.state[g.low] != pending {
			g.low++
		}
		for a = g.low; a < len(g.state); a++ {
			if g.state[a] == pending && !g.avoid(a, s) {
				break
			}
		}
		if a < len(g.state) {
			most := max(1, min(maxRun, g.left/(2*g.opt.Connections)))
			for b = a; b < len(g.state) && b-a < most && g.state[b] == pending && !g.avoid(b, s); b++ {
				g.state[b] = taken
			}
			return a, b, true
		}
		g.wake.Wait()
	}
}

// avoid reports whether a chunk should come from another source, because this one sent it wrong.
func (g *get) avoid(i int, s *src) bool {
	return g.badFrom[i] == s && g.others(s)
}

func (g *get) putBack(a, b int) {
	g.mu.Lock()
	for i := a; i < b; i++ {
		if g.state[i] == taken {
			g.state[i] = pending
			g.low = min(g.low, i)
		}
	}
	g.wake.Broadcast()
	g.mu.Unlock()
}

// others reports whether another source than this one still works.
func (g *get) others(s *src) bool {
	for _, o := range g.sources {
		if o != s && o.death() == nil {
			return true
		}
	}
	return false
}

// runOf fetches the chunks a to b. A connection that breaks is taken up at the byte where it broke, unless another source can go on.
func (g *get) runOf(ctx context.Context, s *src, a, b int, buf []byte) {
	filled := 0
	_, end := g.rule.span(b - 1)
	for a < b {
		lo, _ := g.rule.span(a)
		s.mu.Lock()
		validator := s.validator
		s.mu.Unlock()
		body, err := s.open(ctx, lo+int64(filled), end, validator)
		if err == nil {
			before := int64(filled) + lo
			a, filled, err = g.consume(s, body, a, b, filled, buf)
			body.Close()
			if after, _ := g.rule.span(a); after+int64(filled)-before >= progressBytes {
				s.progress()
			}
		}
		if err == nil {
			continue // the range was shorter than asked for, or all is there
		}
		if errors.Is(err, errNoRanges) {
			break
		}
		if ctx.Err() != nil || g.stopped() {
			break
		}
		wait, alive := s.failed(err, g.opt)
		if !alive {
			break
		}
		g.note("%s: %v; trying again in %s", s, err, wait)
		away := g.others(s)
		if away {
			g.putBack(a, b)
		}
		if sleep(ctx, wait) != nil || away {
			break
		}
	}
	g.putBack(a, b)
}

// progressBytes is how much a source must send before it breaks, to count as one that works.
const progressBytes = 64 << 10

func (g *get) stopped() bool { g.mu.Lock(); defer g.mu.Unlock(); return g.fatal != nil }

var errNoRanges = errors.New("the server does not send ranges")

// consume reads chunks from an answer: from chunk a, of which filled bytes are in buf, up to b.
func (g *get) consume(s *src, in *body, a, b, filled int, buf []byte) (int, int, error) {
	if err := g.sameFile(s, in); err != nil {
		return a, filled, err
	}
	lo, _ := g.rule.span(a)
	if in.whole {
		s.mu.Lock()
		s.noRanges = true
		s.mu.Unlock()
		return a, filled, errNoRanges
	}
	if in.from != lo+int64(filled) || in.to <= in.from {
		return a, filled, fmt.Errorf("the source sends bytes from %d on, asked for were those from %d on", in.from, lo+int64(filled))
	}
	for a < b {
		lo, hi := g.rule.span(a)
		want := int(min(hi, in.to) - lo)
		n, err := io.ReadFull(in, buf[filled:want])
		filled += n
		g.count(n)
		if err != nil {
			return a, filled, fmt.Errorf("the connection broke at byte %d: %w", lo+int64(filled), err)
		}
		if int64(filled) < hi-lo {
			return a, filled, nil // a shorter range than asked for: ask for the rest
		}
		g.arrived(s, a, buf[:filled])
		a, filled = a+1, 0
		if err := s.death(); err != nil {
			return a, 0, err
		}
		if g.stopped() {
			return a, 0, nil
		}
	}
	return a, 0, nil
}

// maxChanges is how often a file may change its name tag while its chunks still can be checked one by one.
const maxChanges = 3

// sameFile compares what an answer says of the file with what the source said first.
func (g *get) sameFile(s *src, in *body) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in.size >= 0 && in.size != g.rule.size {
		return permanentError{fmt.Errorf("%w: it has %d bytes now, not %d", errChanged, in.size, g.rule.size)}
	}
	if s.validator == in.validator || s.validator == "" {
		return nil
	}
	if !g.rule.anchored {
		return permanentError{errChanged}
	}
	if s.changes++; s.changes > maxChanges {
		return permanentError{errChanged}
	}
	s.validator = in.validator // chunks prove themselves, whatever the server calls the file
	return nil
}

// arrived checks a chunk and writes it.
func (g *get) arrived(s *src, i int, b []byte) {
	sum, good := g.rule.check(i, b)
	if !good {
		g.wrong(s, i)
		return
	}
	lo, _ := g.rule.span(i)
	_, err := g.part.f.WriteAt(b, lo)
	if err == nil {
		writeBack(g.part.f, lo, int64(len(b)))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		err = g.part.wrote(i, sum)
	}
	if err != nil {
		if g.fatal == nil {
			g.fatal = fmt.Errorf("writing: %w", err)
		}
		g.wake.Broadcast()
		return
	}
	s.good()
	g.state[i] = done
	g.left--
	g.doneSize += int64(len(b))
	g.opt.Progress(g.doneSize, g.rule.size)
	g.wake.Broadcast()
}

// wrong deals with a chunk that is not what it should be: it is tried again, elsewhere if possible, and a source that sends several in a row is given up.
func (g *get) wrong(s *src, i int) {
	lo, hi := g.rule.span(i)
	g.mu.Lock()
	g.tries[i]++
	g.res.Bad++
	g.badFrom[i] = s
	g.state[i] = pending
	g.low = min(g.low, i)
	n := g.tries[i]
	if n >= badPerChunk && g.fatal == nil {
		g.fatal = fmt.Errorf("%w: chunk %d (bytes %d to %d) arrived wrong %d times, last from %s; the sources have another file, or something between changes it", ErrDigest, i, lo, hi, n, s)
	}
	g.wake.Broadcast()
	g.mu.Unlock()
	g.note("%s: chunk %d (bytes %d to %d) is not what it should be", s, i, lo, hi)
	s.mu.Lock()
	if s.bad++; s.bad >= badInRow && s.dead == nil {
		s.dead = fmt.Errorf("%w: %d chunks in a row", ErrDigest, s.bad)
	}
	s.mu.Unlock()
}

// stream reads the whole file from a source that sends no ranges, and takes what is needed.
func (g *get) stream(ctx context.Context, s *src, buf []byte) {
	s.mu.Lock()
	in := s.first
	s.first = nil
	s.mu.Unlock()
	var err error
	if in == nil {
		in, err = s.open(ctx, 0, g.rule.size, "")
	}
	if err == nil {
		if err = g.sameFile(s, in); err == nil {
			err = g.pass(ctx, s, in, buf)
		}
		in.Close()
	}
	if err == nil || ctx.Err() != nil || g.stopped() {
		return
	}
	if wait, alive := s.failed(err, g.opt); alive {
		g.note("%s: %v; trying again in %s", s, err, wait)
		_ = sleep(ctx, wait)
	}
}

// pass goes through an answer that begins with the file's first byte.
func (g *get) pass(ctx context.Context, s *src, in io.Reader, buf []byte) error {
	for i := range g.rule.chunks() {
		lo, hi := g.rule.span(i)
		g.mu.Lock()
		mine := g.state[i] == pending && !g.avoid(i, s)
		if mine {
			g.state[i] = taken
		}
		over := g.left == 0 || g.fatal != nil
		g.mu.Unlock()
		if over || s.death() != nil {
			if mine {
				g.putBack(i, i+1)
			}
			return nil
		}
		n, err := io.ReadFull(in, buf[:hi-lo])
		g.count(n)
		if err != nil {
			if mine {
				g.putBack(i, i+1)
			}
			return fmt.Errorf("the connection broke at byte %d: %w", lo+int64(n), err)
		}
		if mine {
			g.arrived(s, i, buf[:n])
		}
	}
	return nil
}
