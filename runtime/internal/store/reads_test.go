package store

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// injected is a device that does what it is told to.
type injected struct {
	file   []byte
	queue  []job
	result func(n int, buf []byte) int // of read n, len(buf) for all of it; negative: an errno
	order  func(n int) int             // which of n reads under way ends next
	delay  time.Duration
	n      int
	broken error
	closed bool
}

type job struct {
	tag int
	buf []byte
	off int64
}

func (d *injected) start(tag int, buf []byte, off int64, _ bool) error {
	d.queue = append(d.queue, job{tag, buf, off})
	return nil
}
func (d *injected) flush() error { return nil }
func (d *injected) depth() int   { return 8 }
func (d *injected) close() error { d.closed = true; return nil }
func (d *injected) reap(wait bool, f func(tag, res int)) error {
	if d.broken != nil {
		return d.broken
	}
	if len(d.queue) == 0 {
		return nil
	}
	time.Sleep(d.delay)
	i := 0
	if d.order != nil {
		i = d.order(len(d.queue))
	}
	j := d.queue[i]
	d.queue = append(d.queue[:i], d.queue[i+1:]...)
	res := len(j.buf)
	if d.result != nil {
		res = d.result(d.n, j.buf)
	}
	d.n++
	if res > 0 {
		res = copy(j.buf[:res], d.file[min(j.off, int64(len(d.file))):])
	}
	f(j.tag, res)
	return nil
}

const block = 4096

func content(blocks int) []byte {
	b := make([]byte, blocks*block)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// readAll reads 40 ranges and compares; it gives the errors.
func readAll(t *testing.T, q *Reads, file []byte) (errs []error) {
	rs := make([]*Read, 40)
	for i := range rs {
		rs[i] = &Read{Off: int64(i * block), Buf: make([]byte, 3*block)}
	}
	q.Start(rs...)
	for i := range rs {
		r := rs[(i*7)%len(rs)]
		if err := q.Wait(r); err != nil {
			require.ErrorIs(t, err, ErrRead)
			errs = append(errs, err)
			continue
		}
		require.True(t, bytes.Equal(r.Buf, file[r.Off:r.Off+3*block]), "range at %d", r.Off)
	}
	require.NoError(t, q.Close())
	return errs
}

func TestReadsComeWholeWhateverTheDeviceDoes(t *testing.T) {
	file := content(64)
	short := func(n int, buf []byte) int { return max(block, len(buf)/2) &^ (block - 1) }
	for name, d := range map[string]*injected{
		"plain":       {},
		"reordered":   {order: func(n int) int { return n - 1 }},
		"delayed":     {delay: time.Millisecond},
		"short":       {result: short},
		"unaligned":   {result: func(n int, buf []byte) int { return len(buf) - 100 }},
		"a few bytes": {result: func(n int, buf []byte) int { return 100 }},
		"interrupted": {result: func(n int, buf []byte) int {
			if n%2 == 0 {
				return -int(syscall.EINTR)
			}
			return short(n, buf)
		}},
		"refused": {result: func(n int, buf []byte) int { return -int(syscall.EOPNOTSUPP) }},
		"invalid": {result: func(n int, buf []byte) int { return -int(syscall.EINVAL) }},
	} {
		t.Run(name, func(t *testing.T) {
			d.file = file
			require.Empty(t, readAll(t, newReads("f", d, bytes.NewReader(file), block), file))
			require.True(t, d.closed)
		})
	}
}

func TestAFailureOfAnyReadIsAnErrorOfThatReadAlone(t *testing.T) {
	file := content(64)
	for bad := range 40 {
		d := &injected{file: file, order: func(n int) int { return (bad * 13) % n }, result: func(n int, buf []byte) int {
			if n == bad {
				return -int(syscall.EIO)
			}
			return len(buf)
		}}
		errs := readAll(t, newReads("f", d, bytes.NewReader(file), block), file)
		require.Len(t, errs, 1)
		require.ErrorIs(t, errs[0], syscall.EIO)
	}
}

func TestAFileThatEndsEarlyIsTruncated(t *testing.T) {
	file := content(64)
	cut := file[:20*block+10]
	d := &injected{file: cut}
	errs := readAll(t, newReads("f", d, bytes.NewReader(cut), block), file)
	require.Len(t, errs, 40-18)
	for _, err := range errs {
		require.ErrorIs(t, err, ErrTruncated)
	}
}

func TestADeviceThatBreaksLosesTheMemoryOfItsReads(t *testing.T) {
	file := content(64)
	d := &injected{file: file, broken: syscall.EPERM}
	q := newReads("f", d, bytes.NewReader(file), block)
	rs := make([]*Read, 12)
	for i := range rs {
		rs[i] = &Read{Buf: make([]byte, block)}
	}
	q.Start(rs...)
	lost := 0
	for _, r := range rs {
		if q.Wait(r) != nil {
			require.True(t, r.Lost())
			lost++
		}
	}
	require.Equal(t, d.depth(), lost, "what was under way; the rest was read in the plain way")
	again := &Read{Buf: make([]byte, block)}
	q.Start(again)
	require.NoError(t, q.Wait(again))
	require.NoError(t, q.Close())
}

func TestBackendsReadTheSame(t *testing.T) {
	file := content(600)
	name := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(name, file, 0o600))
	s, err := Open(name)
	require.NoError(t, err)
	mem, err := Frames(300 * block)
	require.NoError(t, err)
	before := runtime.NumGoroutine()
	for _, kind := range []string{Auto, Uring, Pread, Mmap} {
		b, err := s.OpenBackend(kind, mem, Probe{Off: 0, Length: int64(len(file)), Slot: 4 * block})
		if kind == Uring && err != nil {
			t.Log(err) // pread is tried after it, so that only an unreadable file fails
		}
		require.NoError(t, err, kind)
		require.NotEmpty(t, b.Why)
		t.Log(kind, b.Name, b.Why)
		for _, q := range []*Reads{b.Demand, b.Ahead} {
			clear(mem)
			rs := make([]*Read, 100)
			for i := range rs {
				rs[i] = &Read{Off: int64(i) * 5 * block, Buf: mem[i*3*block:][:3*block]}
			}
			q.Start(rs...)
			for i, r := range rs {
				require.NoError(t, q.Wait(r))
				require.True(t, bytes.Equal(r.Buf, file[i*5*block:][:3*block]), "%s: range %d", b.Name, i)
			}
			end := &Read{Off: 598 * block, Buf: mem[:4*block]}
			q.Start(end)
			require.ErrorIs(t, q.Wait(end), ErrTruncated, b.Name)
		}
		require.NoError(t, b.Close())
	}
	_, err = s.OpenBackend("tape", mem, Probe{})
	require.ErrorIs(t, err, ErrBackend)
	require.NoError(t, FreeFrames(mem))
	require.NoError(t, s.Close())
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
}

func TestAChangedFileIsNoticed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(name, content(4), 0o600))
	s, err := Open(name)
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Changed())
	require.NoError(t, os.Chtimes(name, time.Now(), time.Now().Add(time.Hour)))
	require.ErrorIs(t, s.Changed(), ErrRead)
	require.NoError(t, os.Truncate(name, 10))
	require.ErrorIs(t, s.Changed(), ErrTruncated)
}

// What is done for every token, and thousands of times where a worker looks for the end of a read, leaves nothing for the collector.
func TestReadingAllocatesNothing(t *testing.T) {
	file := content(64)
	name := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(name, file, 0o600))
	s, err := Open(name)
	require.NoError(t, err)
	defer s.Close()
	mem, err := Frames(16 * block)
	require.NoError(t, err)
	for _, kind := range []string{Uring, Pread, Mmap} {
		b, err := s.OpenBackend(kind, mem, Probe{Length: int64(len(file)), Slot: 4 * block})
		require.NoError(t, err)
		rs := make([]*Read, 4)
		for i := range rs {
			rs[i] = &Read{Off: int64(i) * 9 * block, Buf: mem[i*4*block:][:4*block]}
		}
		require.Zero(t, testing.AllocsPerRun(100, func() {
			b.Demand.Start(rs...)
			for _, r := range rs {
				b.Demand.Poll()
				if b.Demand.Wait(r) != nil {
					t.Fail()
				}
			}
			b.Ahead.Poll()
			if s.Changed() != nil {
				t.Fail()
			}
		}), b.Name)
		require.NoError(t, b.Close())
	}
	require.NoError(t, FreeFrames(mem))
}

// A container's seccomp profile refuses io_uring, tmpfs refused O_DIRECT for long: whatever is refused, and whenever, something reads.
func TestWhatTheSystemRefusesFallsBack(t *testing.T) {
	oldRing, oldDirect := ringFor, directFor
	defer func() { ringFor, directFor = oldRing, oldDirect }()
	file := content(64)
	name := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(name, file, 0o600))
	s, err := Open(name)
	require.NoError(t, err)
	defer s.Close()
	read := func(kind, want, why string) {
		t.Helper()
		mem := make([]byte, 4*block)
		b, err := s.OpenBackend(kind, mem, Probe{Length: int64(len(file)), Slot: 4 * block})
		require.NoError(t, err)
		require.Equal(t, want, b.Name)
		require.Contains(t, b.Why, why)
		r := &Read{Off: block, Buf: mem}
		b.Demand.Start(r)
		require.NoError(t, b.Demand.Wait(r))
		require.True(t, bytes.Equal(mem, file[block:5*block]))
		require.NoError(t, b.Close())
	}
	direct := func(path string) (*os.File, int, error) {
		f, err := os.Open(path)
		return f, block, err
	}
	directFor = direct
	for _, e := range []syscall.Errno{syscall.EPERM, syscall.ENOSYS} {
		ringFor = func(*os.File) (device, error) { return nil, e }
		read(Auto, "pread direct", e.Error())
		read(Uring, "pread direct", e.Error())
	}
	for _, e := range []syscall.Errno{syscall.EINVAL, syscall.EOPNOTSUPP, syscall.EPERM} { // at the first read
		ringFor = func(*os.File) (device, error) {
			return &injected{file: file, result: func(int, []byte) int { return -int(e) }}, nil
		}
		read(Auto, "pread direct", "refused")
	}
	directFor = func(string) (*os.File, int, error) { return nil, 0, syscall.EINVAL }
	read(Auto, "pread buffered", syscall.EINVAL.Error())
	ringFor = func(*os.File) (device, error) { return &injected{file: file}, nil }
	read(Auto, "io_uring buffered", syscall.EINVAL.Error())
}

// Few reads are under way at once, in the order in which they were started; the rest begins as others end, by whoever looks.
func TestReadsBeginAsOthersEnd(t *testing.T) {
	const size = 3 << 20
	first, second := &injected{file: make([]byte, size)}, &injected{file: make([]byte, size)}
	demand, ahead := newReads("f", first, bytes.NewReader(first.file), block), newReads("f", second, bytes.NewReader(second.file), block)
	ahead.follow(demand)
	list := func(n int) (all []*Read) {
		for range n {
			all = append(all, &Read{Buf: make([]byte, size)})
		}
		return all
	}
	now, later := list(7), list(3)
	demand.Start(now...)
	ahead.Start(later...)
	require.Len(t, first.queue, leastReads, "more than demandBytes, and no more of them than must be")
	require.Empty(t, second.queue, "the device is busy with what is wanted now")
	require.NoError(t, demand.Wait(now[0]))
	require.False(t, now[1].Ended())
	require.Len(t, first.queue, leastReads, "the next one has begun")
	for i := 0; !later[2].Ended(); i++ {
		require.Less(t, i, 100)
		demand.Keep()
		ahead.Keep()
		if ahead.flight.held.Load() == 0 {
			ahead.Poll()
		}
	}
	require.NoError(t, demand.Wait(now[6]))
	for _, q := range []*Reads{demand, ahead} {
		require.Zero(t, q.flight.bytes.Load())
		require.Zero(t, q.flight.held.Load())
		require.NoError(t, q.Close())
	}
}

// Whoever waits for a read that was to begin after others gets it, although nobody looks after those.
func TestWaitingForAReadThatIsHeldBack(t *testing.T) {
	const size = 3 << 20
	first, second := &injected{file: make([]byte, size)}, &injected{file: make([]byte, size)}
	demand, ahead := newReads("f", first, bytes.NewReader(first.file), block), newReads("f", second, bytes.NewReader(second.file), block)
	ahead.follow(demand)
	var now []*Read
	for range 9 {
		now = append(now, &Read{Buf: make([]byte, size)})
	}
	r := &Read{Buf: make([]byte, size)}
	demand.Start(now...)
	ahead.Start(r)
	require.Empty(t, second.queue)
	require.NoError(t, ahead.Wait(r))
	require.False(t, now[8].Ended())
	require.NoError(t, ahead.Close())
	require.NoError(t, demand.Close())
	require.ErrorIs(t, demand.Wait(now[8]), os.ErrClosed)
}

// Fresh memory is read into like any other, by the kernel's own threads.
func TestReadsIntoFreshMemory(t *testing.T) {
	file := content(64)
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	s, err := Open(path)
	require.NoError(t, err)
	defer s.Close()
	mem, err := Frames(len(file))
	require.NoError(t, err)
	defer func() { require.NoError(t, FreeFrames(mem)) }()
	for _, kind := range []string{Uring, Pread, Mmap} {
		o, err := s.OpenBackend(kind, mem, Probe{})
		require.NoError(t, err)
		r := &Read{Buf: mem, Fresh: true}
		o.Demand.Start(r)
		require.NoError(t, o.Demand.Wait(r), o.Name)
		require.True(t, bytes.Equal(mem, file), o.Name)
		require.NoError(t, o.Close())
		clear(mem)
	}
}
