package token

import (
	"math"

	"jns/format"
)

// longest encodes a fragment by the longest token at every position (RWKV).
func (e *encoder) longest(out []int32, s string) []int32 {
	trie := e.tab.TokenTrie()
	for i := 0; i < len(s); {
		id, n := int32(-1), 0
		node := int32(0)
		for k := i; k < min(len(s), i+format.TokMaxText); k++ {
			if node = trie.Next(node, s[k]); node < 0 {
				break
			}
			if v := trie.Value(node); v >= 0 && int(v) < e.tab.Tokens {
				id, n = v, k+1-i
			}
		}
		if n == 0 {
			out = e.t.appendSpecial(out, format.SpecialUNK)
			i++
			continue
		}
		out = append(out, id)
		i += n
	}
	return out
}

// appendUnescaped undoes the escapes of RWKV's token texts: \t \n \r \xNN and \ before anything else.
func appendUnescaped(dst, s []byte) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' {
			if i++; i == len(s) {
				break
			}
			switch c = s[i]; c {
			case 't':
				c = '\t'
			case 'n':
				c = '\n'
			case 'r':
				c = '\r'
			case 'x':
				if i+2 >= len(s) {
					return dst
				}
				c = nibble(s[i+1])<<4 + nibble(s[i+2])
				i += 2
			}
		}
		dst = append(dst, c)
	}
	return dst
}

func nibble(c byte) byte {
	if c >= 'a' {
		return c - 'a' + 10
	}
	return c - '0'
}

// Scores of PLaMo 2 are in ten-thousandths, so that sums are exact.
const (
	plamoInvalid = -20_000_000
	plamoUnknown = -10_000_000
)

// plamo encodes a fragment by the best path over code points, found from the end; a code point without a token is written
// byte by byte. Among equal paths the one whose first token is longest is taken.
func (e *encoder) plamo(out []int32, s string) []int32 {
	type choice struct {
		cost int64
		id   int32
		n    int32 // code points
	}
	e.txt.set(s)
	t := &e.txt
	first := 0
	if len(t.cps) > 0 && t.cps[0] == 0xfeff {
		first = 1
	}
	n := len(t.cps)
	best := make([]choice, n+1)
	trie := e.tab.TokenTrie()
	var found []choice
	for i := n - 1; i >= first; i-- {
		found = found[:0]
		node := int32(0)
		for k := i; k < min(n, i+format.TokMaxText) && node >= 0; k++ {
			for _, b := range t.buf[t.off[k]:t.off[k+1]] {
				if node >= 0 {
					node = trie.Next(node, b)
				}
			}
			if id := trie.Value(node); node >= 0 && id >= 0 && int(id) < e.tab.Tokens {
				found = append(found, choice{id: id, n: int32(k + 1 - i)})
			}
		}
		best[i] = choice{cost: 1 << 60}
		consider := func(c choice, score int64) {
			if score > plamoInvalid {
				if c.cost = best[i+int(c.n)].cost - score; c.cost < best[i].cost {
					best[i] = c
				}
			}
		}
		for k := len(found) - 1; k >= 0; k-- {
			consider(found[k], plamoScore(e.tab.Score(found[k].id)))
		}
		consider(choice{id: -1, n: 1}, plamoUnknown)
	}
	for i := first; i < n; i += int(max(1, best[i].n)) {
		if id := best[i].id; id >= 0 {
			out = append(out, id)
			continue
		}
		for _, b := range t.buf[t.off[i]:t.off[i+1]] {
			if id := e.tab.ByteToken(b); id >= 0 {
				out = append(out, id)
			}
		}
	}
	return out
}

func plamoScore(s float32) int64 {
	v := math.Round(float64(s) * 1e4)
	if !(v > plamoInvalid && v < 1<<40) {
		return plamoInvalid
	}
	return int64(v)
}

// hashed encodes a fragment as hashes of its pieces of five bytes.
func (e *encoder) hashed(out []int32, s string) []int32 {
	for ; s != "" && e.tab.Tokens > 0; s = s[min(5, len(s)):] {
		h := uint64(0)
		for _, b := range []byte(s[:min(5, len(s))]) {
			h = h*31 + uint64(b)
		}
		out = append(out, int32(h%uint64(e.tab.Tokens)))
	}
	return out
}
