package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	jnscli "jns/cmd/internal/cli"
)

func TestExitCodesSayWhatKindOfFailureItWas(t *testing.T) {
	good := container(t, "jns-tiny")
	b, err := os.ReadFile(good)
	require.NoError(t, err)
	dir := t.TempDir()
	trace := filepath.Join(dir, "trace")
	cut, gguf := filepath.Join(dir, "cut.jns"), "../../testdata/models/tiny/jns-tiny.gguf"
	require.NoError(t, os.WriteFile(cut, b[:len(b)/2], 0o600))
	for _, c := range []struct {
		code int
		args string
	}{
		{jnscli.ExitOK, "GOOD -p hi -n 2 --temp 0"},
		{jnscli.ExitOK, "GOOD --tokens 1,2 -n 2 --json"},
		{jnscli.ExitFailed, "missing.jns -p hi"},
		{jnscli.ExitUsage, "GOOD"},
		{jnscli.ExitUsage, "frobnicate"},
		{jnscli.ExitUsage, "GOOD another -p hi"},
		{jnscli.ExitUsage, "GOOD -p hi --frobnicate"},
		{jnscli.ExitUsage, "GOOD -p hi --tokens 1"},
		{jnscli.ExitUsage, "GOOD -p hi --temp -1"},
		{jnscli.ExitUsage, "GOOD -p hi --threads -1"},
		{jnscli.ExitUsage, "GOOD -p hi --kernels frobnicate"},
		{jnscli.ExitUsage, "GOOD -p hi --logit-bias x"},
		{jnscli.ExitUsage, "tokenize GOOD"},
		{jnscli.ExitUsage, "tokenize GOOD -p hi --temp 0"},
		{jnscli.ExitUsage, "logits GOOD --tokens 1"},
		{jnscli.ExitUsage, "rerank GOOD"},
		{jnscli.ExitUsage, "rerank GOOD -q what"},
		{jnscli.ExitUsage, "rerank GOOD -q what --tokens 1 document"},
		{jnscli.ExitUsage, "rerank GOOD -q what --top 0 document"},
		{jnscli.ExitUnsupported, "rerank GOOD -q what document"},
		{jnscli.ExitUnsupported, "embed GOOD -p hi"},
		{jnscli.ExitUsage, "ppl GOOD"},
		{jnscli.ExitUsage, "bench GOOD -p 0 -n 0"},
		{jnscli.ExitUsage, "bench GOOD --system x"},
		{jnscli.ExitUsage, "chat"},
		{jnscli.ExitUsage, "GOOD -p hi -n -2"},
		{jnscli.ExitUsage, "serve GOOD --parallel 0"},
		{jnscli.ExitUsage, "serve GOOD --grace 0s"},
		{jnscli.ExitUsage, "serve GOOD --max-body -1"},
		{jnscli.ExitUsage, "stats GOOD -p hi -n -5"},
		{jnscli.ExitUsage, "GOOD -p hi --io frobnicate"},
		{jnscli.ExitUsage, "GOOD -p hi --memory="},
		{jnscli.ExitUsage, "GOOD -p hi --record-routing TRACE"}, // of a model that fits in memory
		{jnscli.ExitUsage, "heatmap GOOD --json"},
		{jnscli.ExitCorrupt, "verify-evidence DIR"},
		{jnscli.ExitCorrupt, "CUT -p hi"},
		{jnscli.ExitCorrupt, "info CUT"},
		{jnscli.ExitCorrupt, "GGUF -p hi"},
	} {
		code, out := command(t, strings.Fields(strings.NewReplacer("GOOD", good, "CUT", cut, "GGUF", gguf, "TRACE", trace, "DIR", dir).Replace(c.args))...)
		require.Equal(t, c.code, code, c.args)
		require.Equal(t, code == jnscli.ExitOK, out != "", "%s: %q", c.args, out)
	}
	require.NoFileExists(t, trace, "an empty trace is none")
}

func TestEveryVerbPrintsOneJSONDocument(t *testing.T) {
	model, out := container(t, "jns-tiny"), filepath.Join(t.TempDir(), "l.f32")
	for args, keys := range map[string]string{
		"MODEL -p hi -n 3":          "prompt_tokens tokens text finish_reason timings receipt",
		"logits MODEL -p hi -o OUT": "rows vocab file receipt",
		"tokenize MODEL -p hi":      "tokens",
		"bench MODEL -p 4 -n 2":     "pp4 tg2 machine receipt",
		"ppl MODEL -p hello":        "tokens predicted nll ppl",
		"info MODEL":                "model root_digest kernel_set fallbacks machine",
		"info":                      "machine",
	} {
		code, text := command(t, strings.Fields(strings.NewReplacer("MODEL", model, "OUT", out).Replace(args+" --json"))...)
		require.Equal(t, jnscli.ExitOK, code, args)
		require.Equal(t, 1, strings.Count(text, "\n"), args)
		var doc map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &doc), args)
		for _, k := range strings.Fields(keys) {
			require.Contains(t, doc, k, args)
		}
	}
}

// A trace is recorded where experts are read when they are wanted, and drawn; with --json the drawing needs a file of its own.
func TestTracesAreRecordedAndDrawn(t *testing.T) {
	model, dir := container(t, "jns-tiny-moe"), t.TempDir()
	trace, svg := filepath.Join(dir, "trace"), filepath.Join(dir, "map.svg")
	code := -1
	for mib := 16; mib < 128 && code != jnscli.ExitOK; mib++ { // what is more than nothing and less than all
		code, _ = command(t, model, "-p", "hi", "-n", "3", "--ctx", "64", "--batch", "8", "--cold", "--memory", strconv.Itoa(mib)+"MiB", "--record-routing", trace)
	}
	require.Equal(t, jnscli.ExitOK, code)
	code, text := command(t, "heatmap", trace, "-o", svg, "--json")
	require.Equal(t, jnscli.ExitOK, code)
	var doc struct{ Slots, Passes int }
	require.NoError(t, json.Unmarshal([]byte(text), &doc))
	require.Positive(t, doc.Slots)
	require.Positive(t, doc.Passes)
	drawn, err := os.ReadFile(svg)
	require.NoError(t, err)
	require.Contains(t, string(drawn), "<svg")
	code, text = command(t, "heatmap", trace)
	require.Equal(t, jnscli.ExitOK, code)
	require.Equal(t, string(drawn), text)
}

func TestTokenizeReadsFilesAndStandardInputAsItReadsThePrompt(t *testing.T) {
	model, text := container(t, "jns-tiny"), "Once upon a time,\n a fox.  "
	file := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	_, want := command(t, "tokenize", model, "-p", text)
	code, got := command(t, "tokenize", model, "-f", file)
	require.Equal(t, jnscli.ExitOK, code)
	require.Equal(t, want, got)
	in, err := os.Open(file)
	require.NoError(t, err)
	defer in.Close()
	old := os.Stdin
	os.Stdin = in
	defer func() { os.Stdin = old }()
	_, got = command(t, "tokenize", model, "-f", "-")
	require.Equal(t, want, got)
}

func TestResultsThatCannotBeWrittenAreFailures(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full here")
	}
	defer full.Close()
	model := container(t, "jns-tiny")
	old := stdout
	stdout = full
	defer func() { stdout = old }()
	for _, args := range []string{"MODEL -p hi -n 2", "tokenize MODEL -p hi", "ppl MODEL -p hello", "bench MODEL -p 2 -n 1 -r 1", "info MODEL", "info"} {
		for _, more := range []string{"", " --json"} {
			list := strings.Fields(strings.ReplaceAll(args+more, "MODEL", model))
			require.Equal(t, jnscli.ExitFailed, jnscli.Run(root(), classes, append([]string{"jns-run"}, list...)), args+more)
		}
	}
}

// Ctrl-C means: enough of this answer. At the prompt it means: enough of the conversation.
func TestCtrlCEndsAnAnswerAndThenTheConversation(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "jns-run")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Skipf("the command cannot be built here: %s", out)
	}
	model := container(t, "jns-tiny")
	// start asks for an answer that has no end before the context is full, and waits until it has begun.
	start := func() (*exec.Cmd, io.Writer, *bufio.Reader) {
		c := exec.Command(bin, "chat", model, "--temp", "0", "--logit-bias", "0=-inf", "--logit-bias", "2=-inf", "--kernels", "scalar", "-t", "1")
		in, err := c.StdinPipe()
		require.NoError(t, err)
		pipe, err := c.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, c.Start())
		t.Cleanup(func() { c.Process.Kill() })
		_, err = io.WriteString(in, "Tell me a story.\n")
		require.NoError(t, err)
		out := bufio.NewReader(pipe)
		_, err = out.ReadByte()
		require.NoError(t, err)
		require.NoError(t, c.Process.Signal(syscall.SIGINT))
		return c, in, out
	}
	t.Run("the conversation goes on", func(t *testing.T) {
		c, in, out := start()
		_, err := io.WriteString(in, "/quit\n")
		require.NoError(t, err)
		rest, err := io.ReadAll(out)
		require.NoError(t, err)
		require.NoError(t, c.Wait())
		require.Less(t, len(rest), 600, "the answer was not cut: %s", rest)
	})
	t.Run("once more ends it", func(t *testing.T) {
		c, _, out := start()
		done := make(chan struct{})
		go func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(100 * time.Millisecond): // it may still be ending the answer
					c.Process.Signal(syscall.SIGINT)
				}
			}
		}()
		_, err := io.Copy(io.Discard, out)
		close(done)
		require.NoError(t, err)
		require.Error(t, c.Wait())
		require.Equal(t, 130, c.ProcessState.ExitCode())
	})
}

// TestAStopStringKeepsItsComma: cut at it, an answer would end at either half.
func TestAStopStringKeepsItsComma(t *testing.T) {
	model := container(t, "jns-tiny")
	code, whole := command(t, model, "-p", "Tell me a story about a fox and a lamp.", "--temp", "0")
	require.Zero(t, code)
	before, _, found := strings.Cut(whole, "time, a")
	require.True(t, found)
	code, cut := command(t, model, "-p", "Tell me a story about a fox and a lamp.", "--temp", "0", "--stop", "time, a")
	require.Zero(t, code)
	require.Equal(t, strings.TrimSpace(before), strings.TrimSpace(cut))
}
