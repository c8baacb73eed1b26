package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	jnscli "jns/cmd/internal/cli"
	"jns/compiler"
	"jns/format"
	"jns/manifests"
)

const publishedDir = "../../manifests/published"

// call runs a verb in this process and gives its standard output.
func call(args ...string) (string, error) {
	var b bytes.Buffer
	old := stdout
	stdout = &b
	defer func() { stdout = old }()
	err := root().Run(context.Background(), append([]string{"jnsc"}, args...))
	return b.String(), err
}

// publishTiny compiles a model of the repository and publishes it in a new directory.
func publishTiny(t *testing.T, model, target string) (dir string, m *manifests.Manifest) {
	dir = t.TempDir()
	out := filepath.Join(dir, model+"."+target+".jns")
	_, err := compiler.Compile(context.Background(), compiler.Options{Source: filepath.Join(tinyDir, model+".gguf"), Output: out, Target: target})
	require.NoError(t, err)
	_, err = call("publish", dir, "--source", tinyDir)
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(dir, model+"."+target+".json"))
	require.NoError(t, err)
	m, err = manifests.Parse(text)
	require.NoError(t, err)
	return dir, m
}

// TestPublishedModelsOfTheRepositoryReproduce rebuilds every published model whose source is committed. With -update it publishes them anew; what was measured stays
// as long as the container is the same.
func TestPublishedModelsOfTheRepositoryReproduce(t *testing.T) {
	for _, model := range []string{"jns-tiny", "jns-tiny-moe"} {
		for _, target := range []string{"portable", "x86-64-v4", "arm64-i8mm"} {
			path := filepath.Join(publishedDir, model+"."+target+".json")
			if *update {
				out := filepath.Join(t.TempDir(), model+"."+target+".jns")
				_, err := compiler.Compile(context.Background(), compiler.Options{Source: filepath.Join(tinyDir, model+".gguf"), Output: out, Target: target})
				require.NoError(t, err)
				_, err = call("publish", out, "--source", tinyDir, "--out", publishedDir, "--licence", "Apache-2.0", "--attribution", "this project",
					"--repository", "this repository: testdata/models/tiny", "--description", "a small model of the project's own")
				require.NoError(t, err)
			}
			out, err := call("repro", path, "--source", tinyDir)
			require.NoError(t, err, "%s: run make golden, then make models-md", path)
			require.Contains(t, out, "all")
		}
	}
}

// TestAChangeAtAnyLinkIsFoundAndNamed: one bit of each link of the chain, in the manifest, in the source, in the published file.
func TestAChangeAtAnyLinkIsFoundAndNamed(t *testing.T) {
	const model, target = "jns-tiny", "portable"
	dir, m := publishTiny(t, model, target)
	source := filepath.Join(tinyDir, model+".gguf")
	type change struct {
		name   string
		change func(*manifests.Manifest)
		says   string
	}
	flip := func(d *manifests.Digest) { d[9] ^= 0x20 }
	list := []change{
		{"source bytes", func(m *manifests.Manifest) { m.Source.Files[0].Bytes ^= 1 }, `"source jns-tiny.gguf: bytes"`},
		{"source digest", func(m *manifests.Manifest) { flip(&m.Source.Files[0].SHA256) }, `"source jns-tiny.gguf: SHA-256"`},
		{"source chunk", func(m *manifests.Manifest) { flip(&m.Source.Files[0].Chunks[1]) }, `"source jns-tiny.gguf: chunk 1 (from byte 1048576)"`},
		{"source header", func(m *manifests.Manifest) { flip(m.Source.Files[0].HeaderSHA256) }, `"source jns-tiny.gguf: header"`},
		{"compiler", func(m *manifests.Manifest) { m.Compiler.Revision ^= 1 }, `"compiler revision"`},
		{"compiler name", func(m *manifests.Manifest) { m.Compiler.Name = "jnsd" }, `"compiler name"`},
		{"options", func(m *manifests.Manifest) { m.Compiler.Options = "keep-unknown=false " }, `"options"`},
		{"table of contents", func(m *manifests.Manifest) { flip(&m.Container.TOC) }, `"table of contents"`},
		{"root", func(m *manifests.Manifest) { flip(&m.Container.Root) }, `"root digest"`},
		{"chunk", func(m *manifests.Manifest) { flip(&m.Container.Chunks[2]) }, `"chunk 2 (from byte 2097152)"`},
		{"file", func(m *manifests.Manifest) { flip(&m.Container.SHA256) }, `"SHA-256"`},
		{"size", func(m *manifests.Manifest) { m.Container.Bytes ^= 1 }, `"bytes"`},
	}
	for i, l := range m.Container.Chain {
		list = append(list, change{"link " + l.Link, func(m *manifests.Manifest) { flip(&m.Container.Chain[i].SHA256) }, fmt.Sprintf("%q", "link "+l.Link)})
	}
	for i, s := range m.Container.Sections {
		list = append(list, change{"section " + s.Section, func(m *manifests.Manifest) { flip(&m.Container.Sections[i].BLAKE3) }, fmt.Sprintf("%q", "section "+s.Section)})
	}
	text, err := m.Encode()
	require.NoError(t, err)
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) {
			bad, err := manifests.Parse(text)
			require.NoError(t, err)
			c.change(bad)
			b, err := json.Marshal(bad)
			require.NoError(t, err)
			path := filepath.Join(t.TempDir(), "m.json")
			require.NoError(t, os.WriteFile(path, b, 0o666))
			_, err = call("repro", path, "--source", source)
			require.ErrorContains(t, err, "differs at link "+c.says)
			require.Equal(t, jnscli.ExitVerify, classes.Code(err))
		})
	}

	// Every link that a rebuild compares has its case above. The target cannot differ: it is what was compiled for.
	good := filepath.Join(dir, model+"."+target+".json")
	published := filepath.Join(dir, model+"."+target+".jns")
	out, err := call("repro", good, "--source", source, "--json")
	require.NoError(t, err)
	var doc struct{ Links []reproLink }
	require.NoError(t, json.Unmarshal([]byte(out), &doc))
	for _, l := range doc.Links {
		covered := l.Link == "target"
		for _, c := range list {
			covered = covered || c.says == fmt.Sprintf("%q", l.Link) || strings.HasSuffix(l.Link, "chunks") && strings.HasPrefix(c.says, `"`+strings.TrimSuffix(l.Link, "chunks")+"chunk ")
		}
		require.True(t, covered, "no case for link %q", l.Link)
	}

	b, err := os.ReadFile(source)
	require.NoError(t, err)
	b[2<<20+77] ^= 1
	damaged := filepath.Join(t.TempDir(), filepath.Base(source))
	require.NoError(t, os.WriteFile(damaged, b, 0o666))
	_, err = call("repro", good, "--source", damaged)
	require.ErrorContains(t, err, `"source jns-tiny.gguf: chunk 2 (from byte 2097152)"`)
	require.Equal(t, jnscli.ExitVerify, classes.Code(err))
	_, err = call("repro", good, "--source", source, "--container", published)
	require.NoError(t, err)
}

// TestAChangeInAPublishedFileIsFoundAndNamed: one bit of each part of it, and its length.
func TestAChangeInAPublishedFileIsFoundAndNamed(t *testing.T) {
	dir, _ := publishTiny(t, "jns-tiny", "portable")
	published := filepath.Join(dir, "jns-tiny.portable.jns")
	f, k, err := open(published)
	require.NoError(t, err)
	defer f.Close()
	places := map[uint64]string{9: "header", format.HeaderSize + 5: "table of contents"}
	for _, s := range k.TOC.Sections {
		places[s.Offset+s.Length/2] = "section " + s.Kind.String()
		if s.End()%64 != 0 {
			places[s.End()] = "padding"
		}
	}
	whole, err := os.ReadFile(published)
	require.NoError(t, err)
	bad := filepath.Join(t.TempDir(), "bad.jns")
	for at, where := range places {
		b := bytes.Clone(whole)
		b[at] ^= 0x10
		require.NoError(t, os.WriteFile(bad, b, 0o666))
		r := &chainOf{}
		require.NoError(t, r.published(t.Context(), bad, published))
		require.NotNil(t, r.broken(), where)
		require.Equal(t, fmt.Sprintf("published file: %s, byte %d", where, at), r.broken().Link)
	}
	for _, b := range [][]byte{whole[:len(whole)-1], append(bytes.Clone(whole), 0)} {
		require.NoError(t, os.WriteFile(bad, b, 0o666))
		_, err = call("repro", filepath.Join(dir, "jns-tiny.portable.json"), "--source", tinyDir, "--container", bad)
		require.ErrorContains(t, err, `differs at link "published file: bytes"`)
		require.Equal(t, jnscli.ExitVerify, classes.Code(err))
	}
}

// TestPublishRefusesWhatIsNotTrue: a container whose source is not at hand, one that is damaged, one without a licence.
func TestPublishRefusesWhatIsNotTrue(t *testing.T) {
	dir, _ := publishTiny(t, "jns-tiny", "portable")
	_, err := call("publish", dir)
	require.ErrorContains(t, err, "--source")
	require.ErrorIs(t, err, errNoSource)
	require.Equal(t, jnscli.ExitCorrupt, classes.Code(err))
	path := filepath.Join(dir, "jns-tiny.portable.jns")
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	b[len(b)/2] ^= 1
	require.NoError(t, os.WriteFile(path, b, 0o666))
	_, err = call("publish", dir, "--source", tinyDir)
	require.ErrorIs(t, err, compiler.ErrVerify)
	require.Equal(t, jnscli.ExitVerify, classes.Code(err))
}

// TestMeasurementsGoIntoTheManifestOfTheirContainer: a report of both programs beside each other, and a model or target that is another one.
func TestMeasurementsGoIntoTheManifestOfTheirContainer(t *testing.T) {
	dir, _ := publishTiny(t, "jns-tiny", "portable")
	report := filepath.Join(t.TempDir(), "peer.json")
	write := func(model, target string) {
		require.NoError(t, os.WriteFile(report, []byte(`{"machine":"a machine","target":"`+target+`","pairs":7,"reps":2,"rows":[
			{"model":"`+model+`","what":"first","threads":2,"ours_median":9,"ratio":{"median":0.1}},
			{"model":"`+model+`","what":"pp512","threads":1,"ours_median":1000,"ratio":{"median":7}},
			{"model":"`+model+`","what":"pp512","threads":2,"ours_median":2434.4444,"ratio":{"median":6.7612345}},
			{"model":"`+model+`","what":"tg128","threads":2,"ours_median":345,"ratio":{"median":2.14}},
			{"model":"`+model+`","what":"rss-bench","threads":2,"ours_median":100.5,"ratio":{"median":0.9}}]}`), 0o666))
	}
	measured := func() []manifests.Measure {
		_, err := call("publish", dir, "--source", tinyDir, "--bench", report)
		require.NoError(t, err)
		text, err := os.ReadFile(filepath.Join(dir, "jns-tiny.portable.json"))
		require.NoError(t, err)
		m, err := manifests.Parse(text)
		require.NoError(t, err)
		return m.Measured
	}
	write("jns-tiny", "x86-64-v4")
	require.Empty(t, measured())
	write("jns-tiny-moe", "portable")
	require.Empty(t, measured())
	write("jns-tiny", "portable")
	list := measured()
	require.Len(t, list, 2)
	require.Equal(t, manifests.Measure{
		Machine: "a machine", Command: "go run ./cmd/internal/peer -target portable -threads 2 -pairs 7 -p 512 -n 128", Threads: 2,
		PeakRSS: 100.5 * (1 << 20), PrefillTPS: 2434, DecodeTPS: 345, Peer: "llama.cpp", PrefillRatio: 6.761, DecodeRatio: 2.14,
	}, list[0])
	require.Equal(t, 7.0, list[1].PrefillRatio)
	write("jns-tiny", "")
	_, err := call("publish", dir, "--source", tinyDir, "--bench", report)
	require.ErrorContains(t, err, "-target")
}

func TestModelNamesArePlain(t *testing.T) {
	for path, want := range map[string]string{
		"a/SmolLM2-135M-Instruct-Q4_1.portable.jns": "smollm2-135m-instruct-q4_1",
		"x y..z.portable.jns":                       "x-y-z",
		"../Ünïcode.portable.jns":                   "n-code",
	} {
		got := modelName(path, "portable")
		require.Equal(t, want, got)
		require.True(t, manifests.PlainName(got))
		require.Equal(t, strings.ToLower(got), got)
	}
}

// TestStatementsAboutAnotherContainerAreNotLeftBeside: what --export wrote of a container goes when another one is published under its name without it.
func TestStatementsAboutAnotherContainerAreNotLeftBeside(t *testing.T) {
	dir, _ := publishTiny(t, "jns-tiny", "portable")
	key := filepath.Join(t.TempDir(), "key")
	_, err := call("keygen", key)
	require.NoError(t, err)
	publish := func(args ...string) {
		_, err := call(append([]string{"publish", dir, "--source", tinyDir}, args...)...)
		require.NoError(t, err)
	}
	statements := []string{filepath.Join(dir, "jns-tiny.portable.slsa.json"), filepath.Join(dir, "jns-tiny.portable.sig")}
	publish("--key", key, "--export")
	publish()
	for _, s := range statements {
		require.FileExists(t, s, "they are about the same container")
	}
	out := filepath.Join(dir, "jns-tiny.portable.jns")
	_, err = compiler.Compile(context.Background(), compiler.Options{Source: filepath.Join(tinyDir, "jns-tiny.gguf"), Output: out, Target: "portable", KeepUnknown: true})
	require.NoError(t, err)
	publish()
	for _, s := range statements {
		require.NoFileExists(t, s)
	}
}

// TestFiguresAreRounded, also those that are none.
func TestFiguresAreRounded(t *testing.T) {
	for v, want := range map[float64]float64{0.123456: 0.1235, 1: 1, 512.3456: 512.3, 123456: 123500, 5e-324: 0, -1: 0, math.Inf(1): 0, math.MaxFloat64: 0} {
		require.InEpsilon(t, want+1, round4(v)+1, 1e-12)
	}
	require.Zero(t, round4(math.NaN()))
}
