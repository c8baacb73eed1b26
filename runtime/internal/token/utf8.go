package token

import "strings"

// lowerBlock is U+2581, which stands for a space in the token texts of many vocabularies.
const lowerBlock = "\xe2\x96\x81"

// replacement is U+FFFD, what a byte that belongs to no code point is read as.
const replacement = 0xfffd

// leadLen is how many bytes the code point that begins with b has, by its first byte alone; 1 for a stray byte.
func leadLen(b byte) int {
	switch {
	case b < 0xc0:
		return 1
	case b < 0xe0:
		return 2
	case b < 0xf0:
		return 3
	}
	return 4
}

// decode reads a code point as llama.cpp does: overlong forms and surrogates count, a byte that begins nothing is U+FFFD
// alone. Above U+10FFFF there is no code point; those bytes are read as stray ones.
func decode[T string | []byte](s T, i int) (cp int32, n int, ok bool) {
	b := s[i]
	if b < 0x80 {
		return int32(b), 1, true
	}
	n = leadLen(b)
	if n == 1 || b >= 0xf8 || i+n > len(s) {
		return replacement, 1, false
	}
	cp = int32(b) & (0x7f >> n)
	for k := 1; k < n; k++ {
		if s[i+k]&0xc0 != 0x80 {
			return replacement, 1, false
		}
		cp = cp<<6 | int32(s[i+k]&0x3f)
	}
	if cp > 0x10ffff {
		return replacement, 1, false
	}
	return cp, n, true
}

// appendCP writes a code point in UTF-8, surrogates included.
func appendCP(b []byte, cp int32) []byte {
	switch {
	case cp < 0x80:
		return append(b, byte(cp))
	case cp < 0x800:
		return append(b, 0xc0|byte(cp>>6), 0x80|byte(cp&0x3f))
	case cp < 0x10000:
		return append(b, 0xe0|byte(cp>>12), 0x80|byte(cp>>6&0x3f), 0x80|byte(cp&0x3f))
	}
	return append(b, 0xf0|byte(cp>>18), 0x80|byte(cp>>12&0x3f), 0x80|byte(cp>>6&0x3f), 0x80|byte(cp&0x3f))
}

// appendEscaped writes a text with U+2581 for every space.
func appendEscaped(b []byte, s string) []byte {
	for {
		i := strings.IndexByte(s, ' ')
		if i < 0 {
			return append(b, s...)
		}
		b = append(append(b, s[:i]...), lowerBlock...)
		s = s[i+1:]
	}
}

// text is a fragment taken apart into code points, each with its class and its place in buf, where the fragment is written
// anew: stray bytes have become U+FFFD.
type text struct {
	buf []byte
	off []int32 // one more than cps
	cps []int32
	cls []class
	end []int32 // ends of words, in code points
	tmp []int32
}

// set takes a fragment apart.
func (t *text) set(s string) {
	t.buf, t.off, t.cps, t.cls = t.buf[:0], t.off[:0], t.cps[:0], t.cls[:0]
	for i := 0; i < len(s); {
		cp, n, _ := decode(s, i)
		i += n
		t.add(cp)
	}
	t.off = append(t.off, int32(len(t.buf)))
}

func (t *text) add(cp int32) {
	t.off = append(t.off, int32(len(t.buf)))
	t.buf = appendCP(t.buf, cp)
	t.cps = append(t.cps, cp)
	t.cls = append(t.cls, classOf(cp))
}

// wide is the code point as a rule that knows no classes sees it: white space beyond ASCII is a vertical tab.
func (t *text) wide(i int) int32 {
	if t.cps[i] > 0x7f && t.cls[i]&space != 0 {
		return '\v'
	}
	return t.cps[i]
}
