package format_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/format"
)

// Rules of SPEC.md have ascending numbers; every one is cited where it is checked, and what is cited exists.
func TestSpecRulesAreNumberedAndCited(t *testing.T) {
	spec, err := os.ReadFile("SPEC.md")
	require.NoError(t, err)
	last, rules := 0, map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^- \*\*JNS-(\d+)\*\*`).FindAllStringSubmatch(string(spec), -1) {
		n, _ := strconv.Atoi(m[1])
		require.Greater(t, n, last)
		last, rules["JNS-"+m[1]] = n, true
	}
	cited := map[string]bool{}
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" && path != "SPEC.md" {
			return err
		}
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, c := range regexp.MustCompile(`JNS-\d+`).FindAllString(string(b), -1) {
			require.True(t, rules[c], "%s cites %s, which is no rule", path, c)
			cited[c] = cited[c] || path != "SPEC.md"
		}
		return nil
	}))
	for r := range rules {
		require.True(t, cited[r], "%s is cited nowhere: cite it where it is checked", r)
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
