package token

import (
	"bytes"
	"fmt"
	"strconv"

	"jns/format"
)

// Attributes of tokens that are not text of the model's answer.
const notText = format.AttrUnknown | format.AttrControl

// AppendPiece appends the bytes that a token stands for. They may end inside a code point. Control and unknown tokens have
// bytes only if special is set. An id outside the vocabulary has none.
func (t *Tokenizer) AppendPiece(dst []byte, id int32, special bool) []byte {
	if id < 0 || int(id) >= t.tab.Tokens {
		return dst
	}
	attr := t.tab.Attr(id)
	if !special && attr&notText != 0 {
		return dst
	}
	txt := t.tab.Text(id)
	switch t.tab.Kind {
	case format.TokNone:
		return dst
	case format.TokHash:
		return fmt.Appendf(dst, "%x", id)
	case format.TokRWKV:
		return appendUnescaped(dst, txt)
	case format.TokPlamo:
		if b, ok := hexByte(txt); ok && attr&format.AttrByte != 0 {
			return append(dst, b)
		}
		return append(dst, txt...)
	}
	if t.tab.Has(format.TokDNA) {
		txt = bytes.TrimSuffix(txt, []byte(kmerMark))
	}
	switch {
	case attr&(notText|format.AttrUser) != 0:
		return append(dst, txt...)
	case attr&format.AttrNormal != 0 && t.tab.Kind == format.TokBPE && !t.tab.Has(format.TokEscapeSpaces):
		return appendFromAlphabet(dst, txt)
	case attr&format.AttrNormal != 0:
		return appendUnmarked(dst, txt)
	case attr&format.AttrByte != 0:
		b, _ := hexByte(txt)
		return append(dst, b)
	}
	return dst
}

// appendUnmarked writes a space for every U+2581.
func appendUnmarked(dst, txt []byte) []byte {
	for {
		i := bytes.Index(txt, []byte(lowerBlock))
		if i < 0 {
			return append(dst, txt...)
		}
		dst = append(append(dst, txt[:i]...), ' ')
		txt = txt[i+len(lowerBlock):]
	}
}

// maxShown keeps a token of many odd letters, each shown with the whole text, from growing with the square of its length.
const maxShown = 256

// appendFromAlphabet writes the bytes that the letters of a byte alphabet stand for. What is no such letter is shown.
func appendFromAlphabet(dst, txt []byte) []byte {
	for i := 0; i < len(txt); {
		cp, n, _ := decode(txt, i)
		i += n
		if int(cp) < len(alphabetByte) && alphabetByte[cp] >= 0 {
			dst = append(dst, byte(alphabetByte[cp]))
			continue
		}
		dst = fmt.Appendf(dst, "[UNK_BYTE_0x%x%s]", appendCP(nil, cp), txt[:min(len(txt), maxShown)])
	}
	return dst
}

// hexByte reads a token text of the form <0xNN>.
func hexByte(txt []byte) (byte, bool) {
	if len(txt) != 6 || string(txt[:3]) != "<0x" || txt[5] != '>' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(txt[3:5]), 16, 8)
	return byte(v), err == nil
}

// Decode gives the text of tokens, special ones written out, as llama.cpp's detokenizer does.
func (t *Tokenizer) Decode(ids []int32) string { return t.Detokenize(ids, false, true) }

// Detokenize gives the text of tokens. removeSpecial drops the BOS and EOS that Encode adds; special writes control tokens
// out. A space that Encode put in front is taken away again, and, where the vocabulary asks for it, spaces before punctuation.
func (t *Tokenizer) Detokenize(ids []int32, removeSpecial, special bool) string {
	dropSpace := t.tab.Has(format.TokSpacePrefix)
	if removeSpecial && t.AddBOS() && len(ids) > 0 && ids[0] == t.BOS() {
		dropSpace, ids = false, ids[1:]
	}
	if removeSpecial && t.AddEOS() && len(ids) > 0 && ids[len(ids)-1] == t.EOS() {
		ids = ids[:len(ids)-1]
	}
	var out []byte
	for i, id := range ids {
		out = t.AppendPiece(out, id, special)
		if i == 0 && dropSpace && len(out) > 0 && out[0] == ' ' {
			out = out[1:]
		}
	}
	if t.tab.Has(format.TokCleanSpaces) {
		out = cleanSpaces(out)
	}
	return string(out)
}

// cleanSpaces drops the space before ? ! . and , then the spaces around a lone apostrophe, then the space before 's 'm 're
// and 've, each in its own pass.
func cleanSpaces(s []byte) []byte {
	s = pass(s, func(s []byte, i int) (drop, skip bool) {
		c := s[i]
		return s[i-1] == ' ' && (c == '?' || c == '!' || c == '.' || c == ','), false
	})
	s = pass(s, func(s []byte, i int) (drop, skip bool) {
		lone := s[i] == '\'' && i+1 < len(s) && s[i-1] == ' ' && s[i+1] == ' '
		return lone, lone
	})
	return pass(s, func(s []byte, i int) (drop, skip bool) {
		if s[i-1] != ' ' || s[i] != '\'' || i+1 >= len(s) {
			return false, false
		}
		a, b := s[i+1], byte(0)
		if i+2 < len(s) {
			b = s[i+2]
		}
		return a == 's' || a == 'm' || (a == 'r' || a == 'v') && b == 'e', false
	})
}

// pass copies s onto itself. Before byte i > 0 is copied, f may drop the last byte copied and skip the byte behind it.
func pass(s []byte, f func(s []byte, i int) (drop, skip bool)) []byte {
	if len(s) == 0 {
		return s
	}
	src := bytes.Clone(s)
	out := s[:1]
	for i := 1; i < len(src); i++ {
		drop, skip := f(src, i)
		if drop {
			out = out[:len(out)-1]
		}
		out = append(out, src[i])
		if skip {
			i++
			src[i] = 0 // gone: it is no neighbour of what follows
		}
	}
	return out
}
