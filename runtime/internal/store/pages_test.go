package store

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// foundBy is a finder that ends a range whenever it is looked at.
type foundBy struct {
	res    int
	began  []int // bytes, in order
	queue  []int // tags
	closed bool
}

func (d *foundBy) find(tag int, buf []byte, _ bool) {
	d.began, d.queue = append(d.began, len(buf)), append(d.queue, tag)
}
func (d *foundBy) flush() error { return nil }
func (d *foundBy) close() error { d.closed = true; return nil }
func (d *foundBy) reap(_ bool, f func(tag, res int)) error {
	if len(d.queue) > 0 {
		tag := d.queue[0]
		d.queue = d.queue[1:]
		f(tag, d.res)
	}
	return nil
}

func TestPagesAreFoundInOrderFewAtOnce(t *testing.T) {
	d := &foundBy{}
	p := newPages(d)
	var done [6]atomic.Bool
	for i := range done {
		p.Find(make([]byte, i+1), true, &done[i])
	}
	require.Len(t, d.began, pagesAtOnce)
	for range done {
		p.Keep()
	}
	require.Equal(t, []int{1, 2, 3, 4, 5, 6}, d.began)
	for i := range done {
		require.True(t, done[i].Load(), i)
	}
	require.Zero(t, p.held.Load())
	var more [5]atomic.Bool
	for i := range more {
		p.Find(make([]byte, 10), true, &more[i])
	}
	require.NoError(t, p.Close()) // waits for what has begun, and begins nothing
	require.True(t, d.closed)
	require.Len(t, d.began, 6+pagesAtOnce)
	var none *Pages
	none.Find(make([]byte, 1), true, nil)
	none.Keep()
	require.NoError(t, none.Close())
}

func TestAKernelThatFindsNoPagesIsAskedNoMore(t *testing.T) {
	d := &foundBy{res: -int(syscall.EINVAL)}
	p := newPages(d)
	var done atomic.Bool
	for range 5 {
		p.Find(make([]byte, 1), true, &done)
	}
	for range 5 {
		p.Keep()
	}
	p.Find(make([]byte, 1), true, &done)
	require.Len(t, d.began, pagesAtOnce)
	require.False(t, done.Load())
	require.NoError(t, p.Close())
}

// Pages of frames and of the mapped file are there afterwards, and what frames hold stays.
func TestPagesOfFramesAndOfTheFileAreFound(t *testing.T) {
	p := openPages()
	if p == nil {
		t.Skip("the system refuses")
	}
	mem, err := Frames(8 << 20)
	require.NoError(t, err)
	mem[5<<20] = 7
	var done [2]atomic.Bool
	p.Find(mem, true, &done[0])
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, content(64), 0o600))
	s, err := Open(path)
	require.NoError(t, err)
	p.Find(s.data, false, &done[1])
	for end := time.Now().Add(10 * time.Second); p.held.Load() > 0 && time.Now().Before(end); {
		p.Keep()
	}
	if !p.refused {
		require.True(t, done[0].Load())
		require.True(t, done[1].Load())
	}
	require.Equal(t, byte(7), mem[5<<20])
	b := &Backend{Pages: p}
	b.Find(s.data[5000:20000]) // inside pages
	b.Find(nil)
	require.NoError(t, p.Close())
	require.NoError(t, FreeFrames(mem))
	require.NoError(t, s.Close())
}
