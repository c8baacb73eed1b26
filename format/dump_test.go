package format_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"jns/format"
	"jns/format/formattest"
)

var update = flag.Bool("update", false, "rewrite golden files and vectors")

func open(t testing.TB, m formattest.Memory) *format.Container {
	t.Helper()
	c, err := format.Open(m, int64(len(m)))
	require.NoError(t, err)
	return c
}

// golden compares text with a file of testdata/golden.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, got, 0o666))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run go test with -update if the change is meant")
}

func TestDumpIsGolden(t *testing.T) {
	for name, moe := range map[string]bool{"tiny-dense.dump": false, "tiny-moe.dump": true} {
		m, _ := formattest.Tiny(moe)
		var b bytes.Buffer
		require.NoError(t, format.Dump(&b, open(t, m), format.DumpOptions{}))
		golden(t, name, b.Bytes())
	}
}

func TestDiffNamesWhatDiffers(t *testing.T) {
	a, _ := formattest.Tiny(false)
	require.Empty(t, format.Diff(open(t, a), open(t, a)))

	d := formattest.Draft(false)
	d.Target = "x86-64-v3"
	d.Model.Facts = append(d.Model.Facts, format.Fact{Key: "size", Value: "tiny"})
	d.Tensors[3].Reason = format.ReasonTiled
	for _, o := range d.Program.Ops {
		if n, ok := o.Params.(*format.NormParams); ok {
			n.Eps = 1e-6
			break
		}
	}
	d.Program.Ops = append(d.Program.Ops, format.Op{Kind: format.OpSoftCap, Version: 1, Params: &format.SoftCapParams{X: d.Program.Logits, Cap: 30}})
	b, _, err := formattest.Build(d)
	require.NoError(t, err)
	var out bytes.Buffer
	for _, x := range format.Diff(open(t, a), open(t, b)) {
		out.WriteString(x.String() + "\n")
	}
	golden(t, "tiny.diff", out.Bytes())

	m, _ := formattest.Tiny(true)
	levels := map[string]bool{}
	for _, x := range format.Diff(open(t, a), open(t, m)) {
		levels[x.Level] = true
	}
	require.True(t, levels["section"] && levels["tensor"] && levels["program"] && levels["slot"])
}

// TestDumpsDoNotCommandTheTerminal: whatever text of a container a dump shows, its control characters are replaced (JNS-5).
func TestDumpsDoNotCommandTheTerminal(t *testing.T) {
	const evil = "a\x1b]0;x\x07\u009b2J\nb"
	d := formattest.Draft(false)
	d.Model.Name, d.Compiler.Name, d.Compiler.Options = evil, evil, evil
	d.Model.Facts = []format.Fact{{Key: evil, Value: evil}}
	d.Template = []byte(evil)
	d.Tensors[0].Name, d.Tensors[7].Name = evil, evil+"2"
	d.Program.Buffers[0].Name = evil
	m, _, err := formattest.Build(d)
	require.NoError(t, err)
	plain, _ := formattest.Tiny(false)
	var b bytes.Buffer
	require.NoError(t, format.Dump(&b, open(t, m), format.DumpOptions{}))
	for _, x := range format.Diff(open(t, plain), open(t, m)) {
		b.WriteString(x.String() + "\n")
	}
	for _, r := range b.String() {
		if r != '\n' && r != '\t' {
			require.False(t, unicode.IsControl(r), "%q", b.String())
		}
	}
}
