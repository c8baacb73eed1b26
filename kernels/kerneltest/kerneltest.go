// Package kerneltest is the harness that holds every kernel to the bits of kernels/scalar: it runs the products of package cases, requires sets, and reads the shapes of
// real models. It is used by tests and benchmarks only and must not know how a kernel works.
package kerneltest

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"jns/kernels"
	"jns/kernels/cases"
	"jns/kernels/tile"
)

// See package cases.
type (
	Case  = cases.Case
	Style = cases.Style
)

// See package cases.
const (
	Plain   = cases.Plain
	Extreme = cases.Extreme
	Model   = cases.Model
)

// New makes a case from a seed.
func New(l *tile.Layout, rows, cols, n int, style Style, seed uint64) *Case {
	return cases.New(l, rows, cols, n, style, seed)
}

// RequireSets fails the test when a set named in JNS_REQUIRE_SETS is missing, so that a machine without it cannot pass by testing less.
func RequireSets(t testing.TB) {
	t.Helper()
	if missing := kernels.MissingSets(); len(missing) > 0 {
		t.Fatalf("%s names %s, which this machine or build lacks", kernels.RequireEnv, strings.Join(missing, ", "))
	}
}

// Shape is the size of a weight matrix in a real model.
type Shape struct {
	Model, Tensor, Type string
	Rows, Cols          int
}

// ReadShapes reads a list of shapes: lines "model tensor type rows cols", # begins a comment.
func ReadShapes(path string) ([]Shape, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []Shape
	for sc, line := bufio.NewScanner(bytes.NewReader(text)), 1; sc.Scan(); line++ {
		s, _, _ := strings.Cut(sc.Text(), "#")
		if strings.TrimSpace(s) == "" {
			continue
		}
		var h Shape
		if _, err := fmt.Sscan(s, &h.Model, &h.Tensor, &h.Type, &h.Rows, &h.Cols); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, line, err)
		}
		all = append(all, h)
	}
	return all, nil
}
