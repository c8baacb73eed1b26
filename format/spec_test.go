package format_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/format"
)

// Rules of SPEC.md have ascending numbers, and what code and vectors cite exists.
func TestSpecRulesAreNumberedAndCitedRulesExist(t *testing.T) {
	spec, err := os.ReadFile("SPEC.md")
	require.NoError(t, err)
	last, rules := 0, map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^- \*\*JNS-(\d+)\*\*`).FindAllStringSubmatch(string(spec), -1) {
		n, _ := strconv.Atoi(m[1])
		require.Greater(t, n, last)
		last, rules["JNS-"+m[1]] = n, true
	}
	for _, f := range []string{"SPEC.md", "section.go", "tensor.go", "slot.go", "verify.go", "lay.go", "program.go"} {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		for _, cited := range regexp.MustCompile(`JNS-\d+`).FindAllString(string(b), -1) {
			require.True(t, rules[cited], "%s cites %s", f, cited)
		}
	}
}

// The tables of SPEC.md name every section, operation and reason that the code knows.
func TestSpecNamesWhatTheCodeKnows(t *testing.T) {
	b, err := os.ReadFile("SPEC.md")
	require.NoError(t, err)
	spec := string(b)
	for k := format.SectionSource; k <= format.SectionChunks; k++ {
		require.Contains(t, spec, fmt.Sprintf("| %d | %s |", k, k))
	}
	for k := format.OpRows; format.NewParams(k) != nil; k++ {
		require.Contains(t, spec, fmt.Sprintf("| %d | %s |", k, k))
	}
}
