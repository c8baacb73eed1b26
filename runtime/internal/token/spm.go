package token

import "jns/format"

// part is a stretch of the text that is one unit so far; size 0 means it has been merged into its left neighbour.
type part struct {
	prev, next  int32
	start, size int32
	id          int32 // its token or piece, -1 for none
}

// scoreMerger is SentencePiece's byte-pair algorithm: whatever two neighbours form the token with the best score are
// joined, the leftmost first among equals. A heap of candidates makes it n·log n.
type scoreMerger struct {
	sym  []part
	heap []scored
}

type scored struct {
	score             float32
	left, right, size int32
	id                int32
}

func (a scored) before(b scored) bool {
	return a.score > b.score || a.score == b.score && a.left < b.left
}

func (m *scoreMerger) encode(out []int32, tab *format.Tokenizer, s []byte) []int32 {
	m.sym, m.heap = m.sym[:0], m.heap[:0]
	for i := 0; i < len(s); {
		n := min(leadLen(s[i]), len(s)-i)
		at := int32(len(m.sym))
		m.sym = append(m.sym, part{prev: at - 1, next: at + 1, start: int32(i), size: int32(n), id: -1})
		i += n
	}
	if len(m.sym) == 0 {
		return out
	}
	m.sym[len(m.sym)-1].next = -1
	for i := 1; i < len(m.sym); i++ {
		m.propose(tab, s, int32(i-1), int32(i))
	}
	for len(m.heap) > 0 {
		var c scored
		c, m.heap = pop(m.heap)
		l, r := &m.sym[c.left], &m.sym[c.right]
		if l.size == 0 || r.size == 0 || l.size+r.size != c.size {
			continue // one of them has changed since
		}
		l.size, l.id, r.size = c.size, c.id, 0
		l.next = r.next
		if r.next >= 0 {
			m.sym[r.next].prev = c.left
		}
		m.propose(tab, s, l.prev, c.left)
		m.propose(tab, s, c.left, l.next)
	}
	for i := int32(0); i >= 0; i = m.sym[i].next {
		out = m.emit(out, tab, s, &m.sym[i])
	}
	return out
}

// emit writes a finished symbol: its token, or its bytes where it has none.
func (m *scoreMerger) emit(out []int32, tab *format.Tokenizer, s []byte, y *part) []int32 {
	txt := s[y.start : y.start+y.size]
	if y.id < 0 {
		y.id = tab.Token(txt)
	}
	if y.id >= 0 {
		return append(out, y.id)
	}
	for _, b := range txt {
		id := tab.ByteToken(b)
		if id < 0 {
			id = tab.Special(format.SpecialUNK)
		}
		if id >= 0 {
			out = append(out, id)
		}
	}
	return out
}

func (m *scoreMerger) propose(tab *format.Tokenizer, s []byte, left, right int32) {
	if left < 0 || right < 0 {
		return
	}
	l, r := &m.sym[left], &m.sym[right]
	size := l.size + r.size
	if id := tab.Token(s[l.start : l.start+size]); id >= 0 {
		m.heap = push(m.heap, scored{tab.Score(id), left, right, size, id})
	}
}

// ordered is an element of a heap.
type ordered[T any] interface{ before(T) bool }

func push[T ordered[T]](h []T, x T) []T {
	h = append(h, x)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !x.before(h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = x
	return h
}

func pop[T ordered[T]](h []T) (T, []T) {
	top, x := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	i := 0
	for {
		c := 2*i + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && h[c+1].before(h[c]) {
			c++
		}
		if !h[c].before(x) {
			break
		}
		h[i] = h[c]
		i = c
	}
	if len(h) > 0 {
		h[i] = x
	}
	return top, h
}
