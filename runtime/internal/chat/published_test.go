package chat_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"jns/runtime/internal/chat"
)

// sharedDir finds the directory of shared test inputs beside the repository, or skips.
func sharedDir(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("JNS_SHARED")
	if dir == "" {
		wd, err := os.Getwd()
		require.NoError(t, err)
		for ; wd != filepath.Dir(wd); wd = filepath.Dir(wd) {
			if s := filepath.Join(wd, "shared"); isDir(filepath.Join(s, name)) {
				dir = s
				break
			}
		}
	}
	if dir = filepath.Join(dir, name); !isDir(dir) {
		t.Skipf("no directory shared/%s beside the repository (or in JNS_SHARED): published templates are not tested", name)
	}
	return dir
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

func readJSON(t *testing.T, path string, to any) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, to))
}

// caseInput turns one of the cases into an Input.
func caseInput(t *testing.T, raw json.RawMessage) chat.Input {
	t.Helper()
	var c map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &c))
	// The reference renderings were made on this day.
	in := chat.Input{Extra: map[string]any{}, Now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	for k, v := range c {
		switch k {
		case "messages":
			in.Messages = v
		case "tools":
			in.Tools = v
		case "add_generation_prompt":
			require.NoError(t, json.Unmarshal(v, &in.AddGenerationPrompt))
		case "bos_token":
			require.NoError(t, json.Unmarshal(v, &in.BOS))
		case "eos_token":
			require.NoError(t, json.Unmarshal(v, &in.EOS))
		default:
			in.Extra[k] = v
		}
	}
	return in
}

func TestPublishedTemplatesRenderAsReference(t *testing.T) {
	dir := sharedDir(t, "templates")
	var cases map[string]json.RawMessage
	readJSON(t, filepath.Join(dir, "cases.json"), &cases)
	var expected map[string]map[string]struct {
		OK  bool   `json:"ok"`
		Out string `json:"out"`
	}
	readJSON(t, filepath.Join(dir, "expected.json"), &expected)
	files, err := filepath.Glob(filepath.Join(dir, "*.jinja"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		src, err := os.ReadFile(f)
		require.NoError(t, err)
		name := filepath.Base(f)
		for _, c := range slices.Sorted(maps.Keys(cases)) {
			t.Run(name+"/"+c, func(t *testing.T) {
				want, ok := expected[name][c]
				require.True(t, ok, "no expectation")
				tmpl, err := chat.New(string(src))
				require.NoError(t, err)
				got, err := tmpl.Render(caseInput(t, cases[c]))
				if want.OK {
					require.NoError(t, err)
					require.Equal(t, want.Out, got)
					return
				}
				require.ErrorIs(t, err, chat.ErrTemplate)
				var e *chat.Error
				require.ErrorAs(t, err, &e)
				if text, raised := strings.CutPrefix(want.Out, "raise_exception: "); raised {
					require.True(t, e.Raised)
					require.Equal(t, text, e.Text)
				} else if os.Getenv("JNS_SHOW") != "" && !strings.Contains(e.Text, want.Out) {
					t.Logf("\nwant %s\n got %s", want.Out, e.Text)
				}
			})
		}
	}
}
