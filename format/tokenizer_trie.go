package format

import "encoding/binary"

// Trie is a view of a byte trie in a tokenizer section. Nodes are numbered breadth first, node 0 is the root; the children of
// node n are the nodes first[n] to first[n+1]-1, ascending by byte. A walk goes one byte of text per step, so that it ends
// whatever the tables hold.
type Trie struct {
	first []byte // uint32 × (nodes+1)
	edge  []byte // uint64 × nodes: byte that leads here | (value+1) << 8
}

// TokenTrie has the texts that a longest match or a best path may use, with their token ids.
func (t *Tokenizer) TokenTrie() Trie { return Trie{t.tab[tabTokenTrie], t.tab[tabTokenTrieEdge]} }

// UserTrie has the texts of user-defined tokens.
func (t *Tokenizer) UserTrie() Trie { return Trie{t.tab[tabUserTrie], t.tab[tabUserTrieEdge]} }

// SpecialTrie has the texts of the special tokens with their indices for SpecialToken.
func (t *Tokenizer) SpecialTrie() Trie { return Trie{t.tab[tabSpecialTrie], t.tab[tabSpecialTrieEdge]} }

// Nodes is the number of nodes.
func (r Trie) Nodes() int { return len(r.edge) / 8 }

// Next goes from a node along a byte; -1 if no text goes on that way.
func (r Trie) Next(node int32, b byte) int32 {
	lo, ok1 := u32(r.first, int(node))
	hi, ok2 := u32(r.first, int(node)+1)
	if node < 0 || !ok1 || !ok2 || uint64(hi) > uint64(len(r.edge)/8) {
		return -1
	}
	for lo < hi {
		mid := lo + (hi-lo)/2
		switch c := r.edge[8*uint64(mid)]; {
		case c < b:
			lo = mid + 1
		case c > b:
			hi = mid
		default:
			return int32(mid)
		}
	}
	return -1
}

// Value gives what the text that ends in a node stands for, -1 if none ends there. It may be any number: check it.
func (r Trie) Value(node int32) int32 {
	if node < 0 || int(node) >= r.Nodes() {
		return -1
	}
	v := binary.LittleEndian.Uint64(r.edge[8*int(node):]) >> 8
	if v > maxTokCount {
		return -1
	}
	return int32(v) - 1
}

// Longest gives the longest text that s begins with: its value and length; -1, 0 if there is none.
func (r Trie) Longest(s []byte) (value int32, n int) {
	value = -1
	node := int32(0)
	for i, b := range s[:min(len(s), TokMaxText)] {
		if node = r.Next(node, b); node < 0 {
			break
		}
		if v := r.Value(node); v >= 0 {
			value, n = v, i+1
		}
	}
	return value, n
}
