package stream

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// decodeAll is the definition of decoding: every maximal part of a character that cannot be
// completed is one U+FFFD.
func decodeAll(b []byte) string {
	var s strings.Builder
	for len(b) > 0 {
		if r, n := utf8.DecodeRune(b); r != utf8.RuneError || n > 1 {
			s.WriteRune(r)
			b = b[n:]
			continue
		}
		// The longest proper prefix of some character: try to complete it.
		n := 1
		for k := min(3, len(b)); k > 1; k-- {
			if completable(b[:k]) {
				n = k
				break
			}
		}
		s.WriteRune(utf8.RuneError)
		b = b[n:]
	}
	return s.String()
}

func completable(p []byte) bool {
	for _, tail := range []string{"\x80", "\xBF", "\x90", "\x80\x80", "\xA0\x80", "\x80\x80\x80", "\x90\x80\x80"} {
		q := append(append([]byte{}, p...), tail...)
		if r, n := utf8.DecodeRune(q); n == len(q) && r != utf8.RuneError {
			return true
		}
	}
	return false
}

// cut is the definition of stopping: the stop string that ends first, of those the longest.
func cut(text string, stops []string) (string, string, bool) {
	for end := range len(text) + 1 {
		best := ""
		for _, s := range stops {
			if strings.HasSuffix(text[:end], s) && len(s) > len(best) {
				best = s
			}
		}
		if best != "" {
			return text[:end-len(best)], best, true
		}
	}
	return text, "", false
}

// mayBeClaimed reports whether some end of text is a proper beginning of a stop string.
func mayBeClaimed(text string, stops []string) int {
	for i := range text {
		for _, s := range stops {
			if strings.HasPrefix(s, text[i:]) {
				return len(text) - i
			}
		}
	}
	return 0
}

func check(t require.TestingT, chunks [][]byte, stops []string) {
	a, err := New(stops...)
	require.NoError(t, err)
	var all []byte
	out := ""
	for _, c := range chunks {
		all = append(all, c...)
		text, stopped := a.Write(c)
		out += text
		require.True(t, utf8.ValidString(text))
		// What came out is the longest text that is certain: all whole characters but those a stop
		// string may claim.
		whole := decodeAll(all)
		for k := 1; k <= 3 && k <= len(all); k++ {
			if end := all[len(all)-k:]; completable(end) && decodeAll(all) == decodeAll(all[:len(all)-k])+"\uFFFD" {
				whole = decodeAll(all[:len(all)-k])
			}
		}
		want, _, found := cut(whole, stops)
		require.Equal(t, found, stopped)
		if !found {
			want = whole[:len(whole)-mayBeClaimed(whole, stops)]
		}
		require.Equal(t, want, out)
	}
	out += a.Flush()
	want, stop, found := cut(decodeAll(all), stops)
	require.Equal(t, want, out)
	gotStop, gotFound := a.Stop()
	require.Equal(t, stop, gotStop)
	require.Equal(t, found, gotFound)
	require.Empty(t, a.Flush())
}

var pieces = []string{"a", "b", "ab", "é", "ä", "你", "😀", "\uFFFD", "\n", "\xC3", "\xE4", "\xE4\xBD", "\xF0\x9F", "\xF0\x9F\x98", "\x80", "\xFF", "\xED\xA0", "\xE0\x80", "\xF4\x90", "\xC0"}

func TestTextIsTheDecodedBytesUpToTheFirstStop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stops []string
		for range rapid.IntRange(0, 3).Draw(t, "stops") {
			s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces[:9]), 1, 4).Draw(t, "stop"), "")
			stops = append(stops, s)
		}
		data := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "data"), ""))
		var chunks [][]byte
		for len(data) > 0 {
			n := rapid.IntRange(0, min(4, len(data))).Draw(t, "chunk")
			chunks = append(chunks, data[:n])
			data = data[n:]
		}
		check(t, chunks, stops)
	})
}

func FuzzAssembler(f *testing.F) {
	f.Add([]byte("hello \xe4\xbd\xa0 world"), "wor", "\xe4\xbd\xa0 x", uint8(1))
	f.Add([]byte("aaab\xf0\x9f"), "aab", "", uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, s1, s2 string, size uint8) {
		if len(data) > 200 {
			return
		}
		var stops []string
		for _, s := range []string{s1, s2} {
			if _, err := New(s); err == nil {
				stops = append(stops, s)
			}
		}
		var chunks [][]byte
		for n := int(size%7) + 1; len(data) > 0; {
			n = min(n, len(data))
			chunks = append(chunks, data[:n])
			data = data[n:]
		}
		check(t, chunks, stops)
	})
}

func TestInvalidBytesAreReplacedWhenProvenWrong(t *testing.T) {
	a, err := New()
	require.NoError(t, err)
	write := func(s string) string { text, _ := a.Write([]byte(s)); return text }
	require.Equal(t, "", write("\xE4"))
	require.Equal(t, "", write("\xBD"))
	require.Equal(t, "\uFFFDA", write("A"))
	require.Equal(t, "\uFFFD", write("\xFF"))
	require.Equal(t, "", write("\xF0\x9F\x98"))
	require.Equal(t, "😀", write("\x80"))
	require.Equal(t, "", write("\xF0\x9F"))
	require.Equal(t, "\uFFFD", a.Flush())
}

func TestStopStringsAreHeldBackAndNeverShown(t *testing.T) {
	a, err := New("<|end|>", "\n\n")
	require.NoError(t, err)
	write := func(s string) string { text, _ := a.Write([]byte(s)); return text }
	require.Equal(t, "Hi", write("Hi<|e"))
	require.Equal(t, "<|em", write("m"))
	require.Equal(t, "", write("<|end"))
	text, stopped := a.Write([]byte("|>more"))
	require.Equal(t, "", text)
	require.True(t, stopped)
	require.Equal(t, "", a.Flush())
	stop, found := a.Stop()
	require.True(t, found)
	require.Equal(t, "<|end|>", stop)
}

func TestUnusableStopStringsAreRefused(t *testing.T) {
	for _, s := range []string{"", "\xFF", strings.Repeat("x", MaxStopLength+1)} {
		_, err := New(s)
		require.ErrorIs(t, err, ErrStop)
	}
	_, err := New(make([]string, MaxStops+1)...)
	require.ErrorIs(t, err, ErrStop)
}
