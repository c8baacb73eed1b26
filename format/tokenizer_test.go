package format

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func tokenizerTables(n int) *TokenizerTables {
	t := &TokenizerTables{Kind: TokBPE, Rule: PreQwen2, Flags: TokByteAlphabet | TokAddBOS, Model: "gpt2", Pre: "qwen2"}
	for i := range t.Special {
		t.Special[i] = -1
	}
	t.TokenTrie = map[string]int32{}
	for i := range n {
		s := fmt.Sprintf("%c%d", 'a'+i%26, i*i)
		t.Texts, t.Attrs = append(t.Texts, s), append(t.Attrs, AttrNormal)
		t.TokenTrie[s] = int32(i)
	}
	t.Tokens = n
	t.Texts = append(t.Texts, "extra")
	for i := range uint32(n / 2) {
		t.Merges = append(t.Merges, TokMerge{Left: i % 7, Right: i, Rank: i, Result: uint32(n)})
	}
	t.Special[SpecialBOS] = 1
	t.Specials, t.EOG = []uint32{2, 1}, []uint32{5, 3, 5}
	return t
}

func openTables(t testing.TB, tt *TokenizerTables) *Tokenizer {
	b, err := EncodeTokenizer(tt)
	require.NoError(t, err)
	v, err := ParseTokenizer(b)
	require.NoError(t, err)
	require.NoError(t, v.Check())
	return v
}

func TestTokenizerSectionAnswersWhatWentIn(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tt := tokenizerTables(rapid.IntRange(8, 300).Draw(rt, "tokens"))
		v := openTables(t, tt)
		for i, s := range tt.Texts {
			require.Equal(t, s, string(v.Text(int32(i))))
			require.EqualValues(t, i, v.Piece([]byte(s)))
		}
		require.EqualValues(t, -1, v.Token([]byte("extra")), "a string of the merges is no token")
		require.EqualValues(t, -1, v.Piece([]byte("absent")))
		for _, m := range tt.Merges {
			rank, result, ok := v.Merge(int32(m.Left), int32(m.Right))
			require.True(t, ok)
			require.Equal(t, m.Rank, rank)
			require.EqualValues(t, m.Result, result)
		}
		for s, id := range tt.TokenTrie {
			got, n := v.TokenTrie().Longest([]byte(s))
			require.Equal(t, id, got)
			require.Len(t, s, n)
		}
	})
	v := openTables(t, tokenizerTables(40))
	require.Equal(t, []int32{3, 5}, v.EOGs())
	require.True(t, v.EOG(5))
	require.False(t, v.EOG(4))
	model, pre := v.Names()
	require.Equal(t, "gpt2 qwen2", model+" "+pre)
	_, _, ok := v.Merge(39, 1)
	require.False(t, ok)
}

func TestTokenizerSectionWithoutTexts(t *testing.T) {
	tt := &TokenizerTables{Tokens: 1000}
	for i := range tt.Special {
		tt.Special[i] = -1
	}
	v := openTables(t, tt)
	require.Equal(t, 1000, v.Tokens)
	require.Nil(t, v.Text(3))
}

func TestTokenizerSectionRefusesAnotherLayout(t *testing.T) {
	good, err := EncodeTokenizer(tokenizerTables(50))
	require.NoError(t, err)
	for n := range len(good) {
		_, err := ParseTokenizer(good[:n])
		require.ErrorIs(t, err, ErrCorrupt, "cut at %d", n)
	}
	_, err = ParseTokenizer(append(good[:len(good):len(good)], 0, 0, 0, 0, 0, 0, 0, 0))
	require.ErrorIs(t, err, ErrCorrupt)
	change := func(at int, v uint32) error {
		b := append([]byte(nil), good...)
		binary.LittleEndian.PutUint32(b[at:], v)
		_, err := ParseTokenizer(b)
		return err
	}
	for at, v := range map[int]uint32{8: 99, 12: 99, 16: 1 << 31, 20: 1 << 30, 24: 3, 32: 50, 36: 0xfffffffe, 96: 0, 100: 7, 108: 1} {
		require.ErrorIs(t, change(at, v), ErrCorrupt, "field at %d", at)
	}
	require.ErrorIs(t, change(4, 0x32304b4f), ErrVersion)
}

func FuzzTokenizerSection(f *testing.F) {
	good, err := EncodeTokenizer(tokenizerTables(20))
	require.NoError(f, err)
	f.Add(good, []byte("a0"))
	f.Fuzz(func(t *testing.T, b, s []byte) {
		v, err := ParseTokenizer(b)
		if err != nil {
			return
		}
		_ = v.Check()
		if id := v.Token(s); int(id) >= v.Tokens {
			t.Fatalf("token %d of %d", id, v.Tokens)
		}
		for i := int32(-2); i < 40; i++ {
			_, result, ok := v.Merge(i, i+1)
			if ok && int(result) >= v.Pieces {
				t.Fatalf("merge gives piece %d of %d", result, v.Pieces)
			}
			v.Text(i)
			v.Attr(i)
			v.Score(i)
			v.EOG(i)
			v.ByteToken(byte(i))
			v.SpecialToken(int(i))
		}
		for _, r := range []Trie{v.TokenTrie(), v.UserTrie(), v.SpecialTrie()} {
			r.Longest(s)
		}
	})
}
