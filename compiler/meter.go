package compiler

import "sync"

// meter turns byte counts from several goroutines into calls of a progress function, one at a time.
type meter struct {
	mu    sync.Mutex
	p     Progress
	shown uint64
	f     func(Progress)
}

func newMeter(f func(Progress), phase string, total uint64) *meter {
	return &meter{p: Progress{Phase: phase, Total: total}, f: f}
}

// add counts n more bytes.
func (m *meter) add(n uint64) {
	if m.f == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.p.Done += n
	m.show()
}

// at says that n bytes are done in all; it may be called out of order.
func (m *meter) at(n uint64) {
	if m.f == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.p.Done = max(m.p.Done, n)
	m.show()
}

// show calls the function about two hundred times in all.
func (m *meter) show() {
	if m.p.Done-m.shown >= m.p.Total/200 || m.p.Done >= m.p.Total {
		m.shown = m.p.Done
		m.f(m.p)
	}
}
