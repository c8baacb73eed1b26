package main

import (
	"bytes"
	"fmt"
	gofmt "go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// cost is what the innermost whole step of a kernel takes: its instructions, the bytes of weights that it reads, and the weights that they are.
type cost struct{ instructions, bytes, weights int }

// measure writes a step and counts it.
func (f *fn) measure(weights, size int, body func()) {
	from := f.body.Len()
	body()
	n := 0
	for line := range bytes.Lines(f.body.Bytes()[from:]) {
		if line[0] == '\t' {
			n++
		}
	}
	f.cost = cost{n + 2, size, weights} // the loop counts down and branches
}

// writeCosts writes the table of costs.
func writeCosts(dir string) error {
	var b strings.Builder
	b.WriteString(strings.Replace(header, "\n//go:build !purego\n", "", 1) + `
package arm64

// Costs says for each kernel what a step of its innermost loop takes, by the kernel's name. A step that expands weights reads them as they lie; one that multiplies expanded
// weights reads those, from the first-level cache, once for every panel of activation rows.
var Costs = map[string]Cost{
`)
	for _, s := range sources {
		for _, f := range s.fns {
			if f.cost == (cost{}) {
				continue
			}
			fmt.Fprintf(&b, "\t%q: {InstructionsPerTile: %d, BytesPerTile: %d, WeightsPerTile: %d},\n", lowerFirst(f.name), f.cost.instructions, f.cost.bytes, f.cost.weights)
		}
	}
	b.WriteString("}\n\n// Parts says of which kernels the products are made that expand weights first: the expansion, and what multiplies a panel.\nvar Parts = map[string][2]string{\n")
	for i := range formats {
		ft := &formats[i]
		panel := forms[slices.IndexFunc(forms, func(p form) bool { return p.subBytes() == ft.subBytes() && p.groups == 32/ft.group })].name
		for _, k := range [][3]string{{"8x4_dotprod", "dotprod", "8x4_dotprod"}, {"8x4_i8mm", "i8mm", "8x4_i8mm"}, {"16x16_sme2", "dotprod", "16x16_sme2"}} {
			fmt.Fprintf(&b, "\t%q: {%q, %q},\n", "gemm_"+ft.name+"_q8x_"+k[0], "expand_"+ft.name+"_codes_16x32_"+k[1], "panel_"+panel+"_q8x_"+k[2])
		}
	}
	b.WriteString("}\n")
	text, err := gofmt.Source([]byte(b.String()))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "costs.go"), text, 0o644)
}

func lowerFirst(s string) string { return string(unicode.ToLower(rune(s[0]))) + s[1:] }
