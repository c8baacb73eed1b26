package token

import (
	"math/bits"
	"strings"

	"jns/format"
)

// fragment is a part of a text: a special token, or the bytes [lo,hi) between two of them.
type fragment struct {
	id     int32 // -1: plain text
	lo, hi int
}

// fragments cuts special tokens out of a text. Longer tokens are found first; among equal ones the lower id; occurrences of
// one token from left to right. User-defined tokens are found always, control and unknown ones if parse is set.
func (t *Tokenizer) fragments(s string, parse bool) []fragment {
	if s == "" {
		return nil
	}
	frags := []fragment{{-1, 0, len(s)}}
	for w, word := range t.occurring(s, parse) {
		for ; word != 0; word &= word - 1 {
			id := t.tab.SpecialToken(64*w + bits.TrailingZeros64(word))
			if txt := t.tab.Text(id); len(txt) > 0 {
				frags = cutToken(frags, s, string(txt), id, t.tab.Attr(id))
			}
		}
	}
	return frags
}

// occurring gives the set of special tokens that occur in a text, as bits by their index. One walk over the text finds them,
// so that a vocabulary of thousands of special tokens does not cost thousands of searches.
func (t *Tokenizer) occurring(s string, parse bool) []uint64 {
	var set []uint64
	trie := t.tab.SpecialTrie()
	for i := 0; i < len(s); i++ {
		node := t.first[s[i]]
		for j := i + 1; node >= 0; j++ {
			if v := trie.Value(node); v >= 0 && int(v) < t.tab.Specials() {
				if set == nil {
					set = make([]uint64, (t.tab.Specials()+63)/64)
				}
				set[v/64] |= 1 << (v % 64)
			}
			if j == min(len(s), i+format.TokMaxText) {
				break
			}
			node = trie.Next(node, s[j])
		}
	}
	if !parse {
		for w, word := range set {
			for m := word; m != 0; m &= m - 1 {
				i := 64*w + bits.TrailingZeros64(m)
				if t.tab.Attr(t.tab.SpecialToken(i))&(format.AttrControl|format.AttrUnknown) != 0 {
					set[w] &^= m & -m
				}
			}
		}
	}
	return set
}

// cutToken cuts all occurrences of one token out of the plain fragments.
func cutToken(frags []fragment, s, txt string, id int32, attr format.TokAttr) []fragment {
	out := make([]fragment, 0, len(frags)+2)
	for _, f := range frags {
		for f.id < 0 && f.lo < f.hi {
			m := strings.Index(s[f.lo:f.hi], txt)
			if m < 0 {
				break
			}
			left, right := f.lo+m, f.lo+m+len(txt)
			for attr&format.AttrLStrip != 0 && left > f.lo && asciiSpace(s[left-1]) {
				left--
			}
			if left > f.lo {
				out = append(out, fragment{-1, f.lo, left})
			}
			out = append(out, fragment{id, f.lo + m, right})
			for attr&format.AttrRStrip != 0 && right < f.hi && asciiSpace(s[right]) {
				right++
			}
			f.lo = right
		}
		if f.id >= 0 || f.lo < f.hi {
			out = append(out, f)
		}
	}
	return out
}

func asciiSpace(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' }
