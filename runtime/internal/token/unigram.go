package token

import (
	"encoding/binary"
	"math"
	"slices"

	"jns/format"
)

// unigram is SentencePiece's best-path algorithm: of all ways to cover the normalised text with tokens, the one with the
// greatest sum of scores. A code point that no single token covers may be the unknown token, at a penalty.
type unigram struct {
	norm []byte
	best []step
}

// step is the best way to reach a position: the last token and where it began.
type step struct {
	score float64
	id    int32
	from  int32
}

func (u *unigram) encode(out []int32, t *Tokenizer, s string) []int32 {
	u.normalise(t, s)
	n := len(u.norm)
	if n == 0 {
		return out
	}
	tab, unk := t.tab, t.tab.Special(format.SpecialUNK)
	u.best = slices.Grow(u.best[:0], n+1)[:n+1]
	for i := range u.best {
		u.best[i] = step{-math.MaxFloat64, unk, 0}
	}
	u.best[0].score = 0
	trie := tab.TokenTrie()
	for at := 0; at < n; {
		size := min(leadLen(u.norm[at]), n-at)
		here, covered := u.best[at].score, false
		node := int32(0)
		for end := at + 1; end <= min(n, at+format.TokMaxText); end++ {
			if node = trie.Next(node, u.norm[end-1]); node < 0 {
				break
			}
			id := trie.Value(node)
			if id < 0 || int(id) >= tab.Tokens {
				continue
			}
			covered = covered || end-at == size
			score := 0.0 // user-defined tokens go before any other
			if tab.Attr(id)&format.AttrUser == 0 {
				score = float64(tab.Score(id))
			}
			u.reach(end, step{here + score, id, int32(at)})
		}
		if !covered {
			u.reach(at+size, step{here + float64(tab.UnknownScore), unk, int32(at)})
		}
		at += size
	}
	return u.trace(out, unk)
}

func (u *unigram) reach(at int, s step) {
	if s.score > u.best[at].score {
		u.best[at] = s
	}
}

// trace walks the best path back. Unknown tokens in a row are one.
func (u *unigram) trace(out []int32, unk int32) []int32 {
	from, wasUnknown := len(out), false
	for at := int32(len(u.best) - 1); ; {
		s := u.best[at]
		if !(wasUnknown && s.id == unk) && s.id >= 0 {
			out = append(out, s.id)
		}
		wasUnknown = s.id == unk
		if s.from <= 0 || s.from >= at {
			break
		}
		at = s.from
	}
	slices.Reverse(out[from:])
	return out
}

// normalise rewrites the text as the vocabulary was trained on it: replacements of the precompiled map, spaces written
// U+2581, one in front, runs of them made one.
func (u *unigram) normalise(t *Tokenizer, s string) {
	tab := t.tab
	mark := " "
	if tab.Has(format.TokEscapeSpaces) {
		mark = lowerBlock
	}
	prefix := tab.Has(format.TokSpacePrefix) && !tab.Has(format.TokSpaceSuffix)
	merge := tab.Has(format.TokMergeSpaces)
	u.norm = u.norm[:0]
	inWord, prefixed := false, false
	for i := 0; i < len(s); {
		repl, used := t.replacement(s[i:])
		for k := 0; k < len(repl); k++ {
			switch c := repl[k]; {
			case c != ' ':
				if !inWord && (prefix && !prefixed || merge) {
					u.norm = append(u.norm, mark...)
					prefixed = true
				}
				inWord = true
				u.norm = append(u.norm, c)
			default:
				inWord = false
				if !merge {
					u.norm = append(u.norm, mark...)
				}
			}
		}
		i += used
	}
	if tab.Has(format.TokSpacePrefix) && tab.Has(format.TokSpaceSuffix) {
		u.norm = append(u.norm, mark...)
	}
}

// replacement gives what the text begins with in normal form, and how many bytes of the text that is.
func (t *Tokenizer) replacement(s string) (string, int) {
	// Anything that a user-defined token begins with stays as it is, even where the token goes on differently.
	if n := userPrefix(t.tab.UserTrie(), s); n > 0 {
		return s[:n], n
	}
	if repl, n := charsMapMatch(t.tab.CharsMap(), s); n > 0 {
		return repl, n
	}
	if _, n, ok := decode(s, 0); ok {
		return s[:n], n
	}
	return "\xef\xbf\xbd", 1
}

func userPrefix(trie format.Trie, s string) int {
	node := int32(0)
	for n := range min(len(s), format.TokMaxText) {
		if node = trie.Next(node, s[n]); node < 0 {
			return n
		}
	}
	return min(len(s), format.TokMaxText)
}

// charsMapMatch finds the longest rule of a precompiled map that the text begins with. The map is a length, that many bytes of
// a double-array trie (XOR-compressed: a unit has its label in bits 0-7, "ends here" in bit 8, and its offset above), and
// replacements that end in zero bytes. A map that points outside itself matches nothing.
func charsMapMatch(m []byte, s string) (repl string, n int) {
	if len(m) < 4 {
		return "", 0
	}
	size := uint64(binary.LittleEndian.Uint32(m))
	if size+4 > uint64(len(m)) {
		return "", 0
	}
	units, repls := m[4:4+size], m[4+size:]
	unit := func(i uint32) (uint32, bool) { // an index outside ends the walk
		if uint64(i) >= uint64(len(units))/4 {
			return 0, false
		}
		return binary.LittleEndian.Uint32(units[4*uint64(i):]), true
	}
	offset := func(u uint32) uint32 { return u >> 10 << (u & (1 << 9) >> 6) }
	u, ok := unit(0)
	if !ok {
		return "", 0
	}
	at, value := offset(u), uint32(0)
	for i := 0; i < min(len(s), format.TokMaxText) && s[i] != 0; i++ {
		at ^= uint32(s[i])
		if u, ok = unit(at); !ok || u&(1<<31|0xff) != uint32(s[i]) {
			break
		}
		at ^= offset(u)
		if u>>8&1 != 0 {
			leaf, ok := unit(at)
			if !ok {
				break
			}
			n, value = i+1, leaf&(1<<31-1)
		}
	}
	if n == 0 || uint64(value) >= uint64(len(repls)) {
		return "", 0
	}
	end := slices.Index(repls[value:min(uint64(len(repls)), uint64(value)+format.TokMaxText)], 0)
	if end < 0 {
		return "", 0
	}
	return string(repls[value:][:end]), n
}
