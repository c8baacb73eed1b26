package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	jnscli "jns/cmd/internal/cli"
	"jns/runtime/engine"
)

// madeUp is evidence of four runs as processes would have written them.
func madeUp(t *testing.T) (*manifest, [][]byte) {
	m := &manifest{Format: evidenceFormat, Sides: []side{{"a", "native", []string{"measure", "x"}}, {"b", "portable", []string{"measure", "x", "--kernels=scalar"}}}}
	var raw [][]byte
	var records []*processRecord
	for i, name := range "abba" {
		s := m.Sides[strings.IndexRune("ab", name)]
		var b bytes.Buffer
		line := func(v any) { require.NoError(t, jnscli.JSONLine(&b, v)) }
		line(processLine{"process", evidenceFormat, s.Arguments, map[string]string{"GOGC": "50 <&>"}, "v1", map[string]any{"cpus": 2.0, "memory": 1e12}})
		set, slow := "avx2", int64(1)
		if name == 'b' {
			set, slow = "scalar", 10
		}
		for pass := range 2 {
			line(timingLine{"timing", "prefill", pass, pass == 0, 100, slow * int64(1000000+i*1000+(1-pass)*500000)})
			line(timingLine{"timing", "decode", pass, pass == 0, 10, slow * int64(2000000+i*3000)})
			line(outputLine{"output", pass, strings.Repeat("ab", 32*(1-pass)), []int32{1, 2}})
		}
		line(receiptLine{"receipt", json.RawMessage(fmt.Sprintf(`{"root_digest":"r","threads":2,"kernels":{"gemm_x_%s":{"calls":3,"rows":5,"bytes":7}}}`, set)), 1 << 20})
		r, err := parseRecord(b.Bytes())
		require.NoError(t, err)
		m.Runs = append(m.Runs, ranAs{recordFile(i, s.Name), s.Name, int64(b.Len()), hexSum(b.Bytes())})
		raw, records = append(raw, b.Bytes()), append(records, r)
	}
	f, err := figure(m.Runs, records)
	require.NoError(t, err)
	m.Figures = f
	return m, raw
}

func TestEvidenceHoldsAndSaysTheFigures(t *testing.T) {
	m, raw := madeUp(t)
	dir := filepath.Join(t.TempDir(), "e")
	digest, err := writeEvidence(dir, m, raw)
	require.NoError(t, err)
	require.NoDirExists(t, dir+".partial")
	got, again, err := readEvidence(dir)
	require.NoError(t, err)
	require.Equal(t, digest, again)
	require.Equal(t, m, got)
	f := got.Figures
	require.True(t, f.OutputsEqual)
	require.Equal(t, []string{"scalar"}, f.Sides[1].Sets)
	require.InDelta(t, 100/0.001, f.Sides[0].Speeds["prefill"].Max, 1e-6, "the warm-up does not count")
	require.Equal(t, 2, f.Ratios["decode"].N)
	require.InDelta(t, (10*2003.0/2000+10*2006/2009.0)/2, f.Ratios["decode"].Median, 1e-9)
	_, err = writeEvidence(dir, m, raw)
	require.ErrorContains(t, err, "not empty", "nothing is written over")
	code, out := command(t, "verify-evidence", dir)
	require.Equal(t, jnscli.ExitOK, code)
	require.Contains(t, out, digest)
	code, out = command(t, "verify-evidence", dir, "--json")
	require.Equal(t, jnscli.ExitOK, code)
	require.True(t, json.Valid([]byte(out)))
}

// Whatever is changed, verification ends with code 5, or 3 where nothing is left that could be verified.
func TestChangedEvidenceDoesNotHold(t *testing.T) {
	rewrite := func(name, from, to string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			file := filepath.Join(dir, name)
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Contains(t, string(b), from)
			require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(b), from, to, 1)), 0o644))
		}
	}
	// signed changes a record and the digest and length of it in the manifest, as somebody would who wants the figures to be others.
	signed := func(from, to string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			name := "0001-a.jsonl"
			before, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			rewrite(name, from, to)(t, dir)
			after, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			rewrite(manifestName, hexSum(before), hexSum(after))(t, dir)
			rewrite(manifestName, fmt.Sprintf(`"bytes": %d`, len(before)), fmt.Sprintf(`"bytes": %d`, len(after)))(t, dir)
		}
	}
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string)
		code   int
	}{
		"a figure":                    {rewrite(manifestName, `"median": `, `"median": 1`), 5},
		"outputs":                     {rewrite(manifestName, `"outputs_equal": true`, `"outputs_equal": false`), 5},
		"no figures":                  {rewrite(manifestName, `"figures": {`, `"figures": null, "x": {`), 3},
		"a digest":                    {rewrite(manifestName, `"sha256": "`, `"sha256": "0`), 5},
		"a timing":                    {rewrite("0002-b.jsonl", `"tokens":100`, `"tokens":101`), 5},
		"a timing and its digest":     {signed(`"discarded":false,"tokens":100`, `"discarded":false,"tokens":101`), 5},
		"a timing of nothing":         {signed(`"tokens":100`, `"tokens":0`), 5},
		"the logits and their digest": {signed(`"logits_sha256":"ab`, `"logits_sha256":"ba`), 5},
		"the tokens and their digest": {signed(`"pass":1,"tokens":[1,2]`, `"pass":1,"tokens":[1,3]`), 5},
		"no logits":                   {signed(`"logits_sha256":"`+strings.Repeat("ab", 32)+`",`, ``), 5},
		"the arguments":               {signed(`"arguments":["measure"`, `"arguments":["measured"`), 5},
		"an unknown field":            {signed(`"kind":"timing",`, `"kind":"timing","x":1,`), 5},
		"a field twice":               {signed(`"kind":"timing",`, `"kind":"timing","kind":"timing",`), 5},
		"an unknown kind":             {signed(`"kind":"timing"`, `"kind":"rumour"`), 5},
		"no receipt":                  {signed(`"kind":"receipt"`, `"kind":"output"`), 5},
		"a receipt that is none":      {signed(`"threads":2`, `"threads":"2"`), 5},
		"the order":                   {rewrite(manifestName, `"side": "a"`, `"side": "b"`), 5},
		"a path out":                  {rewrite(manifestName, `"file": "0001-a.jsonl"`, `"file": "../e/0001-a.jsonl"`), 5},
		"an absolute path":            {rewrite(manifestName, `"file": "0001-a.jsonl"`, `"file": "/etc/passwd"`), 5},
		"another spelling":            {rewrite(manifestName, "{", "{ "), 5},
		"another format":              {rewrite(manifestName, evidenceFormat, "jns-evidence 2"), 3},
		"no manifest":                 {func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, manifestName))) }, 3},
		"no record":                   {func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, "0003-b.jsonl"))) }, 5},
		"nothing":                     {func(t *testing.T, dir string) { require.NoError(t, os.RemoveAll(dir)) }, 3},
		"something else in it":        {func(t *testing.T, dir string) { require.NoError(t, os.WriteFile(filepath.Join(dir, "x"), nil, 0o644)) }, 5},
		"a manifest that is a directory": {func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, manifestName)))
			require.NoError(t, os.Mkdir(filepath.Join(dir, manifestName), 0o755))
		}, 3},
		"a huge manifest": {func(t *testing.T, dir string) {
			require.NoError(t, os.Truncate(filepath.Join(dir, manifestName), 1<<40))
		}, 3},
		"a huge record": {func(t *testing.T, dir string) {
			require.NoError(t, os.Truncate(filepath.Join(dir, "0001-a.jsonl"), 1<<40))
		}, 5},
		"a record cut": {func(t *testing.T, dir string) {
			require.NoError(t, os.Truncate(filepath.Join(dir, "0001-a.jsonl"), 100))
		}, 5},
		"a record that is a link": {func(t *testing.T, dir string) {
			file := filepath.Join(dir, "0001-a.jsonl")
			require.NoError(t, os.Rename(file, filepath.Join(filepath.Dir(dir), "elsewhere")))
			if os.Symlink("../elsewhere", file) != nil {
				t.Skip("no links here")
			}
		}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			m, raw := madeUp(t)
			dir := filepath.Join(t.TempDir(), "e")
			_, err := writeEvidence(dir, m, raw)
			require.NoError(t, err)
			c.change(t, dir)
			code, out := command(t, "verify-evidence", dir)
			require.Equal(t, c.code, code)
			require.Empty(t, out)
		})
	}
}

func TestARunThatWasKilledLeavesRoomForTheNext(t *testing.T) {
	m, raw := madeUp(t)
	dir := filepath.Join(t.TempDir(), "e")
	require.NoError(t, os.Mkdir(dir+".partial", 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir+".partial", "0001-a.jsonl"), []byte("half"), 0o644))
	_, err := writeEvidence(dir, m, raw)
	require.NoError(t, err)
	_, _, err = readEvidence(dir)
	require.NoError(t, err)
	other := dir + "2"
	require.NoError(t, os.Mkdir(other+".partial", 0o755))
	mine := filepath.Join(other+".partial", "letter")
	require.NoError(t, os.WriteFile(mine, nil, 0o644))
	_, err = writeEvidence(other, m, raw)
	require.ErrorContains(t, err, "letter")
	require.FileExists(t, mine)
}

func TestRecordsThatAreNoneAreRefused(t *testing.T) {
	_, raw := madeUp(t)
	for _, b := range [][]byte{nil, []byte("\n"), []byte("{}\n"), raw[0][:len(raw[0])-1], append([]byte("x"), raw[0]...), append(bytes.Clone(raw[0]), raw[0]...), make([]byte, recordBytes+1)} {
		_, err := parseRecord(b)
		require.Error(t, err)
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add([]byte(`{"kind":"process"}` + "\n"))
	f.Add([]byte(`{"kind":"receipt","receipt":{},"peak_rss_bytes":0}` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := parseRecord(b); err == nil {
			_, _ = figure([]ranAs{{File: "x", Side: "a"}}, []*processRecord{r})
		}
	})
}

// The tiny model natively and in plain Go: four processes, the same bits, evidence that holds.
func TestBenchComparesWithPortable(t *testing.T) {
	old := self
	self = func() (string, error) { return exec.LookPath("jns-run") }
	t.Cleanup(func() { self = old })
	model, dir := container(t, "jns-tiny"), filepath.Join(t.TempDir(), "e")
	code, out := command(t, "bench", model, "--compare", "portable", "-p", "20", "-n", "4", "-r", "1", "-t", "1", "--evidence", dir, "--json")
	require.Equal(t, jnscli.ExitOK, code, out)
	m, _, err := readEvidence(dir)
	require.NoError(t, err)
	require.Len(t, m.Runs, 4)
	require.True(t, m.Figures.OutputsEqual)
	require.Equal(t, []string{"scalar"}, m.Figures.Sides[1].Sets)
	require.Equal(t, 1, m.Figures.Sides[0].Threads)
	if best := engine.KernelSets()[0]; best != "scalar" {
		require.Contains(t, m.Figures.Sides[0].Sets, best)
		require.NotContains(t, m.Figures.Sides[0].Sets, "scalar")
	}
	require.Equal(t, 2, m.Figures.Ratios["prefill"].N)
	for _, bad := range [][]string{{"--compare", "sse9"}, {"--compare", "portable", "-p", "0"}, {"--compare", "portable", "-d", "3"}, {"--evidence", dir}, {"--compare", "portable", "-r", "0"}} {
		code, _ := command(t, append([]string{"bench", model}, bad...)...)
		require.NotEqual(t, jnscli.ExitOK, code, "%q", bad)
	}
	code, _ = command(t, "bench", model, "--compare", "portable", "-p", "100000") // which only the process can know
	require.Equal(t, jnscli.ExitUsage, code)
}

// Two models have nothing to compare: this is said before any process is started.
func TestDifferentModelsAreNotCompared(t *testing.T) {
	old := self
	self = func() (string, error) { t.Error("a process was started"); return "", os.ErrNotExist }
	t.Cleanup(func() { self = old })
	model := container(t, "jns-tiny")
	code, out := command(t, "bench", model, "--compare", container(t, "jns-tiny-moe"))
	require.Equal(t, jnscli.ExitVerify, code, out)
	notOne := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(notOne, []byte("something"), 0o600))
	code, _ = command(t, "bench", model, "--compare", notOne)
	require.Equal(t, jnscli.ExitCorrupt, code)
}

// TestEvidenceThatCannotBeWrittenLeavesNothing: not on a full disk either.
func TestEvidenceThatCannotBeWrittenLeavesNothing(t *testing.T) {
	m, raw := madeUp(t)
	dir := filepath.Join(t.TempDir(), "e")
	m.Runs[2].File = filepath.Join("no such directory", m.Runs[2].File)
	_, err := writeEvidence(dir, m, raw)
	require.Error(t, err)
	require.NoDirExists(t, dir)
	require.NoDirExists(t, dir+".partial")
}

// TestEvidenceMayGoIntoAnEmptyDirectory, and what it cannot go into is said before anything is measured.
func TestEvidenceMayGoIntoAnEmptyDirectory(t *testing.T) {
	m, raw := madeUp(t)
	dir := filepath.Join(t.TempDir(), "e")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, vacant(dir))
	_, err := writeEvidence(dir, m, raw)
	require.NoError(t, err)
	_, _, err = readEvidence(dir)
	require.NoError(t, err)
	require.ErrorContains(t, vacant(dir), "not empty")
	link, file := dir+"-link", dir+"-file"
	require.NoError(t, os.Symlink("nowhere", link))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.ErrorContains(t, vacant(link), "no directory")
	require.ErrorContains(t, vacant(file), "no directory")
}
