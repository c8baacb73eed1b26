package main

import (
	"fmt"
	"strings"
	"testing"
)

// dis writes a disassembly of one kernel from lines "word text".
func dis(name string, lines ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "0000000000001000 <jns/kernels/arm64.%s.abi0>:\n", name)
	for i, l := range lines {
		word, text, _ := strings.Cut(l, " ")
		fmt.Fprintf(&b, "    %x: %s     \t%s\n", 0x1000+4*i, word, text)
	}
	b.WriteString("\n0000000000002000 <main.main>:\n    2000: 4e80a400      \tsmmla\tv0.4s, v0.16b, v0.16b\n")
	return b.String()
}

const pkg = "jns/kernels/arm64."

func TestChangesOfModeAreFollowed(t *testing.T) {
	for want, lines := range map[string][]string{
		"":                                      {"d503477f smstart", "80800000 fmopa\tza0.s, p0/m, p0/m, z0.s, z0.s", "54ffffe1 b.ne\t0x1004 <x+0x4>", "d503467f smstop", "d65f03c0 ret"},
		"returns in streaming mode":             {"d503477f smstart", "d65f03c0 ret"},
		"ends in streaming mode":                {"d65f03c0 ret", "d503477f smstart"},
		"streaming mode is entered twice":       {"d503477f smstart", "d503477f smstart", "d503467f smstop", "d65f03c0 ret"},
		"streaming mode is left twice":          {"d503467f smstop", "d65f03c0 ret"},
		"leaves the kernel in streaming mode":   {"d503477f smstart", "94000000 bl\t0x9000 <other>", "d503467f smstop", "d65f03c0 ret"},
		"branches into the other mode at 1000:": {"54000041 b.ne\t0x1008 <x+0x8>", "d503477f smstart", "d503201f nop", "d503467f smstop", "d65f03c0 ret"},
	} {
		code := kernels(dis("Gemv_x_sme2", lines...), pkg)
		if len(code) != 1 {
			t.Fatalf("%d kernels", len(code))
		}
		wrong := strings.Join(follow("Gemv_x_sme2", code["Gemv_x_sme2"]), "\n")
		if want == "" && wrong != "" || !strings.Contains(wrong, want) {
			t.Errorf("%q: %q", want, wrong)
		}
	}
}

func TestInstructionsOfOtherSetsAreFound(t *testing.T) {
	mc := tool("llvm-mc")
	if mc == "" {
		t.Skip("no llvm-mc of version 19 or later here (package llvm-19)")
	}
	const (
		sdot  = "4f82e020 sdot\tv0.4s, v1.16b, v2.4b[0]"
		smmla = "4e82a420 smmla\tv0.4s, v1.16b, v2.16b"
		ret   = "d65f03c0 ret"
		on    = "d503477f smstart"
		off   = "d503467f smstop"
	)
	for _, c := range []struct {
		name  string
		lines []string
		wrong int
	}{
		{"Gemv_x_dotprod", []string{sdot, ret}, 0},
		{"Gemv_x_dotprod", []string{smmla, ret}, 1},
		{"Panel_x_i8mm", []string{smmla, sdot, ret}, 0},
		{"Panel_x_sme2", []string{on, "a0820020 smopa\tza0.s, p0/m, p0/m, z1.b, z2.b", off, ret}, 0},
		{"Panel_x_sme2", []string{on, sdot, off, ret}, 1},                                                                 // NEON
		{"Panel_x_sme2", []string{on, "84404020 ld1b\t{ z0.s }, p0/z, [x1, z0.s, sxtw]", off, ret}, 1},                    // a gather
		{"Panel_x_sme2", []string{on, "a0830020 smopa\tza0.s, p0/m, p0/m, z1.b, z2.b", off, ret}, 1},                      // another word
		{"Panel_x_dotprod", []string{"04bf5020 rdvl\tx0, #1", ret}, 1},                                                    // SVE
		{"Vec_x", []string{"6e21fc00 fdiv\tv0.4s, v0.4s, v1.4s", "4e21d800 scvtf\tv0.4s, v0.4s", "d503201f nop", ret}, 0}, // no set in the name
	} {
		wrong, n, _, _, err := check(dis(c.name, c.lines...), pkg, mc)
		if err != nil || n != 1 || len(wrong) != c.wrong {
			t.Errorf("%s %q: %v, %d kernels, %d wrong: %q", c.name, c.lines, err, n, len(wrong), wrong)
		}
	}
}
