package format

import "encoding/binary"

// Check reads all tables and holds them against the rules that Encode keeps: texts in place and found by their hash, merges in
// order, ids inside the vocabulary, tries numbered breadth first. Using a Tokenizer does not need it; verify does it.
func (t *Tokenizer) Check() error {
	if t.Kind == TokNone {
		return nil
	}
	for _, check := range []func() error{t.checkTexts, t.checkMerges, t.checkIDs} {
		if err := check(); err != nil {
			return err
		}
	}
	for i, r := range []Trie{t.TokenTrie(), t.UserTrie(), t.SpecialTrie()} {
		if err := r.check(); err != nil {
			return tokCorrupt("trie %d: %w", i, err)
		}
	}
	return nil
}

func (t *Tokenizer) checkTexts() error {
	last := uint32(0)
	for i := range t.Pieces + 1 {
		off, _ := u32(t.tab[tabTextOffset], i)
		if off < last || uint64(off) > uint64(len(t.tab[tabText])) || i == 0 && off != 0 {
			return tokCorrupt("text %d begins at %d, after %d", i, off, last)
		}
		last = off
	}
	if uint64(last) != uint64(len(t.tab[tabText])) {
		return tokCorrupt("texts end at %d of %d bytes", last, len(t.tab[tabText]))
	}
	for i := range int32(t.Tokens) {
		if got := t.Piece(t.Text(i)); got != i {
			return tokCorrupt("the text of token %d is found as %d", i, got)
		}
	}
	return nil
}

func (t *Tokenizer) checkMerges() error {
	tab, last := t.tab[tabMerge], uint32(0)
	for left := range t.count(tabMergeOffset) {
		next, _ := u32(t.tab[tabMergeOffset], left)
		if next < last || uint64(next) > uint64(len(tab)/12) || left == 0 && next != 0 {
			return tokCorrupt("merges of piece %d begin at %d, after %d", left, next, last)
		}
		for i := last; i < next; i++ {
			e := tab[12*uint64(i):]
			right, result := binary.LittleEndian.Uint32(e), binary.LittleEndian.Uint32(e[8:])
			if uint64(max(right, result)) >= uint64(t.Pieces) || i > last && right <= binary.LittleEndian.Uint32(tab[12*uint64(i-1):]) {
				return tokCorrupt("merge %d is out of order or range", i)
			}
		}
		last = next
	}
	if uint64(last) != uint64(len(tab)/12) {
		return tokCorrupt("merges end at %d of %d", last, len(tab)/12)
	}
	return nil
}

func (t *Tokenizer) checkIDs() error {
	for _, tab := range []tokTable{tabSpecial, tabEOG, tabSuppress} {
		for i := range t.count(tab) {
			if t.id(tab, i, t.Tokens) < 0 {
				return tokCorrupt("table %d: element %d is no token", tab, i)
			}
			if a, _ := u32(t.tab[tab], max(i, 1)-1); tab != tabSpecial && i > 0 && int32(a) >= t.id(tab, i, t.Tokens) {
				return tokCorrupt("table %d: element %d is out of order", tab, i)
			}
		}
	}
	for _, b := range []struct {
		tab   tokTable
		limit int
	}{{tabByte, t.Tokens}, {tabByteSymbol, t.Pieces}} {
		for i := range t.count(b.tab) {
			if v, _ := u32(t.tab[b.tab], i); v != 0xffffffff && uint64(v) >= uint64(b.limit) {
				return tokCorrupt("byte %d stands for piece %d of %d", i, v, b.limit)
			}
		}
	}
	return nil
}

func (r Trie) check() error {
	last := uint32(1)
	for n := range len(r.first) / 4 {
		first, _ := u32(r.first, n)
		if n == 0 && first != 1 || first < last || uint64(first) > uint64(r.Nodes()) || int(first) <= n && n < r.Nodes() {
			return tokCorrupt("children of node %d begin at %d", n, first)
		}
		for c := last + 1; c < first; c++ {
			if r.edge[8*uint64(c-1)] >= r.edge[8*uint64(c)] {
				return tokCorrupt("node %d is out of order", c)
			}
		}
		last = first
	}
	if r.Nodes() > 0 && uint64(last) != uint64(r.Nodes()) {
		return tokCorrupt("%d of %d nodes are reached", last, r.Nodes())
	}
	return nil
}
