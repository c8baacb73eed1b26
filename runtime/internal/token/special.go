package token

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
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
	set, kinds := t.occurring(s, parse), 0
	for _, word := range set {
		kinds += bits.OnesCount64(word)
	}
	if kinds > fewKinds {
		if frags, ok := t.cutMany(s, set); ok {
			return frags
		}
	}
	return t.cutEach(s, set)
}

// cutEach cuts the tokens of a set out of a text, one after the other: the definition of what is found.
func (t *Tokenizer) cutEach(s string, set []uint64) []fragment {
	frags := []fragment{{-1, 0, len(s)}}
	for w, word := range set {
		for ; word != 0; word &= word - 1 {
			id := t.tab.SpecialToken(64*w + bits.TrailingZeros64(word))
			if txt := t.tab.Text(id); len(txt) > 0 {
				frags = cutToken(frags, s, string(txt), id, t.tab.Attr(id))
			}
		}
	}
	return frags
}

// Bounds of cutMany: of so few kinds of tokens each is searched for, and of more occurrences than so many a byte, which only a strange vocabulary has, no list is made.
const (
	fewKinds    = 16
	mostOverlap = 4
)

// occurrence is a place at which a special token's text stands; kind is its index.
type occurrence struct{ kind, at int32 }

// cutMany is cutEach with one walk over the text for all tokens: a text that holds thousands of kinds would else be searched through thousands of times. ok is false where it cannot be
// done in memory that the text's length bounds.
func (t *Tokenizer) cutMany(s string, set []uint64) (frags []fragment, ok bool) {
	var all []occurrence
	trie := t.tab.SpecialTrie()
	for i := range len(s) {
		node := t.first[s[i]]
		for j := i + 1; node >= 0; j++ {
			if v := trie.Value(node); v >= 0 && int(v) < t.tab.Specials() && set[v/64]>>(v%64)&1 != 0 {
				if len(all) >= mostOverlap*len(s) {
					return nil, false
				}
				all = append(all, occurrence{v, int32(i)})
			}
			if j == min(len(s), i+format.TokMaxText) {
				break
			}
			node = trie.Next(node, s[j])
		}
	}
	slices.SortFunc(all, func(a, b occurrence) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.at, b.at)) })
	taken := make([]byte, len(s)) // 1: a token's, or dropped beside one
	var cuts []fragment
	for _, o := range all {
		id, lo := t.tab.SpecialToken(int(o.kind)), int(o.at)
		hi := lo + len(t.tab.Text(id))
		if hi > len(s) || hi == lo || s[lo:hi] != string(t.tab.Text(id)) || bytes.IndexByte(taken[lo:hi], 1) >= 0 {
			continue
		}
		cuts = append(cuts, fragment{id, lo, hi})
		attr := t.tab.Attr(id)
		from, to := lo, hi
		for attr&format.AttrLStrip != 0 && from > 0 && taken[from-1] == 0 && asciiSpace(s[from-1]) {
			from--
		}
		for attr&format.AttrRStrip != 0 && to < len(s) && taken[to] == 0 && asciiSpace(s[to]) {
			to++
		}
		for i := from; i < to; i++ {
			taken[i] = 1
		}
	}
	slices.SortFunc(cuts, func(a, b fragment) int { return cmp.Compare(a.lo, b.lo) })
	at := 0
	plain := func(hi int) { // what is not taken up to hi: one run, since what is taken lies around tokens
		for at < hi && taken[at] == 1 {
			at++
		}
		end := at
		for end < hi && taken[end] == 0 {
			end++
		}
		if at < end {
			frags = append(frags, fragment{-1, at, end})
		}
	}
	for _, c := range cuts {
		plain(c.lo)
		frags, at = append(frags, c), c.hi
	}
	plain(len(s))
	return frags, true
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
