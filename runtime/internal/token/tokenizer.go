package token

import (
	"errors"
	"fmt"

	"jns/format"
)

// ErrNoVocabulary means the container has no texts for its tokens: it is driven by token ids.
var ErrNoVocabulary = errors.New("the model has no vocabulary; give it token ids")

// ErrTooLong means a text is longer than MaxText.
var ErrTooLong = errors.New("text is too long")

// MaxText is the longest text in bytes that Encode takes; offsets inside are 32-bit.
const MaxText = 1 << 28

// Options says how special tokens are treated.
type Options struct {
	AddSpecial   bool // begin and end as the vocabulary asks for (BOS, EOS; CLS and SEP of BERT)
	ParseSpecial bool // text that spells a control token becomes that token
}

// Tokenizer is a vocabulary ready for use. It is immutable and safe for use in parallel.
type Tokenizer struct {
	tab   *format.Tokenizer
	words []rule     // how byte-pair text is cut into words
	first [256]int32 // node of the special tokens' trie behind each first byte, -1 none
}

// New prepares a vocabulary; it reads nothing that grows with the vocabulary.
func New(tab *format.Tokenizer) (*Tokenizer, error) {
	t := &Tokenizer{tab: tab}
	if tab.Kind == format.TokBPE {
		if int(tab.Rule) >= len(ruleWords) || ruleWords[tab.Rule] == nil {
			return nil, fmt.Errorf("pre-tokenizer rule %d: %w", tab.Rule, format.ErrUnsupported)
		}
		t.words = ruleWords[tab.Rule]
	}
	special := tab.SpecialTrie()
	for b := range t.first {
		t.first[b] = special.Next(0, byte(b))
	}
	return t, nil
}

// Encode gives the tokens of a text; any bytes will do. The only errors are ErrNoVocabulary and ErrTooLong.
func (t *Tokenizer) Encode(text string, opt Options) ([]int32, error) {
	if t.tab.Kind == format.TokNone {
		return nil, ErrNoVocabulary
	}
	if len(text) > MaxText {
		return nil, fmt.Errorf("%d bytes, at most %d are taken: %w", len(text), MaxText, ErrTooLong)
	}
	out := make([]int32, 0, len(text)/3+4)
	before, after := t.frame()
	if opt.AddSpecial {
		out = t.appendSpecial(out, before)
	}
	e := encoder{t: t, tab: t.tab}
	afterSpecial := true
	for _, f := range t.fragments(text, opt.ParseSpecial) {
		if f.id >= 0 {
			out = append(out, f.id)
			afterSpecial = true
			continue
		}
		out = e.fragment(out, text[f.lo:f.hi], afterSpecial)
		afterSpecial = false
	}
	if opt.AddSpecial {
		out = t.appendSpecial(out, after)
	}
	return out, nil
}

// frame gives the special tokens that a text begins and ends with; a spare special, which has no id, where there is none.
func (t *Tokenizer) frame() (before, after format.TokSpecial) {
	before, after = format.NumSpecials, format.NumSpecials
	switch t.tab.Kind {
	case format.TokWordPc: // whatever the flags say
		return format.SpecialBOS, format.SpecialSEP
	case format.TokSPM, format.TokBPE, format.TokUnigram:
		if t.AddBOS() {
			before = format.SpecialBOS
		}
		if t.AddEOS() {
			after = format.SpecialEOS
		}
	}
	return before, after
}

// encoder holds the working memory of one call of Encode.
type encoder struct {
	t   *Tokenizer
	tab *format.Tokenizer
	txt text
	buf []byte
	bpe merger
	spm scoreMerger
	uni unigram
}

// fragment encodes text that holds no special token.
func (e *encoder) fragment(out []int32, s string, afterSpecial bool) []int32 {
	switch e.tab.Kind {
	case format.TokSPM:
		e.buf = e.buf[:0]
		if afterSpecial && e.tab.Has(format.TokSpacePrefix) {
			e.buf = append(e.buf, lowerBlock...)
		}
		e.buf = appendEscaped(e.buf, s)
		return e.spm.encode(out, e.tab, e.buf)
	case format.TokBPE:
		return e.bytePair(out, s)
	case format.TokWordPc:
		return e.wordPieces(out, s)
	case format.TokUnigram:
		return e.uni.encode(out, e.t, s)
	case format.TokRWKV:
		return e.longest(out, s)
	case format.TokPlamo:
		return e.plamo(out, s)
	case format.TokHash:
		return e.hashed(out, s)
	}
	return out
}

func (t *Tokenizer) appendSpecial(out []int32, s format.TokSpecial) []int32 {
	if id := t.tab.Special(s); id >= 0 {
		out = append(out, id)
	}
	return out
}

// VocabSize is the number of tokens.
func (t *Tokenizer) VocabSize() int { return t.tab.Tokens }

// HasText reports whether tokens have texts at all.
func (t *Tokenizer) HasText() bool { return t.tab.Kind != format.TokNone }

// AddBOS reports whether a prompt begins with BOS when special tokens are asked for.
func (t *Tokenizer) AddBOS() bool { return t.tab.Has(format.TokAddBOS) }

// AddEOS reports whether a prompt ends with EOS when special tokens are asked for.
func (t *Tokenizer) AddEOS() bool { return t.tab.Has(format.TokAddEOS) }

// AddSEP reports whether SEP stands between two texts that are read together.
func (t *Tokenizer) AddSEP() bool { return t.tab.Has(format.TokAddSEP) }

// BOS is the token that begins a text, -1 if there is none.
func (t *Tokenizer) BOS() int32 { return t.tab.Special(format.SpecialBOS) }

// EOS is the token that ends a text, -1 if there is none.
func (t *Tokenizer) EOS() int32 { return t.tab.Special(format.SpecialEOS) }

// EOT is the token that ends a turn, -1 if there is none.
func (t *Tokenizer) EOT() int32 { return t.tab.Special(format.SpecialEOT) }

// Special gives any of the special ids, -1 if there is none.
func (t *Tokenizer) Special(s format.TokSpecial) int32 { return t.tab.Special(s) }

// IsEOG reports whether a token ends generation.
func (t *Tokenizer) IsEOG(id int32) bool { return t.tab.EOG(id) }

// EOGs lists the tokens that end generation, ascending.
func (t *Tokenizer) EOGs() []int32 { return t.tab.EOGs() }

// Suppressed lists the tokens that must never be generated, ascending.
func (t *Tokenizer) Suppressed() []int32 { return t.tab.Suppress() }

// BOSText is what a chat template's bos_token stands for, empty if there is none.
func (t *Tokenizer) BOSText() string { return string(t.AppendPiece(nil, t.BOS(), true)) }

// EOSText is what a chat template's eos_token stands for, empty if there is none.
func (t *Tokenizer) EOSText() string { return string(t.AppendPiece(nil, t.EOS(), true)) }
