package store

import (
	"errors"
	"io"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
)

// pool is a device of goroutines that read one after the other: with pread, or by copying from a mapping.
type pool struct {
	jobs  chan poolJob
	ended chan poolEnd
	under int
	most  int
	exit  sync.WaitGroup
}

type poolJob struct {
	tag int
	buf []byte
	off int64
}

type poolEnd struct{ tag, res int }

// newPool starts n goroutines that do reads with read.
func newPool(n int, read func(buf []byte, off int64) (int, error)) *pool {
	const most = 256
	p := &pool{jobs: make(chan poolJob, most), ended: make(chan poolEnd, most), most: most}
	for range n {
		p.exit.Add(1)
		go func() {
			defer p.exit.Done()
			for j := range p.jobs {
				p.ended <- poolEnd{j.tag, result(read(j.buf, j.off))}
			}
		}()
	}
	return p
}

// result tells the end of a ReadAt as a kernel does.
func result(n int, err error) int {
	if n > 0 || err == nil || errors.Is(err, io.EOF) {
		return n
	}
	var e syscall.Errno
	if errors.As(err, &e) && e != 0 {
		return -int(e)
	}
	return -int(syscall.EIO)
}

func (p *pool) start(tag int, buf []byte, off int64, _ bool) error {
	p.jobs <- poolJob{tag, buf, off}
	p.under++
	return nil
}

func (p *pool) flush() error { return nil }

func (p *pool) reap(wait bool, f func(tag, res int)) error {
	for p.under > 0 {
		var e poolEnd
		if wait {
			e = <-p.ended
		} else {
			select {
			case e = <-p.ended:
			default:
				return nil
			}
		}
		wait = false
		p.under--
		f(e.tag, e.res)
	}
	return nil
}

func (p *pool) depth() int { return p.most }

func (p *pool) close() error {
	close(p.jobs)
	p.exit.Wait()
	return nil
}

// copyFrom reads from a mapping. A fault means that the file was cut or its device failed: it is a refusal, so that pread will tell which.
func copyFrom(mapped []byte) func(buf []byte, off int64) (int, error) {
	return func(buf []byte, off int64) (n int, err error) {
		old := debug.SetPanicOnFault(true)
		defer debug.SetPanicOnFault(old)
		defer func() {
			if v := recover(); v != nil {
				if _, ok := v.(runtime.Error); !ok {
					panic(v)
				}
				n, err = 0, syscall.EOPNOTSUPP
			}
		}()
		if off < 0 || off >= int64(len(mapped)) {
			return 0, io.EOF
		}
		n = copy(buf, mapped[off:])
		unmapPages(mapped[off : off+int64(n)])
		return n, nil
	}
}
