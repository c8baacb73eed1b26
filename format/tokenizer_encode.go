package format

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"
)

// TokMerge is one merge of byte-pair encoding over piece numbers.
type TokMerge struct{ Left, Right, Rank, Result uint32 }

// TokenizerTables is what a tokenizer section is made from. Texts holds the tokens and behind them the strings that occur in
// merges only; no two texts are equal. A nil table is left out.
type TokenizerTables struct {
	Kind         TokKind
	Rule         PreRule
	Flags        TokFlags
	Tokens       int
	UnknownScore float32
	Special      [NumSpecials]int32
	Texts        []string
	Attrs        []TokAttr
	Scores       []float32
	Merges       []TokMerge
	ByteTokens   []int32  // 256 or none, -1 for no token
	ByteSymbols  []int32  // 256 or none
	Specials     []uint32 // in the order they are looked for
	EOG          []uint32 // any order
	Suppress     []uint32 // any order
	CharsMap     []byte
	Model, Pre   string
	TokenTrie    map[string]int32 // nil: none
	UserTrie     map[string]int32
}

// EncodeTokenizer writes a section. Equal tables give equal bytes. It fails when a table does not fit the format: a text
// longer than 4 GiB in sum, more pieces than the format counts, or texts that crowd one place of the hash table.
func EncodeTokenizer(t *TokenizerTables) ([]byte, error) {
	if len(t.Texts) > maxTokCount || t.Tokens > maxTokCount {
		return nil, fmt.Errorf("tokenizer section: %d pieces are more than %d: %w", len(t.Texts), maxTokCount, ErrUnsupported)
	}
	pieces := max(len(t.Texts), t.Tokens)
	le := binary.LittleEndian
	var tab [numTokTables][]byte
	if t.Kind != TokNone {
		total := 0
		off := make([]byte, 0, 4*(pieces+1))
		for i, s := range t.Texts {
			if len(s) > TokMaxText && (i < t.Tokens || t.Kind != TokBPE) {
				return nil, fmt.Errorf("tokenizer section: text of token %d has %d bytes, at most %d are stored: %w", i, len(s), TokMaxText,
					ErrUnsupported)
			}
			off = le.AppendUint32(off, uint32(total))
			total += len(s)
		}
		if uint64(total) > math.MaxUint32 {
			return nil, fmt.Errorf("tokenizer section: %d bytes of text: %w", total, ErrUnsupported)
		}
		tab[tabTextOffset] = le.AppendUint32(off, uint32(total))
		tab[tabText] = make([]byte, 0, total)
		for _, s := range t.Texts {
			tab[tabText] = append(tab[tabText], s...)
		}
		var err error
		if tab[tabHash], err = encodeHash(t.Texts); err != nil {
			return nil, err
		}
	}
	for _, a := range t.Attrs {
		tab[tabAttr] = le.AppendUint16(tab[tabAttr], uint16(a))
	}
	for _, s := range t.Scores {
		tab[tabScore] = le.AppendUint32(tab[tabScore], math.Float32bits(s))
	}
	if t.Kind == TokBPE {
		tab[tabMergeOffset], tab[tabMerge] = encodeMerges(t.Merges, pieces)
	}
	tab[tabByte], tab[tabByteSymbol] = encodeIDs(t.ByteTokens), encodeIDs(t.ByteSymbols)
	tab[tabSpecial], tab[tabEOG], tab[tabSuppress] = encodeIDs(t.Specials), encodeSorted(t.EOG), encodeSorted(t.Suppress)
	tab[tabCharsMap] = t.CharsMap
	tab[tabNames] = []byte(t.Model + "\x00" + t.Pre)
	tab[tabTokenTrie], tab[tabTokenTrieEdge] = encodeTrie(t.TokenTrie)
	tab[tabUserTrie], tab[tabUserTrieEdge] = encodeTrie(t.UserTrie)
	special := make(map[string]int32, len(t.Specials))
	for i, id := range t.Specials {
		special[t.Texts[id]] = int32(i)
	}
	tab[tabSpecialTrie], tab[tabSpecialTrieEdge] = encodeTrie(special)
	return t.assemble(tab, pieces)
}

// assemble writes header, directory and tables.
func (t *TokenizerTables) assemble(tab [numTokTables][]byte, pieces int) ([]byte, error) {
	le := binary.LittleEndian
	b := append(make([]byte, 0, tokHeader), tokMagic...)
	for _, v := range []uint32{
		uint32(t.Kind), uint32(t.Rule), uint32(t.Flags), uint32(t.Tokens), uint32(pieces), math.Float32bits(t.UnknownScore),
	} {
		b = le.AppendUint32(b, v)
	}
	for _, id := range t.Special {
		b = le.AppendUint32(b, uint32(id))
	}
	at := uint64(tokHeader)
	for i, p := range tab {
		b = le.AppendUint32(le.AppendUint32(b, uint32(at)), uint32(uint64(len(p))/tokElem[i]))
		at = (at + uint64(len(p)) + 7) &^ 7
	}
	if at > math.MaxUint32 {
		return nil, fmt.Errorf("tokenizer section: %d bytes are more than 4 GiB: %w", at, ErrUnsupported)
	}
	b = slices.Grow(b, int(at)-len(b))
	for _, p := range tab {
		b = append(b, p...)
		for len(b)%8 != 0 {
			b = append(b, 0)
		}
	}
	return b, nil
}

func encodeIDs[T int32 | uint32](ids []T) []byte {
	var b []byte
	for _, id := range ids {
		b = binary.LittleEndian.AppendUint32(b, uint32(id))
	}
	return b
}

func encodeSorted(ids []uint32) []byte {
	s := slices.Clone(ids)
	slices.Sort(s)
	return encodeIDs(slices.Compact(s))
}

// encodeHash places the texts in order of their numbers in the smallest table of at least twice as many slots in which no
// text is further than TokMaxProbe from home.
func encodeHash(texts []string) ([]byte, error) {
	slots := uint32(16)
	for slots < uint32(2*len(texts)) {
		slots *= 2
	}
	for grown := 0; grown < 4; grown++ {
		if tab, ok := tryHash(texts, slots); ok {
			return tab, nil
		}
		slots *= 2
	}
	return nil, fmt.Errorf("tokenizer section: texts crowd the hash table: %w", ErrUnsupported)
}

func tryHash(texts []string, slots uint32) ([]byte, bool) {
	le := binary.LittleEndian
	tab := make([]byte, 8*uint64(slots))
next:
	for id, s := range texts {
		slot, tag := tokHash(s)
		for n := range uint32(TokMaxProbe) {
			e := tab[8*uint64((slot+n)&(slots-1)):]
			if le.Uint32(e[4:]) == 0 {
				le.PutUint32(e, tag)
				le.PutUint32(e[4:], uint32(id)+1)
				continue next
			}
		}
		return nil, false
	}
	return tab, true
}

func encodeMerges(merges []TokMerge, pieces int) (offset, table []byte) {
	m := slices.Clone(merges)
	sort.Slice(m, func(i, j int) bool {
		if m[i].Left != m[j].Left {
			return m[i].Left < m[j].Left
		}
		return m[i].Right < m[j].Right
	})
	le := binary.LittleEndian
	offset = make([]byte, 0, 4*(pieces+1))
	table = make([]byte, 0, 12*len(m))
	next := 0
	for left := 0; left <= pieces; left++ {
		offset = le.AppendUint32(offset, uint32(next))
		for next < len(m) && m[next].Left == uint32(left) {
			table = le.AppendUint32(le.AppendUint32(le.AppendUint32(table, m[next].Right), m[next].Rank), m[next].Result)
			next++
		}
	}
	return offset, table
}

// encodeTrie numbers the nodes of a trie breadth first by cutting ranges of the sorted texts.
func encodeTrie(texts map[string]int32) (first, edge []byte) {
	if len(texts) == 0 {
		return nil, nil
	}
	keys := make([]string, 0, len(texts))
	for s := range texts {
		keys = append(keys, s)
	}
	sort.Strings(keys)
	type span struct{ lo, hi, depth int }
	le := binary.LittleEndian
	node := func(b byte, key string, ends bool) {
		v := uint64(b)
		if ends {
			v |= uint64(texts[key]+1) << 8
		}
		edge = le.AppendUint64(edge, v)
	}
	queue := []span{{0, len(keys), 0}}
	node(0, "", false) // an empty text matches nothing
	for n := 0; n < len(queue); n++ {
		s := queue[n]
		first = le.AppendUint32(first, uint32(len(queue)))
		for lo := s.lo; lo < s.hi; {
			if len(keys[lo]) == s.depth { // the text that ends in this node sorts first
				lo++
				continue
			}
			b, hi := keys[lo][s.depth], lo+1
			for hi < s.hi && keys[hi][s.depth] == b {
				hi++
			}
			node(b, keys[lo], len(keys[lo]) == s.depth+1)
			queue = append(queue, span{lo, hi, s.depth + 1})
			lo = hi
		}
	}
	first = le.AppendUint32(first, uint32(len(queue)))
	return first, edge
}
