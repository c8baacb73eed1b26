package token

import (
	"strings"

	"jns/format"
)

// merger is byte-pair encoding by rank: the neighbours whose merge has the lowest rank are joined, the leftmost first among
// equals. A heap of candidates makes it n·log n, also where the whole text is one word.
type merger struct {
	sym  []part
	heap []ranked
}

type ranked struct {
	key         uint64 // rank << 32 | left
	right, size int32
	result      int32
}

func (a ranked) before(b ranked) bool { return a.key < b.key }

// bytePair encodes a fragment with a byte-pair vocabulary.
func (e *encoder) bytePair(out []int32, s string) []int32 {
	switch {
	case e.tab.Has(format.TokDNA):
		return e.dna(out, s)
	case e.tab.Has(format.TokDropSpaces):
		return e.dropSpaces(out, s)
	}
	if e.tab.Has(format.TokEscapeSpaces) {
		s = string(appendEscaped(nil, s))
	}
	return e.bytePairText(out, s)
}

func (e *encoder) bytePairText(out []int32, s string) []int32 {
	e.txt.set(s)
	return e.bytePairWords(out)
}

// bytePairWords encodes the text that txt holds.
func (e *encoder) bytePairWords(out []int32) []int32 {
	lo := int32(0)
	for _, hi := range e.txt.cut(e.t.words) {
		if lo < hi {
			out = e.word(out, e.txt.buf[e.txt.off[lo]:e.txt.off[hi]])
		}
		lo = hi
	}
	return out
}

// word encodes one word.
func (e *encoder) word(out []int32, w []byte) []int32 {
	if id := e.wholeWord(w); id >= 0 {
		return append(out, id)
	}
	m := &e.bpe
	m.sym, m.heap = m.sym[:0], m.heap[:0]
	bytes := e.tab.Has(format.TokByteAlphabet)
	for i := 0; i < len(w); {
		n, id := 1, int32(-1)
		if bytes {
			id = e.tab.ByteSymbol(w[i])
		} else {
			n = min(leadLen(w[i]), len(w)-i)
			id = e.tab.Piece(w[i : i+n])
		}
		at := int32(len(m.sym))
		m.sym = append(m.sym, part{prev: at - 1, next: at + 1, start: int32(i), size: int32(n), id: id})
		i += n
	}
	m.sym[len(m.sym)-1].next = -1
	m.merge(e.tab)
	for i := int32(0); i >= 0; i = m.sym[i].next {
		y := &m.sym[i]
		if y.id >= 0 && int(y.id) < e.tab.Tokens {
			out = append(out, y.id)
		} else {
			out = e.bytesOf(out, w[y.start:y.start+y.size], bytes)
		}
	}
	return out
}

// merge joins neighbours until no merge is left.
func (m *merger) merge(tab *format.Tokenizer) {
	for i := 1; i < len(m.sym); i++ {
		m.propose(tab, int32(i-1), int32(i))
	}
	for len(m.heap) > 0 {
		var c ranked
		c, m.heap = pop(m.heap)
		left := int32(uint32(c.key))
		l, r := &m.sym[left], &m.sym[c.right]
		if l.size == 0 || r.size == 0 || l.size+r.size != c.size {
			continue // one of them has changed since
		}
		l.size, l.id, r.size = c.size, c.result, 0
		l.next = r.next
		if r.next >= 0 {
			m.sym[r.next].prev = left
		}
		m.propose(tab, l.prev, left)
		m.propose(tab, left, l.next)
	}
}

func (m *merger) propose(tab *format.Tokenizer, left, right int32) {
	if left < 0 || right < 0 {
		return
	}
	l, r := &m.sym[left], &m.sym[right]
	if rank, result, ok := tab.Merge(l.id, r.id); ok {
		m.heap = push(m.heap, ranked{uint64(rank)<<32 | uint64(uint32(left)), right, l.size + r.size, result})
	}
}

// wholeWord gives the token that a word is without merging, -1 if it must be merged.
func (e *encoder) wholeWord(w []byte) int32 {
	switch {
	case e.tab.Has(format.TokIgnoreMerges):
		if !e.tab.Has(format.TokByteAlphabet) {
			return e.tab.Token(w)
		}
		e.buf = e.buf[:0]
		for _, b := range w {
			e.buf = append(e.buf, byteAlphabet[b]...)
		}
		return e.tab.Token(e.buf)
	case e.tab.Has(format.TokNewlineRuns) && w[0] == '\n': // the rule cuts runs of newlines out, so one tells for all
		return e.tab.Token(w)
	}
	return -1
}

// bytesOf writes text that is no token by the tokens of its bytes. In a byte alphabet the bytes are those of the letters
// that stand for the text; llama.cpp drops what has no token, and so do we.
func (e *encoder) bytesOf(out []int32, w []byte, alphabet bool) []int32 {
	one := func(b byte) {
		if id := e.tab.ByteToken(b); id >= 0 {
			out = append(out, id)
		}
	}
	for _, b := range w {
		if !alphabet {
			one(b)
			continue
		}
		for _, c := range []byte(byteAlphabet[b]) {
			one(c)
		}
	}
	return out
}

// byteAlphabet gives the code point that stands for each byte in the texts of byte-level vocabularies: printable Latin-1 for
// itself, the rest from U+0100 on in order.
var byteAlphabet = func() (a [256]string) {
	next := rune(0x100)
	for b := range 256 {
		if b >= 0x21 && b <= 0x7e || b >= 0xa1 && b <= 0xac || b >= 0xae {
			a[b] = string(rune(b))
		} else {
			a[b] = string(next)
			next++
		}
	}
	return a
}()

// alphabetByte is the inverse of byteAlphabet; -1 for a code point outside it.
var alphabetByte = func() (a [0x144]int16) {
	for i := range a {
		a[i] = -1
	}
	for b, s := range byteAlphabet {
		a[[]rune(s)[0]] = int16(b)
	}
	return a
}()

// dropSpaces encodes text in which white space only separates.
func (e *encoder) dropSpaces(out []int32, s string) []int32 {
	lower := e.tab.Has(format.TokLowercase)
	t := &e.txt
	flush := func() {
		if len(t.cps) > 0 {
			t.off = append(t.off, int32(len(t.buf)))
			out = e.bytePairWords(out)
		}
		t.set("")
		t.off = t.off[:0]
	}
	t.set("")
	t.off = t.off[:0]
	for i := 0; i < len(s); {
		cp, n, _ := decode(s, i)
		i += n
		if classOf(cp)&space != 0 {
			flush()
			continue
		}
		if lower {
			cp = toLower(cp)
		}
		t.add(cp)
	}
	flush()
	return out
}

// kmerMark is appended to the text of a DNA 6-mer in the vocabulary, so that it differs from an equal word.
const kmerMark = "\xee\x80\x80"

// dna encodes text in which <dna>…</dna> encloses a sequence that is cut into 6-mers.
func (e *encoder) dna(out []int32, s string) []int32 {
	const open, shut = "<dna>", "</dna>"
	begin, end, oov := e.tab.Token([]byte(open)), e.tab.Token([]byte(shut)), e.tab.Token([]byte("<oov>"))
	if begin < 0 || end < 0 || oov < 0 {
		return e.bytePairText(out, s)
	}
	for s != "" {
		before, rest, found := strings.Cut(s, open)
		out = e.bytePairText(out, before)
		if !found {
			break
		}
		out = append(out, begin)
		seq, after, closed := strings.Cut(rest, shut)
		out = e.kmers(out, seq, oov)
		if closed {
			out = append(out, end)
		}
		s = after
	}
	return out
}

func (e *encoder) kmers(out []int32, seq string, oov int32) []int32 {
	const k = 6
	for ; seq != ""; seq = seq[min(k, len(seq)):] {
		e.buf = append(e.buf[:0], seq[:min(k, len(seq))]...)
		for i, c := range e.buf {
			if c >= 'a' && c <= 'z' {
				e.buf[i] = c - 32
			}
		}
		for len(e.buf) < k {
			e.buf = append(e.buf, 'A')
		}
		id := e.tab.Token(append(e.buf, kmerMark...))
		if id < 0 {
			id = oov
		}
		out = append(out, id)
	}
	return out
}
