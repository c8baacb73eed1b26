package store

import (
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// Pages finds the pages of memory before they are used, beside other work: those of frames are cleared, those of the mapped file are read. The kernel's own threads do it; where they
// are not to be had, pages are found as they are touched. The nil Pages does nothing. Safe for use by many goroutines.
type Pages struct {
	mu      sync.Mutex
	dev     finder
	under   []*atomic.Bool // by tag; nil: none is under way
	list    []find         // in order; those before next have begun
	next    int
	refused bool
	reaped  func(tag, res int)
	held    atomic.Int64 // not ended
}

// finder is a device that finds pages.
type finder interface {
	find(tag int, buf []byte, write bool)
	flush() error
	reap(wait bool, f func(tag, res int)) error
	close() error
}

// find is a range whose pages are to be found.
type find struct {
	buf   []byte
	write bool
	done  *atomic.Bool
}

// pagesAtOnce is how many ranges are under way: what they cost, the workers do not get.
const pagesAtOnce = 2

func newPages(dev finder) *Pages {
	p := &Pages{dev: dev, under: make([]*atomic.Bool, pagesAtOnce)}
	p.reaped = p.took
	return p
}

// Find begins to find the pages of buf, behind those asked for before; with write they are made to be written to. done becomes true once they are there.
func (p *Pages) Find(buf []byte, write bool, done *atomic.Bool) {
	if p == nil || len(buf) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused {
		return
	}
	if p.next == len(p.list) {
		p.list, p.next = p.list[:0], 0
	}
	p.list = append(p.list, find{buf, write, done})
	p.held.Add(1)
	p.push()
}

// Keep lets ranges begin that waited for others to end. It never waits, and costs next to nothing where there are none.
func (p *Pages) Keep() {
	if p == nil || p.held.Load() == 0 || !p.mu.TryLock() {
		return
	}
	p.take(false)
	p.mu.Unlock()
}

func (p *Pages) push() {
	for tag := range p.under {
		if p.under[tag] == nil && p.next < len(p.list) && !p.refused {
			f := p.list[p.next]
			p.next++
			p.under[tag] = f.done
			p.dev.find(tag, f.buf, f.write)
		}
	}
	if p.dev.flush() != nil {
		p.refuse()
	}
}

// refuse gives up what has not begun.
func (p *Pages) refuse() {
	p.refused = true
	p.held.Add(int64(p.next - len(p.list)))
	p.next = len(p.list)
}

func (p *Pages) take(wait bool) {
	if p.dev.reap(wait, p.reaped) != nil {
		p.refuse()
		clear(p.under)
		p.held.Store(0)
		return
	}
	p.push()
}

func (p *Pages) took(tag, res int) {
	done := p.under[tag]
	p.under[tag] = nil
	p.held.Add(-1)
	switch {
	case res == 0:
		done.Store(true)
	case res == -int(syscall.EINVAL): // the kernel does not know how
		p.refuse()
	}
}

// Close waits for what is under way.
func (p *Pages) Close() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse()
	for p.held.Load() > 0 {
		p.take(true)
	}
	return p.dev.close()
}

// Find begins to map a range of the mapped file, reading what the system does not hold.
func (b *Backend) Find(mapped []byte) {
	if b.Pages == nil || len(mapped) == 0 {
		return
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(mapped)))
	before := int(at & uintptr(os.Getpagesize()-1))
	whole := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(mapped)), -before)), len(mapped)+before)
	for len(whole) > 0 {
		n := min(len(whole), populateStep)
		b.Pages.Find(whole[:n], false, new(atomic.Bool))
		whole = whole[n:]
	}
}
