package token

import (
	"unicode"

	"golang.org/x/text/unicode/norm"

	"jns/format"
)

// wordPieces encodes a fragment with BERT's algorithm: the text is normalised and cut into words at white space and around
// punctuation and ideographs; each word, with U+2581 before it, is covered by the longest tokens from left to right. A
// word that cannot be covered whole is the unknown token.
func (e *encoder) wordPieces(out []int32, s string) []int32 {
	lower, strip := e.tab.Has(format.TokLowercase), e.tab.Has(format.TokStripAccents)
	e.buf = append(e.buf[:0], lowerBlock...)
	flush := func() {
		if len(e.buf) > len(lowerBlock) {
			out = e.coverWord(out, e.buf)
			e.buf = e.buf[:len(lowerBlock)]
		}
	}
	for i := 0; i < len(s); {
		cp, n, _ := decode(s, i)
		i += n
		if strip {
			cp = decomposed(cp)
		}
		c := classOf(cp)
		switch {
		case c&space != 0:
			flush()
			continue
		case cp == 0 || cp == replacement || c&control != 0 || strip && c&mark != 0:
			continue
		}
		if lower {
			cp = toLower(cp)
		}
		alone := c&punct != 0 || cp < 0x7f && c&symbol != 0 || ideograph(cp)
		if alone {
			flush()
		}
		e.buf = appendCP(e.buf, cp)
		if alone {
			flush()
		}
	}
	flush()
	return out
}

// coverWord covers a word by the longest tokens.
func (e *encoder) coverWord(out []int32, w []byte) []int32 {
	trie, from := e.tab.TokenTrie(), len(out)
	for i := 0; i < len(w); {
		id, n := trie.Longest(w[i:])
		if n == 0 || int(id) >= e.tab.Tokens {
			out = out[:from]
			break
		}
		out = append(out, id)
		i += n
	}
	if len(out) == from {
		return e.t.appendSpecial(out, format.SpecialUNK)
	}
	return out
}

// ideograph reports whether a code point is a word of its own. The block at U+2B820 is left out by the reference, and so here.
func ideograph(cp int32) bool {
	return cp >= 0x4e00 && cp <= 0x9fff || cp >= 0x3400 && cp <= 0x4dbf || cp >= 0x20000 && cp <= 0x2a6df ||
		cp >= 0x2a700 && cp <= 0x2b81f || cp >= 0x2b920 && cp <= 0x2ceaf || cp >= 0xf900 && cp <= 0xfaff ||
		cp >= 0x2f800 && cp <= 0x2fa1f
}

func toLower(cp int32) int32 {
	if cp < 0x80 {
		if cp >= 'A' && cp <= 'Z' {
			cp += 32
		}
		return cp
	}
	return unicode.ToLower(cp)
}

// decomposed is the first code point of the canonical decomposition.
func decomposed(cp int32) int32 {
	if cp < 0xc0 || cp >= 0xd800 && cp < 0xe000 {
		return cp
	}
	if cp >= 0xac00 && cp <= 0xd7a3 { // Hangul is taken apart by arithmetic: 588 syllables begin with the same consonant
		return 0x1100 + (cp-0xac00)/588
	}
	var b [4]byte
	d := norm.NFD.Properties(appendCP(b[:0], cp)).Decomposition()
	if len(d) == 0 {
		return cp
	}
	first, _, _ := decode(d, 0)
	return first
}
