package kerneltest

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/klauspost/cpuid/v2"

	"jns/kernels"
	"jns/kernels/tile"
)

// The model of the instruction bound is Intel's Golden Cove (Optimization Reference Manual, "Golden Cove Microarchitecture"): six operations enter a cycle; vectors of 512
// bits have ports 0 and 5, shorter ones 0, 1 and 5. Operations not named here run on any of these; those that only move run on none.
//
// On AMD's family 26 (Zen 5, full-width units) it is that one's, as loops of one instruction measured it: eight operations enter a cycle, two of them may load vectors; there are four pipes, two of
// which multiply, while conversions, shifts, shuffles and additions of floats have the other two.
var (
	vectorMoves = []string{"VMOVDQU32", "VMOVDQA32", "VMOVDQU", "VMOVDQA", "VMOVUPS", "VPBROADCASTD", "VBROADCASTSS", "VZEROUPPER", "VPXORD", "VPXOR"}
	// shifts run on port 0 at 512 bits; below, on 0 and 1 as multiplications do.
	shifts = []string{"VPSLLD", "VPSRLD", "VPSRAD", "VPSRAW", "VPSRLW", "VPSLLW", "VPSLLVD", "VPMOVB2M", "VPCMPUW"}
	// shuffles run on port 5, those within lanes below 512 bits on 1 and 5.
	shuffles = []string{"VPERMB", "VPERMPS", "VPSHUFB", "VPMULTISHIFTQB", "VPTESTMB", "VPMOVZXBW", "VPMOVZXWD", "VPMOVZXBD"}
	products = []string{
		"VPMADDUBSW", "VPMADDWD", "VPDPBUSD", "VPSIGNB", "VMULPS", "VFMADD231PS", "VFNMADD231PS", "VFMSUB231PS", "VFMSUB213PS", "VSUBPS", "VCVTDQ2PS", "VCVTPH2PS", "VADDPS", "VPAVGB", "VPSUBUSB",
	}
)

// otherPipes are those of products that do not multiply; a Zen 5 has other pipes for them.
var otherPipes = []string{"VSUBPS", "VADDPS", "VCVTDQ2PS", "VCVTPH2PS", "VPAVGB", "VPSUBUSB"}

func zen5() bool { return cpuid.CPU.VendorID == cpuid.AMD && cpuid.CPU.Family == 26 }

// gemvCycles is how many cycles the kernel for one vector needs for a source block of 16 rows at least; 0 if there is none.
func gemvCycles(l *tile.Layout, set string) float64 {
	return blockCycles(fmt.Sprintf("gemm_%s_%s", l.Name, set), fmt.Sprintf("Gemv_%s_q8x_16x1_%s", l.Name, set), set)
}

// panelShare is the same of the inner kernel for prompts: cycles per cycle of the plainest products, expansion of weights not counted.
func panelShare(l *tile.Layout, set string) float64 {
	n, err := kernels.ParseName(kernels.PromptKernel(l, set))
	if err != nil {
		return 0
	}
	cycles := blockCycles("gemm_panel_"+set, "P"+n.String()[1:], set)
	return cycles * productsPerCycle(set) / float64(n.Rows*n.Cols*32)
}

// blockCycles counts the operations in the loop over blocks of a function of a file in package amd64.
func blockCycles(file, function, set string) float64 {
	text, err := os.ReadFile("../amd64/" + file + "_amd64.s")
	if err != nil {
		return 0
	}
	_, body, _ := strings.Cut(string(text), "TEXT ·"+function+"(")
	_, body, _ = strings.Cut(body, "\nblock:\n")
	body, _, ok := strings.Cut(body, "JNZ")
	if !ok {
		return 0
	}
	var all, vector, shift, shuffle, product, load, floatSum float64
	for line := range strings.Lines(body) {
		op, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, text, ok := strings.Cut(line, "// VPDPBUSD "); ok { // bytes of the VEX form
			op, line = "VPDPBUSD", text
		}
		if op == "" || strings.HasPrefix(op, "//") {
			continue
		}
		all++
		op, _, _ = strings.Cut(op, ".")
		if strings.Contains(line, "(") && op[0] == 'V' {
			load++
		}
		if op == "KANDQ" { // takes port 0 from vectors
			vector++
			shift++
		}
		if op[0] != 'V' || slices.Contains(vectorMoves, op) && !(op == "VPXORD" || op == "VPXOR") {
			continue
		}
		if op == "VPXORD" || op == "VPXOR" {
			if f := strings.Fields(line); len(f) == 4 && f[1] == f[2] {
				continue // clears a register
			}
		}
		vector++
		switch {
		case slices.Contains(shifts, op):
			shift++
		case slices.Contains(shuffles, op):
			shuffle++
		case slices.Contains(otherPipes, op):
			floatSum++
			product++
		case slices.Contains(products, op):
			product++
		}
	}
	if zen5() {
		return max(all/8, vector/4, load/2, (product-floatSum)/2, (shift+shuffle+floatSum)/2)
	}
	if set == "avx512vnni" {
		return max(all/6, vector/2, shift, shuffle)
	}
	return max(all/6, vector/3, (shift+product)/2, shuffle/2)
}

// productsPerCycle is how many int8 products a cycle the plainest loop of a set makes: two vectors, or one without VPDPBUSD, whose two multiplications share
// two ports.
func productsPerCycle(set string) float64 {
	switch set {
	case "avx512vnni":
		return 128
	case "avxvnni":
		return 64
	}
	return 32 // with two products and two additions of words in pipes of their own, on a Zen 5 as well: VPMADDUBSW and VPMADDWD share the two that multiply
}
