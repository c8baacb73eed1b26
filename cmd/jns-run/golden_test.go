package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	jnscli "jns/cmd/internal/cli"
	"jns/kernels/kerneltest"
	"jns/runtime/engine"
)

var update = flag.Bool("update", false, "write golden files anew")

// embedded are the models of the repository, in the order of compiled.
var embedded = []string{"jns-tiny", "jns-tiny-moe"}

// container writes the container of an embedded model into a folder of the test.
func container(t testing.TB, name string) string {
	files, err := compiled()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), name+".jns")
	require.NoError(t, os.WriteFile(path, files[slices.Index(embedded, name)], 0o600))
	return path
}

// command runs jns-run in this process and gives its exit code and what it wrote to standard output.
func command(t testing.TB, args ...string) (code int, out string) {
	f, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
	require.NoError(t, err)
	defer f.Close()
	old := stdout
	stdout = f
	defer func() { stdout = old }()
	code = jnscli.Run(root(), classes, append([]string{"jns-run"}, args...))
	b, err := os.ReadFile(f.Name())
	require.NoError(t, err)
	return code, string(b)
}

// golden compares with a file of testdata, or writes it.
func golden(t testing.TB, name, got string) {
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o666))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "%s differs; if the model's numbers were meant to change: make golden", path)
}

// prompt is a text's worth of token ids that no rule of a language explains, so that every expert and every row of the table is of use.
func prompt(n, vocab int) []int32 {
	out, x := make([]int32, n), uint32(2463534242)
	for i := range out {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		out[i] = int32(x % uint32(vocab))
	}
	return out
}

// evaluate gives the logits after each token, row by row, and the receipt.
func evaluate(t testing.TB, path string, tokens []int32, o engine.Options) ([]float32, engine.Receipt) {
	e, err := engine.Open(path, o)
	require.NoError(t, err)
	defer e.Close()
	s := e.NewSession()
	defer s.Close()
	var all []float32
	err = s.Eval(context.Background(), tokens, func(int) bool { return true }, func(_ int, row []float32) error {
		all = append(all, row...)
		return nil
	})
	require.NoError(t, err)
	require.Len(t, all, len(tokens)*e.Vocab())
	return all, e.Receipt()
}

// requireBits fails at the first value that is not equal to the last bit.
func requireBits(t testing.TB, want, got []float32, vocab int, msg string) {
	require.Len(t, got, len(want), msg)
	for i := range want {
		if math.Float32bits(want[i]) != math.Float32bits(got[i]) {
			require.FailNowf(t, "logits differ", "%s: token %d, logit %d: %x, want %x", msg, i/vocab, i%vocab, math.Float32bits(got[i]), math.Float32bits(want[i]))
		}
	}
}

// The scalar path, one thread, everything in one batch is the definition; testdata/logits.digest pins its bits, so that another system or
// processor that computes other bits is found, not only two paths of this machine that differ.
func TestLogitsAreTheSameBitsOnEveryKernelSetThreadCountAndBatch(t *testing.T) {
	kerneltest.RequireSets(t)
	const tokens = 100 // no multiple of a batch, more than one attention chunk of 64
	var digests strings.Builder
	for _, name := range embedded {
		path := container(t, name)
		e, err := engine.Open(path, engine.Options{Kernels: "scalar"})
		require.NoError(t, err)
		vocab := e.Vocab()
		require.NoError(t, e.Close())
		ids := prompt(tokens, vocab)
		want, _ := evaluate(t, path, ids, engine.Options{Kernels: "scalar", Threads: 1, Batch: 512})
		fmt.Fprintf(&digests, "%s  %s, %d tokens\n", digest(want), name, tokens)
		for _, set := range engine.KernelSets() {
			for _, threads := range []int{1, 2, 3} {
				for _, batch := range []int{1, 7, 64, 512} {
					if set == "scalar" && threads == 1 && batch == 512 {
						continue
					}
					n := tokens
					if set == "scalar" {
						n = 20 // it is slow
					}
					o := engine.Options{Kernels: set, Threads: threads, Batch: batch}
					got, r := evaluate(t, path, ids[:n], o)
					requireBits(t, want[:n*vocab], got, vocab, fmt.Sprintf("%s %+v", name, o))
					requireReceipt(t, r, o)
				}
			}
		}
	}
	golden(t, "logits.digest", digests.String())
}

// requireReceipt checks that what ran is what was asked for: products of the set, and of lower sets only where the set has no kernel of its
// own for a layout; never scalar ones, since every layout of the embedded models has kernels.
func requireReceipt(t testing.TB, r engine.Receipt, o engine.Options) {
	sets := engine.KernelSets()
	notAbove := func(set string) bool {
		return slices.Index(sets, set) >= slices.Index(sets, o.Kernels) && (set == "scalar") == (o.Kernels == "scalar")
	}
	require.True(t, notAbove(r.KernelSet), "vector operations of %s ran for %s", r.KernelSet, o.Kernels)
	require.Equal(t, o.Threads, r.Threads)
	require.Empty(t, r.Fallbacks)
	require.NotEmpty(t, r.Kernels)
	own := false
	for name, calls := range r.Kernels {
		require.NotZero(t, calls, name)
		set := name[strings.LastIndexByte(name, '_')+1:]
		own = own || set == o.Kernels
		require.True(t, notAbove(set), "%s ran for %s", name, o.Kernels)
	}
	require.True(t, own, "no product of %s ran, only %v", o.Kernels, r.Kernels)
}

func digest(v []float32) string {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// What the embedded models answer is what make run shows. Pinned through the command: its flags, the chat template, the tokenizer, the
// greedy choice, the end of the text, what goes to standard output.
func TestGreedyAnswersAreThoseOfTheTranscripts(t *testing.T) {
	prompts := []struct {
		text string
		args []string
	}{
		{"Tell me a story about a fox and a lamp.", nil},
		{"What is the capital of France?", nil},
		{"What is 7 plus 5?", nil},
		{"Name the days of the week.", nil},
		{"Who are you?", nil},
		{"Schöne Grüße, 你好 🦊", nil},
		{"Once upon a time", []string{"--raw", "-n", "64"}},
		{"There once was a little dog", []string{"--raw", "-n", "150", "--ignore-eos", "--stop", "friend"}},
	}
	for _, name := range embedded {
		path := container(t, name)
		var b bytes.Buffer
		for _, p := range prompts {
			args := append([]string{path, "--temp", "0", "-p", p.text}, p.args...)
			code, out := command(t, args...)
			require.Equal(t, jnscli.ExitOK, code)
			fmt.Fprintf(&b, "$ %s\n%s\n", strings.Join(append([]string{"jns-run", name + ".jns"}, quoted(args[1:])...), " "), out)
		}
		golden(t, filepath.Join("transcripts", name+".txt"), b.String())
	}
}

func quoted(args []string) []string {
	out := slices.Clone(args)
	for i, a := range out {
		if strings.ContainsAny(a, " ?") {
			out[i] = `"` + a + `"`
		}
	}
	return out
}

func TestTheSameSeedGivesTheSameTextHoweverItIsComputed(t *testing.T) {
	path := container(t, "jns-tiny")
	args := []string{path, "-p", "Tell me a story about the rain.", "--seed", "3", "-n", "60"}
	_, want := command(t, append(args, "--threads", "1")...)
	require.NotEmpty(t, want)
	for _, more := range [][]string{{"--threads", "2"}, {"--batch", "3"}, {"--kernels", "scalar"}} {
		_, got := command(t, append(slices.Clone(args), more...)...)
		require.Equal(t, want, got, "%v", more)
	}
	_, other := command(t, path, "-p", "Tell me a story about the rain.", "--seed", "4", "-n", "60")
	require.NotEqual(t, want, other)
}
