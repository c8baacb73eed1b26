package token

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"jns/format"
)

// vocabulary is a small vocabulary for tests: texts, and what else a test sets.
type vocabulary struct {
	format.TokenizerTables
}

// small makes a vocabulary of a kind whose first tokens are <unk>, <s> and </s>.
func small(kind format.TokKind, texts ...string) *vocabulary {
	v := &vocabulary{}
	v.Kind = kind
	for i := range v.Special {
		v.Special[i] = -1
	}
	v.Special[format.SpecialUNK], v.Special[format.SpecialBOS], v.Special[format.SpecialEOS] = 0, 1, 2
	v.Texts = append([]string{"<unk>", "<s>", "</s>"}, texts...)
	for range v.Texts {
		v.Attrs = append(v.Attrs, format.AttrNormal)
		v.Scores = append(v.Scores, -float32(len(v.Scores)))
	}
	v.Attrs[0], v.Attrs[1], v.Attrs[2] = format.AttrUnknown, format.AttrControl, format.AttrControl
	v.EOG = []uint32{2}
	v.Specials = []uint32{0, 2, 1}
	return v
}

// bytePair makes a byte-level vocabulary of all bytes, with merges.
func bytePair(rule format.PreRule, merges ...string) *vocabulary {
	v := small(format.TokBPE, byteAlphabet[:]...)
	v.Rule, v.Flags = rule, format.TokByteAlphabet
	for b := range 256 {
		v.ByteSymbols = append(v.ByteSymbols, int32(3+b))
		v.ByteTokens = append(v.ByteTokens, -1)
	}
	id := map[string]uint32{}
	for i, s := range v.Texts {
		id[s] = uint32(i)
	}
	for rank, m := range merges {
		l, r, _ := strings.Cut(m, " ")
		if _, ok := id[l+r]; !ok {
			id[l+r] = uint32(len(v.Texts))
			v.Texts, v.Attrs = append(v.Texts, l+r), append(v.Attrs, format.AttrNormal)
		}
		v.Merges = append(v.Merges, format.TokMerge{Left: id[l], Right: id[r], Rank: uint32(rank), Result: id[l+r]})
	}
	return v
}

func (v *vocabulary) section(t testing.TB) []byte {
	if v.Tokens == 0 {
		v.Tokens = len(v.Texts)
	}
	if v.Kind != format.TokSPM && v.Kind != format.TokUnigram && v.Kind != format.TokPlamo {
		v.Scores = nil
	}
	b, err := format.EncodeTokenizer(&v.TokenizerTables)
	require.NoError(t, err)
	return b
}

func (v *vocabulary) open(t testing.TB) *Tokenizer {
	tab, err := format.ParseTokenizer(v.section(t))
	require.NoError(t, err)
	tok, err := New(tab)
	require.NoError(t, err)
	return tok
}

// pieces encodes a text and shows each token's text.
func pieces(t testing.TB, tok *Tokenizer, s string, opt Options) []string {
	ids, err := tok.Encode(s, opt)
	require.NoError(t, err)
	var out []string
	for _, id := range ids {
		out = append(out, string(tok.tab.Text(id)))
	}
	return out
}

func TestMergesGoByRankThenFromTheLeft(t *testing.T) {
	tok := bytePair(format.PreNone, "b c", "a b", "a a", "aa a").open(t)
	require.Equal(t, []string{"a", "bc"}, pieces(t, tok, "abc", Options{}))
	require.Equal(t, []string{"ab", "b"}, pieces(t, tok, "abb", Options{}))
	require.Equal(t, []string{"aa", "aa"}, pieces(t, tok, "aaaa", Options{}))
	require.Equal(t, []string{"aaa"}, pieces(t, tok, "aaa", Options{}))
}

// TestALongWordIsReadInLinearTime: sixteen times the text takes no more than some sixteen times as long; a quadratic algorithm would take 256 times. Times of one process are
// compared, the best of several, so that a busy machine does not matter.
func TestALongWordIsReadInLinearTime(t *testing.T) {
	spm := small(format.TokSPM, "a", "aa", "aaaa", "aaaaaaaa")
	uni := small(format.TokUnigram, "a", "aa", "aaaa")
	uni.TokenTrie = map[string]int32{"a": 3, "aa": 4, "aaaa": 5}
	word := small(format.TokWordPc, "▁a", "aa")
	word.TokenTrie = map[string]int32{"▁a": 3, "aa": 4}
	for name, v := range map[string]*vocabulary{
		"byte pair without a rule": bytePair(format.PreNone, "a a", "aa aa", "aaaa aaaa"),
		"byte pair":                bytePair(format.PreGPT4o, "a a", "aa aa", "aaaa aaaa"),
		"SentencePiece":            spm, "Unigram": uni, "WordPiece": word,
	} {
		t.Run(name, func(t *testing.T) { growsLinearly(t, v.open(t), "a", 1<<14) })
	}
}

// growsLinearly encodes n and 16·n bytes of a unit.
func growsLinearly(t *testing.T, tok *Tokenizer, unit string, n int) {
	t.Helper()
	took := func(n int) time.Duration {
		s := strings.Repeat(unit, max(n/len(unit), 1))
		start := time.Now()
		ids, err := tok.Encode(s, Options{})
		require.NoError(t, err)
		require.NotEmpty(t, ids)
		return time.Since(start)
	}
	few, many := took(n), took(16*n)
	for range 20 {
		if many < 64*few {
			return
		}
		few, many = min(few, took(n)), min(many, took(16*n))
	}
	t.Errorf("%.20q: %d bytes take %v, 16 times as many %v", unit, n, few, many)
}

func TestEveryRuleTakesLinearTime(t *testing.T) {
	const n = 1 << 13
	for rule := range format.NumPreRules {
		tok := bytePair(rule).open(t)
		for _, unit := range []string{"A", "é", " ", "\n", " \n", "1", "'", "中", "é A", "IMGIMG", "\u0301", "\x00", "éA", "9 "} {
			s := strings.Repeat(unit, n/len(unit))
			ids, err := tok.Encode(s, Options{})
			require.NoError(t, err)
			require.Equal(t, s, tok.Detokenize(ids, false, false), "rule %d %q", rule, unit)
			growsLinearly(t, tok, unit, 1<<10)
		}
	}
}

// TestManyKindsOfSpecialTokensAreFoundInOneWalk, however many occur.
func TestManyKindsOfSpecialTokensAreFoundInOneWalk(t *testing.T) {
	v := bytePair(format.PreGPT2)
	v.Specials = nil
	var unit strings.Builder
	for i := range 2000 {
		v.Specials = append(v.Specials, uint32(len(v.Texts)))
		v.Texts = append(v.Texts, fmt.Sprintf("<unused%04d>", i))
		v.Attrs = append(v.Attrs, format.AttrControl)
		fmt.Fprintf(&unit, "<unused%04d><unusedx", i)
	}
	tok := v.open(t)
	text := strings.Repeat(unit.String(), 4)
	start := time.Now()
	want := tok.cutEach(text, tok.occurring(text, true))
	each := time.Since(start)
	start = time.Now()
	got := tok.fragments(text, true)
	many := time.Since(start)
	require.Equal(t, want, got)
	require.Less(t, many, each/4)
}

// TestBothWaysToCutAreOne, on texts of parts of tokens that overlap and nest, with white space that some of them drop.
func TestBothWaysToCutAreOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfNDistinct(rapid.StringMatching("[ab ]{2,4}"), 1, 12, rapid.ID[string]).Draw(t, "tokens")
		slices.SortStableFunc(texts, func(a, b string) int { return len(b) - len(a) })
		v := bytePair(format.PreGPT2)
		v.Specials = nil
		for _, s := range texts {
			v.Specials = append(v.Specials, uint32(len(v.Texts)))
			v.Texts = append(v.Texts, s)
			v.Attrs = append(v.Attrs, format.AttrControl|rapid.SampledFrom([]format.TokAttr{0, format.AttrLStrip, format.AttrRStrip, format.AttrLStrip | format.AttrRStrip}).Draw(t, "attr"))
		}
		b, err := format.EncodeTokenizer(func() *format.TokenizerTables { v.Tokens = len(v.Texts); v.Scores = nil; return &v.TokenizerTables }())
		require.NoError(t, err)
		tab, err := format.ParseTokenizer(b)
		require.NoError(t, err)
		tok, err := New(tab)
		require.NoError(t, err)
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(append([]string{" ", "a", "b", "ab", "ba "}, v.Texts[len(v.Texts)-len(texts):]...)), 0, 40).Draw(t, "text"), "")
		if s == "" {
			return
		}
		set := tok.occurring(s, true)
		got, ok := tok.cutMany(s, append(set, make([]uint64, (tok.tab.Specials()+63)/64-len(set))...))
		require.True(t, ok)
		require.Equal(t, tok.cutEach(s, set), got)
	})
}

func TestSpecialTokensAreCutOutLongestFirst(t *testing.T) {
	v := bytePair(format.PreGPT2)
	n := uint32(len(v.Texts))
	v.Texts = append(v.Texts, "<|a|>", "<|a|>x", "[user]", "<mask>", "<end>")
	v.Attrs = append(v.Attrs, format.AttrControl, format.AttrControl, format.AttrUser, format.AttrControl|format.AttrLStrip,
		format.AttrControl|format.AttrRStrip)
	v.Specials = []uint32{n + 1, n + 2, n + 3, n, n + 4, 0, 2, 1}
	tok := v.open(t)
	parse := Options{ParseSpecial: true}
	require.Equal(t, []string{"a", "<|a|>x", "<|a|>", "y"}, pieces(t, tok, "a<|a|>x<|a|>y", parse))
	require.Equal(t, []string{"a", "[user]", "b"}, pieces(t, tok, "a[user]b", Options{}), "user-defined tokens are always found")
	require.Len(t, pieces(t, tok, "<|a|>", Options{}), 5, "control tokens only when asked for")
	require.Equal(t, []string{"a", "<mask>", "Ġ", "b"}, pieces(t, tok, "a \n<mask> b", parse))
	require.Equal(t, []string{"a", "Ġ", "<end>", "b"}, pieces(t, tok, "a <end> \nb", parse))
	require.Equal(t, []string{"<end>"}, pieces(t, tok, "<end>  ", parse))
}

func TestBOSIsAddedAsTheVocabularyAsksAndNeverTakenAway(t *testing.T) {
	v := bytePair(format.PreGPT2)
	v.Flags |= format.TokAddBOS
	tok := v.open(t)
	add := Options{AddSpecial: true, ParseSpecial: true}
	require.Equal(t, []string{"<s>", "a"}, pieces(t, tok, "a", add))
	require.Equal(t, []string{"<s>", "<s>", "a"}, pieces(t, tok, "<s>a", add))
	require.Equal(t, []string{"<s>", "<s>", "a"}, pieces(t, tok, "<s><s>a", Options{ParseSpecial: true}))
	require.Equal(t, []string{"<s>"}, pieces(t, tok, "", add))
	require.Empty(t, pieces(t, tok, "", Options{}))
	v.Flags &^= format.TokAddBOS
	require.Equal(t, []string{"a"}, pieces(t, v.open(t), "a", add))
	require.Equal(t, "<s>", tok.BOSText())
	require.Equal(t, "</s>", tok.EOSText())
	require.True(t, tok.IsEOG(2))
	require.False(t, tok.IsEOG(1))
	require.False(t, tok.IsEOG(-1))
}

func TestSentencePieceMergesByScoreAndFallsBackToBytes(t *testing.T) {
	v := small(format.TokSPM, "▁", "h", "i", "hi", "▁hi", "<0xC3>", "<0xA9>")
	v.Flags = format.TokSpacePrefix | format.TokEscapeSpaces
	v.Attrs[8], v.Attrs[9] = format.AttrByte, format.AttrByte
	for b := range 256 {
		v.ByteTokens = append(v.ByteTokens, -1)
		if b == 0xc3 || b == 0xa9 {
			v.ByteTokens[b] = int32(8 + b%2)
		}
	}
	v.ByteTokens[0xc3], v.ByteTokens[0xa9] = 8, 9
	tok := v.open(t)
	require.Equal(t, []string{"▁hi", "▁hi", "<0xC3>", "<0xA9>"}, pieces(t, tok, "hi hié", Options{}))
	require.Equal(t, []string{"▁hi", "<unk>"}, pieces(t, tok, "hi\xff", Options{}))
	ids, err := tok.Encode("hi hié", Options{})
	require.NoError(t, err)
	require.Equal(t, "hi hié", tok.Decode(ids))
	require.Equal(t, " hi hié", string(tok.AppendPiece(tok.AppendPiece(tok.AppendPiece(tok.AppendPiece(nil, ids[0], false), ids[1], false),
		ids[2], false), ids[3], false)), "pieces give bytes as they are, halves of a code point too")
}

func TestUnigramTakesTheBestPathAndJoinsUnknowns(t *testing.T) {
	v := small(format.TokUnigram, "▁ab", "▁", "a", "b", "c")
	v.Scores = []float32{0, 0, 0, -3, -1, -1.5, -1.25, -1}
	v.Flags = format.TokSpacePrefix | format.TokEscapeSpaces | format.TokMergeSpaces | format.TokAddEOS
	v.UnknownScore = -13
	v.TokenTrie = map[string]int32{"▁ab": 3, "▁": 4, "a": 5, "b": 6, "c": 7}
	tok := v.open(t)
	require.Equal(t, []string{"▁ab", "▁", "c"}, pieces(t, tok, "ab   c ", Options{}))
	require.Equal(t, []string{"▁", "<unk>", "c", "</s>"}, pieces(t, tok, "zzyc", Options{AddSpecial: true}))
}

func TestRWKVTakesTheLongestToken(t *testing.T) {
	v := small(format.TokRWKV, "a", "ab", "abc", `\x00`, `\n\n`)
	v.TokenTrie = map[string]int32{"a": 3, "ab": 4, "abc": 5, "\x00": 6, "\n\n": 7}
	tok := v.open(t)
	require.Equal(t, []string{"abc", "ab", "<unk>", `\x00`, `\n\n`, "<unk>"}, pieces(t, tok, "abcabd\x00\n\n\n", Options{}))
	ids, err := tok.Encode("ab\x00\n\n", Options{})
	require.NoError(t, err)
	require.Equal(t, "ab\x00\n\n", tok.Decode(ids))
}

func TestWordPieceNormalisesAndCovers(t *testing.T) {
	v := small(format.TokWordPc, "▁cafe", "s", "▁!", "▁中", "▁x")
	v.Flags = format.TokLowercase | format.TokStripAccents | format.TokEscapeSpaces
	v.Special[format.SpecialSEP] = 2
	v.TokenTrie = map[string]int32{"▁cafe": 3, "s": 4, "▁!": 5, "▁中": 6, "▁x": 7}
	tok := v.open(t)
	require.Equal(t, []string{"<s>", "▁cafe", "s", "▁!", "▁中", "▁x", "<unk>", "</s>"}, pieces(t, tok, "CAFÉs! 中x  ZZ", Options{AddSpecial: true}))
}

func TestWithoutAVocabularyEncodeSaysSo(t *testing.T) {
	v := small(format.TokNone)
	v.Texts, v.Attrs, v.Specials, v.Tokens = nil, nil, nil, 512
	v.Special[format.SpecialUNK], v.Special[format.SpecialBOS], v.Special[format.SpecialEOS] = -1, -1, -1
	tok := v.open(t)
	_, err := tok.Encode("a", Options{})
	require.ErrorIs(t, err, ErrNoVocabulary)
	require.Equal(t, 512, tok.VocabSize())
	require.Empty(t, tok.Decode([]int32{1, 2}))
}

func TestDecomposedIsTheFirstOfTheCanonicalDecomposition(t *testing.T) {
	for cp := int32(0); cp <= 0x10ffff; cp++ {
		if cp >= 0xd800 && cp < 0xe000 {
			require.Equal(t, cp, decomposed(cp))
			continue
		}
		if want := []rune(norm.NFD.String(string(cp)))[0]; want != decomposed(cp) {
			t.Fatalf("%#x: %#x, want %#x", cp, decomposed(cp), want)
		}
	}
}

func TestClassesAreThoseOfUnicode(t *testing.T) {
	for cp, want := range map[int32]class{
		'a': letter, '1': number, ' ': separator | space, '\n': control | space, '$': symbol, '!': punct, 0x301: mark, 0x4e2d: letter,
		0x2ebf0: letter, 0x31ef: symbol, 0x378: unassigned, 0xd800: control, 0x10ffff: unassigned, 0xe000: control,
		0x85: control | space, 0x3000: separator | space, 0x200b: control, 0xb2: number,
	} {
		require.Equal(t, want, classOf(cp), "%#x", cp)
	}
}

func TestCleanedSpaces(t *testing.T) {
	for in, want := range map[string]string{
		"a , b . c ?": "a, b. c?", "it 's we 're I 'm": "it's we're I'm", "don 't": "don 't", "a ' b": "a'b", " ' ' ": "'' ", "": "",
	} {
		require.Equal(t, want, string(cleanSpaces([]byte(in))), "%q", in)
	}
}
