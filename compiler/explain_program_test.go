package compiler

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const tinyModel = "../testdata/models/tiny/jns-tiny.gguf"

// Of a source and of the container made of it the program is shown alike, with every operation once.
func TestProgramsAreShownWithShapesPlacesAndFusions(t *testing.T) {
	ex, err := Explain(Options{Source: tinyModel, Target: "portable"})
	require.NoError(t, err)
	out := filepath.Join(t.TempDir(), "m.jns")
	_, err = Compile(context.Background(), Options{Source: tinyModel, Output: out, Target: "portable"})
	require.NoError(t, err)
	recorded, err := ExplainContainer(out)
	require.NoError(t, err)
	ops := func(ex *Explanation) []string {
		var b strings.Builder
		require.NoError(t, ex.ProgramText(&b))
		_, list, ok := strings.Cut(b.String(), "\n\n")
		require.True(t, ok)
		return strings.Split(strings.TrimRight(list, "\n"), "\n")
	}
	lines := ops(ex)
	require.Len(t, lines, len(ex.lowered.program.Ops))
	require.Equal(t, lines, ops(recorded))
	all := strings.Join(lines, "\n")
	for _, want := range []string{"several products of one input", "residual", "gate · up", "state 0", "token_embd.weight["} {
		require.Contains(t, all, want)
	}
	for _, l := range lines {
		require.Regexp(t, `@\d+|→ state \d+`, l)
	}
}

// Every node is declared once, every arrow joins declared nodes, and strings are closed.
func TestGraphsAreWellFormed(t *testing.T) {
	ex, err := Explain(Options{Source: tinyModel, Target: "portable"})
	require.NoError(t, err)
	ex.Model.Name = "a \"name\" with \\ and \n lines"
	var b strings.Builder
	require.NoError(t, ex.Dot(&b))
	text := b.String()
	require.True(t, strings.HasPrefix(text, "digraph program {\n"))
	require.True(t, strings.HasSuffix(text, "}\n"))
	bare := regexp.MustCompile(`"(?:[^"\\]|\\.)*"`).ReplaceAllString(text, "S")
	require.NotContains(t, bare, `"`)
	nodes := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+) \[`).FindAllStringSubmatch(bare, -1) {
		require.False(t, nodes[m[1]] && m[1] != "node" && m[1] != "edge", "%s is declared twice", m[1])
		nodes[m[1]] = true
	}
	arrows := regexp.MustCompile(`(?m)^\t(\w+) -> (\w+) `).FindAllStringSubmatch(bare, -1)
	require.Greater(t, len(arrows), len(ex.lowered.program.Ops))
	for _, m := range arrows {
		require.True(t, nodes[m[1]] && nodes[m[2]], "%s -> %s", m[1], m[2])
	}
	require.True(t, nodes["result"])
}
