package token

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/format"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// goldenTexts have what the rules tell apart: case, contractions, numbers of several scripts, marks, white space of every
// kind, CJK and its punctuation, stray bytes.
var goldenTexts = []string{
	"Hello World, it's 12345678 o'clock! DON'T we'Ll",
	"  two  spaces\tand\n\n newlines\r\n  \n end  ",
	"iPhoneÀéÜber HTTPServer éA ŉǅ x_y-z/w \n/",
	"中文字國 ひらカナー 한국어ㄱㅎ ㄅㄆ。，“引”…！豈",
	"กขค คำ १२३४ ၁၂३٣٤½²Ⅷ e\u0301\u0300 \u093fab",
	"a b c d. <sentinel:12>IMGIMGABZ    <<==>> $+~`|^",
	"\x00\x01a \u200b\u3000\u00a0\u2028x\xff\xc3\xed\xa0\x80 🎉👍🏽",
	"1234 12 1,234,567.89 007 x1y22z333\u0967\u0968",
}

// TestWordsOfEveryRule pins how every rule cuts text. The words were compared with llama.cpp's when they were written.
func TestWordsOfEveryRule(t *testing.T) {
	got := map[string][][]string{}
	for r := range format.NumPreRules {
		var cut [][]string
		for _, s := range goldenTexts {
			var x text
			var words []string
			x.set(s)
			lo := int32(0)
			for _, hi := range x.cut(ruleWords[r]) {
				if hi > lo {
					words = append(words, fmt.Sprintf("%+q", x.buf[x.off[lo]:x.off[hi]]))
				}
				lo = hi
			}
			cut = append(cut, words)
		}
		got[fmt.Sprintf("rule %02d", r)] = cut
	}
	path := filepath.Join("testdata", "words.json")
	if *update {
		b, err := json.MarshalIndent(got, "", " ")
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, append(b, '\n'), 0o644))
	}
	want := map[string][][]string{}
	readJSON(t, path, &want)
	require.Equal(t, want, got)
}
