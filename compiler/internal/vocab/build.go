package vocab

import (
	"fmt"
	"strings"

	"jns/compiler/internal/gguf"
	"jns/format"
)

// Facts are what explain and inspect say about a vocabulary.
type Facts struct {
	Model  string // tokenizer.ggml.model
	Pre    string // tokenizer.ggml.pre; "default" where a byte-pair vocabulary names none
	Kind   format.TokKind
	Tokens int
	Merges int
	EOG    []int32  // tokens that end generation
	Notes  []string // what was amended or left out on the way, for people to read
}

// The keys read here. llama.cpp's spelling of the separator's key is part of the format.
const (
	keyModel    = "tokenizer.ggml.model"
	keyPre      = "tokenizer.ggml.pre"
	keyTokens   = "tokenizer.ggml.tokens"
	keyTypes    = "tokenizer.ggml.token_type"
	keyScores   = "tokenizer.ggml.scores"
	keyMerges   = "tokenizer.ggml.merges"
	keyCharsMap = "tokenizer.ggml.precompiled_charsmap"
	keySuppress = "tokenizer.ggml.suppress_tokens"
)

// builder carries one vocabulary from metadata to tables.
type builder struct {
	set   *gguf.Set
	facts Facts
	ids   map[string]int32 // text → piece
	tok   format.TokenizerTables
}

// Build makes the tokenizer section of a model. Errors are *gguf.Error or wrap format.ErrUnsupported; they name the key, and
// wrap gguf.ErrUnsupported where the model or pre-tokenizer is unknown here, gguf.ErrCorrupt where metadata contradicts itself.
func Build(set *gguf.Set) (section []byte, facts Facts, err error) {
	b := &builder{set: set}
	steps := []func() error{b.model, b.pre, b.flags, b.tokens, b.merges, b.specialIDs, b.normaliser}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, Facts{}, err
		}
		if b.tok.Kind == format.TokNone {
			break
		}
	}
	if b.tok.Kind != format.TokNone {
		b.tries() // before attributes are amended: the original types decide what a best path may use
		b.amend()
		b.byteTables()
	}
	section, err = format.EncodeTokenizer(&b.tok)
	if err != nil {
		return nil, Facts{}, err
	}
	b.facts.Kind, b.facts.Tokens, b.facts.Merges = b.tok.Kind, b.tok.Tokens, len(b.tok.Merges)
	for _, id := range b.tok.EOG {
		b.facts.EOG = append(b.facts.EOG, int32(id))
	}
	return section, b.facts, nil
}

func unsupported(key, f string, args ...any) error {
	return &gguf.Error{Key: key, Offset: -1, Err: fmt.Errorf("%w: "+f, append([]any{gguf.ErrUnsupported}, args...)...)}
}

func corrupt(key, f string, args ...any) error {
	return &gguf.Error{Key: key, Offset: -1, Err: fmt.Errorf("%w: "+f, append([]any{gguf.ErrCorrupt}, args...)...)}
}

func (b *builder) note(f string, args ...any) {
	b.facts.Notes = append(b.facts.Notes, fmt.Sprintf(f, args...))
}

// models names the vocabularies this package knows with the special ids they have unless metadata says otherwise:
// BOS, EOS, UNK, SEP, PAD, MASK.
var models = map[string]struct {
	kind     format.TokKind
	flags    format.TokFlags
	defaults [6]int32
}{
	"none":       {kind: format.TokNone, defaults: [6]int32{-1, -1, -1, -1, -1, -1}},
	"no_vocab":   {kind: format.TokNone, defaults: [6]int32{-1, -1, -1, -1, -1, -1}},
	"llama":      {format.TokSPM, format.TokSpacePrefix | format.TokAddBOS | format.TokEscapeSpaces, [6]int32{1, 2, 0, -1, -1, -1}},
	"bert":       {format.TokWordPc, format.TokAddBOS | format.TokAddSEP | format.TokCleanSpaces | format.TokEscapeSpaces, [6]int32{101, -1, 100, 102, 0, 103}},
	"gpt2":       {format.TokBPE, 0, [6]int32{11, 11, -1, -1, -1, -1}},
	"hybriddna":  {format.TokBPE, format.TokDNA, [6]int32{11, 11, -1, -1, -1, -1}},
	"whitespace": {format.TokBPE, format.TokDropSpaces, [6]int32{11, 11, -1, -1, -1, -1}},
	"gemma4":     {format.TokBPE, 0, [6]int32{-1, -1, -1, -1, -1, -1}},
	"t5":         {format.TokUnigram, format.TokAddEOS | format.TokEscapeSpaces, [6]int32{-1, 1, 2, -1, 0, -1}},
	"rwkv":       {format.TokRWKV, format.TokEscapeSpaces, [6]int32{-1, -1, -1, -1, -1, -1}},
	"plamo2":     {format.TokPlamo, format.TokEscapeSpaces, [6]int32{1, 2, 0, -1, 3, -1}},
	"test":       {format.TokHash, 0, [6]int32{-1, -1, -1, -1, -1, -1}},
}

// model reads the kind of vocabulary.
func (b *builder) model() error {
	name, ok, err := b.set.Str(keyModel)
	if err != nil {
		return err
	}
	if !ok {
		return corrupt(keyModel, "the key is missing: a model without a vocabulary says \"none\"")
	}
	m, ok := models[name]
	if !ok {
		return unsupported(keyModel, "this compiler does not know the vocabulary model %q", name)
	}
	b.facts.Model, b.tok.Model = name, name
	b.tok.Kind, b.tok.Flags = m.kind, m.flags
	for i := range b.tok.Special {
		b.tok.Special[i] = -1
	}
	for i, s := range []format.TokSpecial{
		format.SpecialBOS, format.SpecialEOS, format.SpecialUNK, format.SpecialSEP, format.SpecialPAD, format.SpecialMASK,
	} {
		b.tok.Special[s] = m.defaults[i]
	}
	if m.kind == format.TokNone {
		return b.sizeWithoutTexts()
	}
	return nil
}

// sizeWithoutTexts reads the size of a vocabulary that has no texts, 0 if metadata does not give it.
func (b *builder) sizeWithoutTexts() error {
	arch, _, err := b.set.Str("general.architecture")
	if err != nil {
		return err
	}
	n, _, err := b.set.Uint(arch + ".vocab_size")
	if err != nil {
		return err
	}
	if n > 1<<28 {
		return unsupported(arch+".vocab_size", "%d tokens", n)
	}
	b.tok.Tokens = int(n)
	return nil
}

// flags reads the switches that metadata may set for any kind.
func (b *builder) flags() error {
	for _, f := range []struct {
		key  string
		flag format.TokFlags
	}{
		{"tokenizer.ggml.add_space_prefix", format.TokSpacePrefix},
		{"tokenizer.ggml.remove_extra_whitespaces", format.TokMergeSpaces},
		{"tokenizer.ggml.add_bos_token", format.TokAddBOS},
		{"tokenizer.ggml.add_eos_token", format.TokAddEOS},
		{"tokenizer.ggml.add_sep_token", format.TokAddSEP},
	} {
		v, ok, err := b.set.Bool(f.key)
		if err != nil {
			return err
		}
		if ok {
			b.setFlag(f.flag, v)
		}
	}
	if b.tok.Flags&format.TokNewlineRuns != 0 && b.tok.Flags&format.TokAddBOS == 0 {
		b.tok.Flags |= format.TokAddBOS
		b.note("a gemma4 vocabulary always begins with BOS; add_bos_token was false or absent")
	}
	return nil
}

func (b *builder) setFlag(f format.TokFlags, on bool) {
	if on {
		b.tok.Flags |= f
	} else {
		b.tok.Flags &^= f
	}
}

// normaliser reads what BERT-like vocabularies do to text first, and SentencePiece's precompiled map.
func (b *builder) normaliser() error {
	lower := b.tok.Rule != format.PreWhitespace
	for _, n := range []struct {
		key  string
		flag format.TokFlags
	}{
		{"tokenizer.ggml.normalizer.lowercase", format.TokLowercase},
		{"tokenizer.ggml.normalizer.strip_accents", format.TokStripAccents},
	} {
		v, ok, err := b.set.Bool(n.key)
		if err != nil {
			return err
		}
		if ok {
			lower = v
		}
		b.setFlag(n.flag, lower)
	}
	return b.charsMap()
}

func (b *builder) charsMap() error {
	a, ok, err := b.set.Array(keyCharsMap)
	if err != nil || !ok || b.tok.Kind != format.TokUnigram {
		return err
	}
	var raw []byte
	switch a.Elem {
	case gguf.KindUint8:
		raw, err = a.Uint8s()
	case gguf.KindInt8:
		var v []int32
		v, err = a.Int32s()
		for _, c := range v {
			raw = append(raw, byte(c))
		}
	default:
		return corrupt(keyCharsMap, "array of %s where uint8 or int8 is needed", a.Elem)
	}
	if err != nil {
		return err
	}
	if len(raw) < 4 || uint64(raw[0])|uint64(raw[1])<<8|uint64(raw[2])<<16|uint64(raw[3])<<24+4 >= uint64(len(raw)) {
		return corrupt(keyCharsMap, "%d bytes are too few for the trie they announce", len(raw))
	}
	b.tok.CharsMap = raw
	return nil
}

// tokens reads texts, scores and types and holds their counts against each other.
func (b *builder) tokens() error {
	a, ok, err := b.set.Array(keyTokens)
	if err != nil {
		return err
	}
	if !ok {
		return corrupt(keyTokens, "the key is missing")
	}
	if a.Len == 0 || a.Len > 1<<28 {
		return corrupt(keyTokens, "%d tokens", a.Len)
	}
	texts, err := a.Strings()
	if err != nil {
		return err
	}
	b.ids = make(map[string]int32, len(texts)+len(texts)/8)
	for i, s := range texts {
		if s == "" {
			s = fmt.Sprintf("[EMPTY_%d]", i)
			texts[i] = s
		}
		if first, twice := b.ids[s]; twice {
			return corrupt(keyTokens, "tokens %d and %d have the same text %q", first, i, clip(s))
		}
		b.ids[s] = int32(i)
	}
	b.tok.Texts, b.tok.Tokens = texts, len(texts)
	if err := b.scores(); err != nil {
		return err
	}
	return b.types()
}

func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}

func (b *builder) scores() error {
	a, ok, err := b.set.Array(keyScores)
	if err != nil || !ok {
		if err == nil && (b.tok.Kind == format.TokUnigram || b.tok.Kind == format.TokSPM) {
			b.note("the vocabulary has no scores; all count as 0")
		}
		return err
	}
	if a.Len != b.tok.Tokens {
		return corrupt(keyScores, "%d scores for %d tokens", a.Len, b.tok.Tokens)
	}
	var scores []float32
	switch a.Elem {
	case gguf.KindFloat32:
		scores, err = a.Float32s()
	case gguf.KindInt32:
		var v []int32
		v, err = a.Int32s()
		for _, x := range v {
			scores = append(scores, float32(x))
		}
	default:
		return corrupt(keyScores, "array of %s where float32 or int32 is needed", a.Elem)
	}
	if err != nil {
		return err
	}
	for i, s := range scores {
		if s != s {
			return corrupt(keyScores, "score %d is not a number", i)
		}
	}
	switch b.tok.Kind {
	case format.TokSPM, format.TokUnigram, format.TokPlamo: // the others do not look at scores
		b.tok.Scores = scores
	}
	return nil
}

// Token types as GGUF numbers them.
var attrOfType = [...]format.TokAttr{
	0, format.AttrNormal, format.AttrUnknown, format.AttrControl, format.AttrUser, format.AttrUnused, format.AttrByte,
}

func (b *builder) types() error {
	b.tok.Attrs = make([]format.TokAttr, b.tok.Tokens)
	a, ok, err := b.set.Array(keyTypes)
	if err != nil {
		return err
	}
	if !ok {
		for i := range b.tok.Attrs {
			b.tok.Attrs[i] = format.AttrNormal
		}
		return nil
	}
	if a.Elem != gguf.KindInt32 && a.Elem != gguf.KindUint32 {
		return corrupt(keyTypes, "array of %s where int32 is needed", a.Elem)
	}
	if a.Len != b.tok.Tokens {
		return corrupt(keyTypes, "%d types for %d tokens", a.Len, b.tok.Tokens)
	}
	types, err := a.Int32s()
	if err != nil {
		return err
	}
	for i, t := range types {
		if t >= 0 && int(t) < len(attrOfType) {
			b.tok.Attrs[i] = attrOfType[t]
		}
	}
	return nil
}

// specialIDs reads the ids of special tokens. An id outside the vocabulary is passed over, as llama.cpp does, and noted.
func (b *builder) specialIDs() error {
	n := int32(b.tok.Tokens)
	for i, id := range b.tok.Special {
		if id >= n {
			b.tok.Special[i] = -1
		}
	}
	for _, k := range []struct {
		name string
		id   format.TokSpecial
	}{
		{"bos_token_id", format.SpecialBOS}, {"eos_token_id", format.SpecialEOS}, {"eot_token_id", format.SpecialEOT},
		{"eom_token_id", format.SpecialEOM}, {"unknown_token_id", format.SpecialUNK},
		{"seperator_token_id", format.SpecialSEP}, {"padding_token_id", format.SpecialPAD},
		{"mask_token_id", format.SpecialMASK}, {"fim_pre_token_id", format.SpecialFIMPre},
		{"fim_suf_token_id", format.SpecialFIMSuf}, {"fim_mid_token_id", format.SpecialFIMMid},
		{"fim_pad_token_id", format.SpecialFIMPad}, {"fim_rep_token_id", format.SpecialFIMRep},
		{"fim_sep_token_id", format.SpecialFIMSep},
		// Older names of three of them.
		{"prefix_token_id", format.SpecialFIMPre}, {"suffix_token_id", format.SpecialFIMSuf},
		{"middle_token_id", format.SpecialFIMMid},
	} {
		key := "tokenizer.ggml." + k.name
		v, ok, err := b.set.Int(key)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if v < 0 || v >= int64(n) {
			b.note("%s is %d of %d tokens and was passed over", key, v, n)
			continue
		}
		b.tok.Special[k.id] = int32(v)
	}
	return b.suppressed()
}

func (b *builder) suppressed() error {
	a, ok, err := b.set.Array(keySuppress)
	if err != nil || !ok {
		return err
	}
	ids, err := a.Int32s()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if id >= 0 && int(id) < b.tok.Tokens {
			b.tok.Suppress = append(b.tok.Suppress, uint32(id))
		}
	}
	return nil
}

func containsAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}
