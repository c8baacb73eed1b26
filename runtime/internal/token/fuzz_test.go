package token

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"jns/format"
)

// families are small vocabularies of every kind.
func families() []*vocabulary {
	tries := map[string]int32{"a": 3, "ab": 4, "▁": 5, "▁a": 6, " ": 7, "b": 8}
	texts := []string{"a", "ab", "▁", "▁a", " ", "b"}
	var all []*vocabulary
	for _, k := range []format.TokKind{format.TokSPM, format.TokWordPc, format.TokUnigram, format.TokRWKV, format.TokPlamo, format.TokHash} {
		v := small(k, texts...)
		v.Flags = format.TokSpacePrefix | format.TokEscapeSpaces | format.TokAddBOS | format.TokCleanSpaces | format.TokLowercase |
			format.TokStripAccents
		if k == format.TokWordPc || k == format.TokUnigram || k == format.TokRWKV || k == format.TokPlamo {
			v.TokenTrie, v.UserTrie = tries, map[string]int32{"ab": 4}
		}
		all = append(all, v)
	}
	for rule := range format.NumPreRules {
		all = append(all, bytePair(rule, "a b", "Ġ a"))
	}
	gemma := small(format.TokBPE, "a", "▁", "▁a", "\n\n")
	gemma.Rule, gemma.Flags = format.PreNewlines, format.TokEscapeSpaces|format.TokNewlineRuns
	gemma.Merges = []format.TokMerge{{Left: 4, Right: 3, Rank: 0, Result: 5}}
	drop := bytePair(format.PreWhitespace)
	drop.Flags |= format.TokDropSpaces | format.TokLowercase
	dna := bytePair(format.PreGPT2)
	dna.Flags |= format.TokDNA
	dna.Texts = append(dna.Texts, "<dna>", "</dna>", "<oov>", "ACGTAC"+kmerMark)
	for len(dna.Attrs) < len(dna.Texts) {
		dna.Attrs = append(dna.Attrs, format.AttrNormal)
	}
	return append(all, gemma, drop, dna)
}

var odd = []string{"", "a", "ab ba", "\xff\xfe", "\xc3", "a\xe4\xb8", "\xf4\x90\x80\x80", "\xed\xa0\x80", "\xc0\x80", "\x00\x01", "<s>a</s> b",
	"It's 12345 o'clock, OK?\r\n\n\t  x", "é中か한\u0301", "<dna>acgtacgg</dna> x<dna>", "IMGIMGABZ<sentinel:1>", " \u3000 \u2028"}

func FuzzEncodeTakesAnyBytes(f *testing.F) {
	var toks []*Tokenizer
	for _, v := range families() {
		toks = append(toks, v.open(f))
	}
	for _, s := range odd {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, tok := range toks {
			for _, opt := range []Options{{}, {AddSpecial: true, ParseSpecial: true}} {
				ids, err := tok.Encode(s, opt)
				require.NoError(t, err)
				for _, id := range ids {
					if id < 0 || int(id) >= tok.VocabSize() {
						t.Fatalf("id %d of %d", id, tok.VocabSize())
					}
				}
				got := tok.Decode(ids)
				if tok.tab.Kind == format.TokBPE && opt == (Options{}) && tok.tab.Flags == format.TokByteAlphabet && utf8.ValidString(s) &&
					!strings.Contains(s, "<unk>") && got != s {
					t.Fatalf("rule %d: %q came back as %q", tok.tab.Rule, s, got)
				}
			}
		}
	})
}

func FuzzTablesAreUntrusted(f *testing.F) {
	var seeds [][]byte
	for i, v := range families() {
		seeds = append(seeds, v.section(f))
		f.Add(i, uint32(300), uint32(77), uint32(0xffffffff), "ab <s> a\n\n<dna>acgtac")
	}
	f.Fuzz(func(t *testing.T, which int, at, at2, v uint32, s string) {
		b := append([]byte(nil), seeds[uint(which)%uint(len(seeds))]...)
		for i, p := range []uint32{at, at2} {
			for k := range 4 {
				b[(int(p%uint32(len(b)))+k)%len(b)] = byte(v >> (8 * ((k + i) % 4)))
			}
		}
		tab, err := format.ParseTokenizer(b)
		if err != nil {
			return
		}
		_ = tab.Check()
		tok, err := New(tab)
		if err != nil {
			return
		}
		ids, err := tok.Encode(s, Options{AddSpecial: true, ParseSpecial: true})
		if err != nil {
			return
		}
		for _, id := range ids {
			if id < 0 || int(id) >= tok.VocabSize() {
				t.Fatalf("id %d of %d", id, tok.VocabSize())
			}
		}
		tok.Detokenize(ids, true, false)
	})
}
