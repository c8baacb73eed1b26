package vocab

import (
	"fmt"
	"strings"

	"jns/compiler/internal/gguf"
	"jns/format"
)

// byteAlphabet gives the code point that stands for each byte in the texts of byte-level vocabularies: printable Latin-1 for
// itself, the rest from U+0100 on in order.
var byteAlphabet = func() (a [256]string) {
	next := rune(0x100)
	for b := range 256 {
		switch {
		case b >= 0x21 && b <= 0x7e, b >= 0xa1 && b <= 0xac, b >= 0xae:
			a[b] = string(rune(b))
		default:
			a[b] = string(next)
			next++
		}
	}
	return a
}()

// merges reads the merges and numbers the strings that occur in them only.
func (b *builder) merges() error {
	if b.tok.Kind != format.TokBPE {
		return nil
	}
	a, ok, err := b.set.Array(keyMerges)
	if err != nil {
		return err
	}
	if !ok {
		if b.tok.Rule == format.PreKimiK2 { // its vocabulary was published without
			return nil
		}
		return corrupt(keyMerges, "the key is missing: a byte-pair vocabulary is of no use without merges")
	}
	if a.Elem != gguf.KindString {
		return corrupt(keyMerges, "array of %s where strings are needed", a.Elem)
	}
	lines, err := a.Strings()
	if err != nil {
		return err
	}
	b.tok.Merges = make([]format.TokMerge, 0, len(lines))
	seen := make(map[[2]uint32]bool, len(lines))
	for rank, line := range lines {
		cut := -1
		if len(line) > 1 {
			cut = 1 + strings.IndexByte(line[1:], ' ')
		}
		if cut < 1 || cut == len(line)-1 {
			return corrupt(keyMerges, "merge %d is %q: two pieces with a space between are needed", rank, clip(line))
		}
		m := format.TokMerge{Left: b.piece(line[:cut]), Right: b.piece(line[cut+1:]), Rank: uint32(rank)}
		if pair := [2]uint32{m.Left, m.Right}; !seen[pair] { // the first of two equal merges counts
			seen[pair] = true
			m.Result = b.piece(line[:cut] + line[cut+1:])
			b.tok.Merges = append(b.tok.Merges, m)
		}
	}
	if extra := len(b.tok.Texts) - b.tok.Tokens; extra > 0 {
		b.note("%d strings of the merges are no tokens; text that ends in one is written byte by byte", extra)
	}
	return nil
}

// piece numbers a string, giving it the next number if it is new.
func (b *builder) piece(s string) uint32 {
	id, ok := b.ids[s]
	if !ok {
		id = int32(len(b.tok.Texts))
		b.ids[s] = id
		b.tok.Texts = append(b.tok.Texts, s)
	}
	return uint32(id)
}

// byteTables finds the tokens that stand for single bytes.
func (b *builder) byteTables() {
	b.tok.ByteTokens = make([]int32, 256)
	for c := range 256 {
		id := int32(-1)
		hex, raw := fmt.Sprintf("<0x%02X>", c), string([]byte{byte(c)})
		switch {
		case b.tok.Flags&format.TokByteAlphabet != 0:
			id = b.tokenOr(raw, -1)
		case b.tok.Kind == format.TokBPE:
			id = b.tokenOr(hex, -1)
		default:
			id = b.tokenOr(hex, b.tokenOr(raw, -1))
		}
		b.tok.ByteTokens[c] = id
	}
	if b.tok.Flags&format.TokByteAlphabet == 0 {
		return
	}
	b.tok.ByteSymbols = make([]int32, 256)
	for c := range 256 {
		b.tok.ByteSymbols[c] = -1
		if id, ok := b.ids[byteAlphabet[c]]; ok {
			b.tok.ByteSymbols[c] = id
		}
	}
}

func (b *builder) tokenOr(text string, other int32) int32 {
	if id, ok := b.tokenOf(text); ok {
		return id
	}
	return other
}

// tries lays out the texts that are matched by longest prefix or best path.
func (b *builder) tries() {
	t := &b.tok
	switch t.Kind {
	case format.TokWordPc:
		t.TokenTrie = b.trieOf(func(format.TokAttr) bool { return true })
	case format.TokUnigram:
		t.TokenTrie = b.trieOf(func(a format.TokAttr) bool {
			return a&(format.AttrNormal|format.AttrUser|format.AttrUnused) != 0
		})
		t.UserTrie = b.trieOf(func(a format.TokAttr) bool { return a&format.AttrUser != 0 })
		t.UnknownScore = b.unknownScore()
	case format.TokRWKV:
		t.TokenTrie = make(map[string]int32, len(t.Texts))
		for id, s := range t.Texts {
			if s = unescape(s); s != "" {
				t.TokenTrie[s] = int32(id)
			}
		}
	case format.TokPlamo:
		t.TokenTrie = b.trieOf(func(a format.TokAttr) bool { return a&format.AttrByte == 0 })
	}
}

func (b *builder) trieOf(take func(format.TokAttr) bool) map[string]int32 {
	m := make(map[string]int32, b.tok.Tokens)
	for id := range b.tok.Tokens {
		if take(b.tok.Attrs[id]) {
			m[b.tok.Texts[id]] = int32(id)
		}
	}
	return m
}

// unknownScore is a penalty of 10 below the least score of a normal token.
func (b *builder) unknownScore() float32 {
	const none = 3.40282346638528859811704183484516925440e+38
	least := float32(none)
	for id, s := range b.tok.Scores {
		if b.tok.Attrs[id]&format.AttrNormal != 0 {
			least = min(least, s)
		}
	}
	if b.tok.Scores == nil {
		least = 0
	}
	return least - 10
}

// unescape undoes the escapes of RWKV's token texts: \t \n \r \xNN and \ before anything else.
func unescape(s string) string {
	var out []byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '\\' || i+1 == len(s) {
			if c != '\\' {
				out = append(out, c)
			}
			continue
		}
		i++
		switch c = s[i]; c {
		case 't':
			c = '\t'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 'x':
			if i+2 >= len(s) {
				return string(out)
			}
			c = nibble(s[i+1])<<4 + nibble(s[i+2])
			i += 2
		}
		out = append(out, c)
	}
	return string(out)
}

func nibble(c byte) byte {
	if c >= 'a' {
		return c - 'a' + 10
	}
	return c - '0'
}
