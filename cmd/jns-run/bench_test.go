package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	jnscli "jns/cmd/internal/cli"
	"jns/runtime/engine"
)

func TestBenchSetsItsRatesBesideWhatTheMachineCanDo(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report.md")
	code, out := command(t, "bench", container(t, "jns-tiny"), "-p", "16", "-n", "8", "-r", "2", "--ctx", "64", "--json", "--power", "-o", report)
	require.Equal(t, jnscli.ExitOK, code)
	var doc struct {
		Prompt   rate             `json:"pp16"`
		Decode   rate             `json:"tg8"`
		Ceilings []map[string]any `json:"ceilings"`
		Work     map[string]int   `json:"work"`
		Power    *power           `json:"power"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &doc))
	require.Positive(t, doc.Prompt.GOPS)
	require.Zero(t, doc.Prompt.GBps)
	require.InDelta(t, doc.Decode.Median*float64(doc.Work["weight_bytes"])/1e9, doc.Decode.GBps, 1e-9)
	require.InDelta(t, doc.Decode.GBps/doc.Ceilings[len(doc.Ceilings)-1]["memory_gbps"].(float64), doc.Decode.OfRead, 1e-9)
	require.True(t, doc.Power.Reason != "" || doc.Decode.Joules > 0)
	text, err := os.ReadFile(report)
	require.NoError(t, err)
	for _, s := range []string{"## Machine", "- cpu: ", "tg8", "plain reads", "## Kernels", "power: "} {
		require.Contains(t, string(text), s)
	}

	code, out = command(t, "bench", container(t, "jns-tiny"), "-p", "0", "-n", "2", "-r", "1", "--ctx", "64", "--no-probe")
	require.Equal(t, jnscli.ExitOK, code)
	require.Contains(t, out, "tg2")
	require.NotContains(t, out, "machine,")
}

func TestBenchSaysWhereTheTimeGoes(t *testing.T) {
	run := func(flags ...string) (code int, out string) {
		return command(t, append([]string{"bench", container(t, "jns-tiny"), "-p", "16", "-n", "8", "-r", "1", "--ctx", "64", "--no-probe", "--threads", "2"}, flags...)...)
	}
	code, out := run("--ops", "--json")
	require.Equal(t, jnscli.ExitOK, code)
	var doc struct {
		Prompt rate `json:"pp16"`
		Decode rate `json:"tg8"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &doc))
	for _, r := range []rate{doc.Prompt, doc.Decode} {
		times := map[string]engine.OpTime{}
		for _, o := range r.Ops {
			times[o.Name] = o
		}
		for _, name := range []string{"matmul ffn_gate+ffn_up", "attention", "norm", "rows token_embd"} {
			require.Positive(t, times[name].Seconds, name)
			require.Positive(t, times[name].Steps, name)
		}
		products := times["matmul ffn_gate+ffn_up"]
		require.Positive(t, products.Kernels)
		require.LessOrEqual(t, products.Kernels, products.Seconds)
		require.Zero(t, times["norm"].Kernels)
	}
	code, out = run("--ops")
	require.Equal(t, jnscli.ExitOK, code)
	require.Contains(t, out, "pp16, % of the workers' time:")
	require.Contains(t, out, "tg8, % of the workers' time:")
	code, out = run("--json")
	require.Equal(t, jnscli.ExitOK, code)
	require.NotContains(t, out, "operations")
}

func TestBenchSaysWhatTheBytesOfKeysAndValuesExplain(t *testing.T) {
	path := container(t, "jns-tiny")
	code, out := command(t, "bench", path, "-p", "0", "-n", "4", "-d", "100", "-r", "1", "--ctx", "128", "--no-probe", "--json")
	require.Equal(t, jnscli.ExitOK, code)
	var doc struct {
		Shallow rate           `json:"tg4"`
		Deep    rate           `json:"tg4@100"`
		Work    map[string]int `json:"work"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &doc))
	f := doc.Deep.Fall
	require.NotNil(t, f)
	require.Nil(t, doc.Shallow.Fall)
	require.InDelta(t, doc.Deep.Median/doc.Shallow.Median, f.Measured, 1e-9)
	// A page of 64 positions is kept whole; a token at the positions 100 to 103 reads 101 to 104 of them.
	position := float64(doc.Deep.KV) / 128
	require.InDelta(t, 102.5*position, f.KVBytes, 1)
	weights := float64(doc.Work["weight_bytes"])
	require.InDelta(t, (weights+2.5*position)/(weights+102.5*position), f.Explained, 1e-9)

	known := fallOf(100, 50, 1e9, 4e7, 3e8)
	require.InDelta(t, 0.5, known.Measured, 1e-9)
	require.InDelta(t, 0.8, known.Explained, 1e-9)
	require.InDelta(t, 26, known.KVGBps, 1e-9) // 260 MB in the 10 ms that a token takes longer
	require.Zero(t, fallOf(100, 101, 1e9, 0, 1e6).KVGBps)

	code, out = command(t, "bench", path, "-p", "0", "-n", "4", "-d", "100", "-r", "1", "--ctx", "128", "--no-probe")
	require.Equal(t, jnscli.ExitOK, code)
	require.Regexp(t, `tg4@100 .* of it without depth, \d\.\d\d by the bytes`, out)
}

func TestCachesAreReadAsTheSystemShowsThem(t *testing.T) {
	dir := t.TempDir()
	for i, c := range []string{"1 Data 48K", "2 Unified 2048K", "3 Unified 36M", "4 Unified ?"} {
		f := strings.Fields(c)
		d := filepath.Join(dir, "index"+string(rune('0'+i)))
		require.NoError(t, os.Mkdir(d, 0o755))
		for j, name := range []string{"level", "type", "size"} {
			require.NoError(t, os.WriteFile(filepath.Join(d, name), []byte(f[j]+"\n"), 0o600))
		}
	}
	require.Equal(t, []string{"L1 data 48K", "L2 unified 2048K", "L3 unified 36M", "L4 unified ?"}, caches(dir))
	require.Equal(t, uint64(36<<20), lastCache(dir))
	require.Zero(t, lastCache(filepath.Join(dir, "none")))
}
