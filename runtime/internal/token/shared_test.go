package token

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/format"
)

// shared gives the directory of shared test inputs, or skips.
func shared(t testing.TB) string {
	if dir := os.Getenv("JNS_SHARED"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	require.NoError(t, err)
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		s := filepath.Join(filepath.Dir(dir), "shared")
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			if _, err := os.Stat(filepath.Join(s, "vocab")); err == nil {
				return s
			}
		}
	}
	t.Skip("SKIPPED: there is no directory `shared` beside the repository and JNS_SHARED is not set")
	return ""
}

// compiled makes the sections of GGUF files by way of the compiler's own test, since the two trees may not import each other.
func compiled(t testing.TB, ggufs ...string) map[string]*Tokenizer {
	dir := t.TempDir()
	cmd := exec.Command("go", "test", "-count=1", "-v", "-run", "^TestWriteSections$", "jns/compiler/internal/vocab")
	cmd.Env = append(os.Environ(), "JNS_SECTION_OUT="+dir, "JNS_SECTION_IN="+strings.Join(ggufs, string(filepath.ListSeparator)))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
	toks := map[string]*Tokenizer{}
	for _, g := range ggufs {
		b, err := os.ReadFile(filepath.Join(dir, filepath.Base(g)+".tok"))
		require.NoError(t, err)
		tab, err := format.ParseTokenizer(b)
		require.NoError(t, err)
		toks[g], err = New(tab)
		require.NoError(t, err)
	}
	return toks
}

func readJSON(t testing.TB, path string, v any) {
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, v))
}

func TestVectorsOfPublishedVocabularies(t *testing.T) {
	dir := shared(t)
	ggufs, err := filepath.Glob(filepath.Join(dir, "vocab", "*.gguf"))
	require.NoError(t, err)
	require.NotEmpty(t, ggufs)
	for g, tok := range compiled(t, ggufs...) {
		name := strings.TrimSuffix(filepath.Base(g), ".gguf")
		t.Run(name, func(t *testing.T) {
			inpOut(t, tok, g)
			fromReference(t, tok, filepath.Join(dir, "reference", "tok", name+".json"))
		})
	}
}

// inpOut runs llama.cpp's own vectors: texts beside the vocabulary, and a line of ids for each.
func inpOut(t *testing.T, tok *Tokenizer, g string) {
	inp, err := os.ReadFile(g + ".inp")
	if os.IsNotExist(err) {
		return // this vocabulary has only the reference's texts
	}
	require.NoError(t, err)
	ids, err := os.ReadFile(g + ".out")
	require.NoError(t, err)
	texts := strings.Split(string(inp), "\n__ggml_vocab_test__\n")
	lines := strings.Split(string(ids), "\n")
	for i, text := range texts {
		if i >= len(lines) {
			break
		}
		want := []int32{}
		for _, f := range strings.Fields(lines[i]) {
			n, err := strconv.Atoi(f)
			require.NoError(t, err)
			want = append(want, int32(n))
		}
		got, err := tok.Encode(text, Options{})
		require.NoError(t, err)
		require.Equal(t, want, got, "text %d: %q", i, text)
	}
}

func fromReference(t *testing.T, tok *Tokenizer, path string) {
	var cases []struct {
		Text       string
		IDs        []int32 `json:"ids"`
		IDsSpecial []int32 `json:"ids_special"`
		Detok      string
	}
	readJSON(t, path, &cases)
	require.NotEmpty(t, cases)
	for _, c := range cases {
		got, err := tok.Encode(c.Text, Options{})
		require.NoError(t, err)
		require.Equal(t, c.IDs, got, "%q", c.Text)
		got, err = tok.Encode(c.Text, Options{AddSpecial: true, ParseSpecial: true})
		require.NoError(t, err)
		require.Equal(t, c.IDsSpecial, got, "%q with special tokens", c.Text)
		require.Equal(t, c.Detok, tok.Decode(got), "%q", c.Text)
	}
}

func TestPromptsOfRealModels(t *testing.T) {
	dir, models := shared(t), os.Getenv("JNS_MODELS")
	if models == "" {
		t.Skip("SKIPPED: JNS_MODELS does not name the directory of the real models")
	}
	refs, err := filepath.Glob(filepath.Join(dir, "reference", "real", "*.exact.json"))
	require.NoError(t, err)
	for _, ref := range refs {
		g := filepath.Join(models, strings.TrimSuffix(filepath.Base(ref), ".exact.json")+".gguf")
		tok := compiled(t, g)[g]
		var r struct {
			Runs []struct {
				Prompt       string
				PromptIDs    []int32 `json:"prompt_ids"`
				GeneratedIDs []int32 `json:"generated_ids"`
				Text         string
			}
		}
		readJSON(t, ref, &r)
		require.NotEmpty(t, r.Runs)
		for _, run := range r.Runs {
			got, err := tok.Encode(run.Prompt, Options{AddSpecial: true, ParseSpecial: true})
			require.NoError(t, err)
			require.Equal(t, run.PromptIDs, got, "%q", run.Prompt)
			require.Contains(t, run.Text+tok.Decode(run.GeneratedIDs), run.Text)
		}
		t.Logf("%s: bos %d %q eos %d %q eot %d eog %v", filepath.Base(g), tok.BOS(), tok.BOSText(), tok.EOS(), tok.EOSText(), tok.EOT(), tok.EOGs())
	}
}

func BenchmarkEncode(b *testing.B) {
	dir := shared(b)
	var all strings.Builder
	for _, name := range []string{"design.md", "bugs.md", "style.md", "README.md"} {
		s, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(b, err)
		all.Write(s)
	}
	inp, err := os.ReadFile(filepath.Join(dir, "vocab", "ggml-vocab-gpt-2.gguf.inp"))
	require.NoError(b, err)
	for all.Len() < 100_000 {
		all.Write(inp)
	}
	s := all.String()[:100_000]
	for _, name := range []string{"llama-bpe", "llama-spm", "gemma-4", "qwen35", "bert-bge", "deepseek-llm"} {
		g := filepath.Join(dir, "vocab", "ggml-vocab-"+name+".gguf")
		tok := compiled(b, g)[g]
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				_, err := tok.Encode(s, Options{AddSpecial: true, ParseSpecial: true})
				require.NoError(b, err)
			}
		})
	}
}
