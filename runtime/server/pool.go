package server

import (
	"slices"
	"sync"

	"jns/runtime/engine"
)

// sessions keeps what answered requests have left in memory, so that a conversation's next turn, or another conversation with the same beginning, need not be
// computed again. The sessions at rest are ordered by last use.
type sessions struct {
	open func() session
	max  int // sessions at rest and in use together

	mu   sync.Mutex
	idle []session // least recently used first
	used int
}

// session is the part of engine.Session that the pool needs; tests have their own.
type session interface {
	Tokens() []int32
	Truncate(n int) error
	Reach(n int) int // to how many tokens, at most n, it can be truncated
	Bytes() int
	Fork() session
	Close()
}

// engineSession adapts the engine's type: Fork must give the interface.
type engineSession struct{ *engine.Session }

func (s engineSession) Fork() session { return engineSession{s.Session.Fork()} }

// lostTokens is how many tokens of another request a session may lose without being kept aside: templates often write the end of a turn differently when the
// conversation goes on.
const lostTokens = 32

// take gives a session for a prompt: the one that has the longest beginning in common with it. If that would make the session lose much of what it knows, and
// another is older, the older one's place is taken by a fork. There must be a place: the queue lets no more requests run than max.
func (p *sessions) take(prompt []int32) session {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used++
	best, common := -1, 0
	for i, s := range p.idle {
		if n := s.Reach(shared(s.Tokens(), prompt)); n > 0 && n >= common {
			best, common = i, n
		}
	}
	full := p.used+len(p.idle) > p.max
	if best < 0 {
		if !full {
			return p.open()
		}
		return p.remove(0)
	}
	keep := len(p.idle[best].Tokens())-common > lostTokens
	if !keep || full && best == 0 {
		return p.remove(best)
	}
	f := p.idle[best].Fork()
	if err := f.Truncate(common); err != nil { // what it would go back to has made way: then nothing is reused
		f.Close()
		if !full {
			return p.open()
		}
		return p.remove(0)
	}
	if full {
		p.remove(0).Close()
	}
	return f
}

// trim closes sessions at rest, those used longest ago first, until they take no more than so many bytes.
func (p *sessions) trim(bytes uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var sum uint64
	for _, s := range p.idle {
		sum += uint64(s.Bytes())
	}
	for sum > bytes && len(p.idle) > 0 {
		s := p.remove(0)
		sum -= uint64(s.Bytes())
		s.Close()
	}
}

func (p *sessions) remove(i int) session {
	s := p.idle[i]
	p.idle = slices.Delete(p.idle, i, i+1)
	return s
}

// give brings a session back; broken: it is not to be used again.
func (p *sessions) give(s session, broken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used--
	if broken || len(s.Tokens()) == 0 {
		s.Close()
		return
	}
	p.idle = append(p.idle, s)
}

// close forgets all sessions at rest.
func (p *sessions) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.idle {
		s.Close()
	}
	p.idle = nil
}

// shared is the length of the longest common beginning.
func shared(a, b []int32) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
