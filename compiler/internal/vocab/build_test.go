package vocab

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler/internal/gguf"
	"jns/format"
)

// keys are the metadata of a vocabulary; values are string, bool, uint32, []string, []float32, []int32 or []uint8.
type keys map[string]any

// set writes keys as a GGUF without tensors and opens it.
func set(t testing.TB, k keys) *gguf.Set {
	le := binary.LittleEndian
	str := func(b []byte, s string) []byte { return append(le.AppendUint64(b, uint64(len(s))), s...) }
	b := le.AppendUint32([]byte("GGUF"), 3)
	b = le.AppendUint64(le.AppendUint64(b, 0), uint64(len(k)))
	array := func(b []byte, kind gguf.Kind, n int) []byte {
		return le.AppendUint64(le.AppendUint32(le.AppendUint32(b, uint32(gguf.KindArray)), uint32(kind)), uint64(n))
	}
	for _, key := range slices.Sorted(maps.Keys(k)) {
		b = str(b, key)
		switch v := k[key].(type) {
		case string:
			b = str(le.AppendUint32(b, uint32(gguf.KindString)), v)
		case bool:
			b = append(le.AppendUint32(b, uint32(gguf.KindBool)), map[bool]byte{true: 1}[v])
		case uint32:
			b = le.AppendUint32(le.AppendUint32(b, uint32(gguf.KindUint32)), v)
		case []string:
			b = array(b, gguf.KindString, len(v))
			for _, s := range v {
				b = str(b, s)
			}
		default:
			kind := map[string]gguf.Kind{"[]float32": gguf.KindFloat32, "[]int32": gguf.KindInt32, "[]uint8": gguf.KindUint8}
			var name string
			n := 0
			switch v := v.(type) {
			case []float32:
				name, n = "[]float32", len(v)
			case []int32:
				name, n = "[]int32", len(v)
			case []uint8:
				name, n = "[]uint8", len(v)
			}
			var body bytes.Buffer
			require.NoError(t, binary.Write(&body, le, v))
			b = append(array(b, kind[name], n), body.Bytes()...)
		}
	}
	for len(b)%32 != 0 {
		b = append(b, 0)
	}
	s, err := gguf.OpenReader(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	return s
}

// with gives keys with some changed; a nil value takes one away.
func (k keys) with(changes keys) keys {
	c := maps.Clone(k)
	for key, v := range changes {
		if c[key] = v; v == nil {
			delete(c, key)
		}
	}
	return c
}

var bytePair = keys{
	keyModel: "gpt2", keyPre: "qwen2",
	keyTokens: []string{"a", "b", "ab", "<|im_end|>", "<|endoftext|>", "Ġ"}, keyTypes: []int32{1, 1, 1, 1, 3, 1},
	keyMerges: []string{"a b", "ab ab"}, "tokenizer.ggml.bos_token_id": uint32(4),
}

func build(t testing.TB, k keys) (*format.Tokenizer, Facts) {
	section, facts, err := Build(set(t, k))
	require.NoError(t, err)
	tab, err := format.ParseTokenizer(section)
	require.NoError(t, err)
	require.NoError(t, tab.Check())
	return tab, facts
}

func TestBytePairVocabulary(t *testing.T) {
	tab, facts := build(t, bytePair)
	require.Equal(t, "gpt2 qwen2 BPE", facts.Model+" "+facts.Pre+" "+facts.Kind.String())
	require.Equal(t, []int32{3, 4}, facts.EOG)
	require.Equal(t, 6, tab.Tokens)
	require.Equal(t, 7, tab.Pieces, "abab is a string of the merges only")
	rank, result, ok := tab.Merge(0, 1)
	require.True(t, ok)
	require.EqualValues(t, 0, rank)
	require.EqualValues(t, 2, result)
	require.NotZero(t, tab.Attr(3)&format.AttrControl, "a token that ends generation is a control token whatever its type says")
	require.EqualValues(t, 4, tab.Special(format.SpecialBOS))
	require.EqualValues(t, -1, tab.Special(format.SpecialEOS), "the default id lies outside this vocabulary")
	require.EqualValues(t, 5, tab.ByteSymbol(' '))
	require.False(t, tab.Has(format.TokAddBOS))
}

func TestWhatIsUnknownIsRefusedByName(t *testing.T) {
	for key, v := range map[string]string{keyModel: "granite-voice", keyPre: "qwen9"} {
		_, _, err := Build(set(t, bytePair.with(keys{key: v})))
		require.ErrorIs(t, err, gguf.ErrUnsupported)
		require.ErrorContains(t, err, v)
		require.ErrorContains(t, err, key)
	}
}

func TestMetadataThatContradictsItselfIsNamed(t *testing.T) {
	spm := keys{keyModel: "llama", keyTokens: []string{"<unk>", "a"}, keyScores: []float32{0, -1}, keyTypes: []int32{2, 1}}
	t5 := spm.with(keys{keyModel: "t5"})
	for name, c := range map[string]struct {
		k   keys
		key string
	}{
		"no model":                 {bytePair.with(keys{keyModel: nil}), keyModel},
		"model of another kind":    {bytePair.with(keys{keyModel: uint32(1)}), keyModel},
		"pre of another kind":      {bytePair.with(keys{keyPre: true}), keyPre},
		"no tokens":                {bytePair.with(keys{keyTokens: nil}), keyTokens},
		"empty tokens":             {bytePair.with(keys{keyTokens: []string{}}), keyTokens},
		"tokens as numbers":        {bytePair.with(keys{keyTokens: []int32{1}}), keyTokens},
		"equal tokens":             {bytePair.with(keys{keyTokens: []string{"a", "b", "a", "c", "d", "e"}}), keyTokens},
		"no merges":                {bytePair.with(keys{keyMerges: nil}), keyMerges},
		"merges as numbers":        {bytePair.with(keys{keyMerges: []int32{1}}), keyMerges},
		"merge without a space":    {bytePair.with(keys{keyMerges: []string{"a b", "ab"}}), keyMerges},
		"merge with an empty half": {bytePair.with(keys{keyMerges: []string{"a "}}), keyMerges},
		"scores as bytes":          {spm.with(keys{keyScores: []uint8{1, 2}}), keyScores},
		"too few scores":           {spm.with(keys{keyScores: []float32{1}}), keyScores},
		"types as bytes":           {spm.with(keys{keyTypes: []uint8{1, 2}}), keyTypes},
		"too few types":            {spm.with(keys{keyTypes: []int32{1}}), keyTypes},
		"flag of another kind":     {spm.with(keys{"tokenizer.ggml.add_bos_token": uint32(1)}), "add_bos_token"},
		"id of another kind":       {spm.with(keys{"tokenizer.ggml.bos_token_id": "1"}), "bos_token_id"},
		"short map":                {t5.with(keys{keyCharsMap: []uint8{1, 2}}), keyCharsMap},
		"map beyond its end":       {t5.with(keys{keyCharsMap: []uint8{4, 0, 0, 0, 0, 0, 0, 0}}), keyCharsMap},
		"map of another kind":      {t5.with(keys{keyCharsMap: []float32{1, 2}}), keyCharsMap},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Build(set(t, c.k))
			require.ErrorIs(t, err, gguf.ErrCorrupt)
			require.ErrorContains(t, err, c.key)
		})
	}
}

func TestATextTooLongForTheFormatIsUnsupported(t *testing.T) {
	_, _, err := Build(set(t, bytePair.with(keys{keyTokens: []string{"a", "b", "ab", "x", "y", strings.Repeat("z", 3000)}})))
	require.ErrorIs(t, err, format.ErrUnsupported)
	require.ErrorContains(t, err, "token 5")
}

func TestModelsWithoutVocabularyKeepTheirSize(t *testing.T) {
	for _, name := range []string{"none", "no_vocab"} {
		tab, facts := build(t, keys{keyModel: name, "general.architecture": "llama", "llama.vocab_size": uint32(320)})
		require.Equal(t, format.TokNone, tab.Kind)
		require.Equal(t, 320, facts.Tokens)
	}
}

func TestFlagsOfMetadataWinOverThoseOfTheName(t *testing.T) {
	llama3 := bytePair.with(keys{keyPre: "llama-bpe"})
	tab, _ := build(t, llama3)
	require.True(t, tab.Has(format.TokAddBOS|format.TokIgnoreMerges))
	tab, _ = build(t, llama3.with(keys{"tokenizer.ggml.add_bos_token": false, "tokenizer.ggml.add_eos_token": true}))
	require.False(t, tab.Has(format.TokAddBOS))
	require.True(t, tab.Has(format.TokAddEOS))
	tab, facts := build(t, bytePair.with(keys{keyPre: nil}))
	require.Equal(t, format.PreDefault, tab.Rule)
	require.NotEmpty(t, facts.Notes, "the missing name is told")
	tab, _ = build(t, bytePair.with(keys{keyPre: "gemma4", "tokenizer.ggml.add_bos_token": false}))
	require.True(t, tab.Has(format.TokAddBOS|format.TokEscapeSpaces), "this vocabulary needs BOS whatever its metadata say")
}

func TestTokensThatEndPartsOfAMessageDoNotEndGeneration(t *testing.T) {
	harmony := bytePair.with(keys{keyTypes: nil, keyTokens: []string{"a", "b", "ab", "<|end|>", "<|return|>", "<|call|>", "<|channel|>"}})
	tab, facts := build(t, harmony)
	require.Equal(t, []int32{4, 5}, facts.EOG)
	require.Equal(t, format.AttrUser, tab.Attr(3))
	require.Equal(t, format.AttrUser, tab.Attr(6))
	_, facts = build(t, bytePair.with(keys{keyTypes: nil, keyTokens: []string{"a", "b", "ab", "</s>", "<|tool_response>"}}))
	require.Equal(t, []int32{4}, facts.EOG)
}

func TestEveryNameOfAPreTokenizerHasARule(t *testing.T) {
	require.GreaterOrEqual(t, len(PreNames()), 90)
	for _, name := range PreNames() {
		tab, facts := build(t, bytePair.with(keys{keyPre: name}))
		require.Less(t, tab.Rule, format.NumPreRules)
		require.Equal(t, name, facts.Pre)
	}
}

func FuzzBuild(f *testing.F) {
	f.Add("gpt2", "qwen2", "a\nb\nab", "a b", uint32(1), []byte{1, 1, 1})
	f.Add("llama", "", "<unk>\n<s>\na", "", uint32(2), []byte{2, 3, 1})
	f.Add("t5", "", "a\n▁", "", uint32(0), []byte{1, 4})
	f.Add("rwkv", "", "\\x41\n\\", "", uint32(0), []byte{})
	f.Fuzz(func(t *testing.T, model, pre, tokens, merges string, id uint32, types []byte) {
		k := keys{keyModel: model, keyPre: pre, keyTokens: strings.Split(tokens, "\n"), keyMerges: strings.Split(merges, "\n"),
			"tokenizer.ggml.eos_token_id": id, keyCharsMap: types}
		var v []int32
		for _, b := range types {
			v = append(v, int32(b))
		}
		if len(v) > 0 {
			k[keyTypes] = v
		}
		section, _, err := Build(set(t, k))
		if err != nil {
			if !errors.Is(err, gguf.ErrCorrupt) && !errors.Is(err, gguf.ErrUnsupported) && !errors.Is(err, format.ErrUnsupported) {
				t.Fatal(err)
			}
			return
		}
		tab, err := format.ParseTokenizer(section)
		require.NoError(t, err)
		require.NoError(t, tab.Check())
	})
}
