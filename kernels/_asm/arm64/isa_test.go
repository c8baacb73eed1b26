package main

import (
	"bytes"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	wordLine = regexp.MustCompile(`WORD \$0x([0-9a-f]{8}) // (.*)`)
	encoding = regexp.MustCompile(`encoding: \[0x(..),0x(..),0x(..),0x(..)\]`)
)

// Features that the processors of a set have; what a file of its kernels uses must assemble with them.
const (
	dotprodFeatures = "-mattr=+neon,+dotprod"
	i8mmFeatures    = "-mattr=+neon,+dotprod,+i8mm"
	smeFeatures     = "-mattr=-neon,+sme2" // what is legal in streaming mode
)

// Every word is the encoding of the mnemonic beside it, by an assembler that is not ours and that knows only the instructions of the function's set.
func TestWordsAreWhatTheirMnemonicsSay(t *testing.T) {
	mc := ""
	for _, name := range []string{"llvm-mc-19", "llvm-mc-20", "llvm-mc-18"} {
		if p, err := exec.LookPath(name); err == nil {
			mc = p
			break
		}
	}
	if mc == "" {
		t.Skip("no llvm-mc here")
	}
	sources = nil
	generate()
	words := map[string]map[string]string{dotprodFeatures: {}, i8mmFeatures: {}, smeFeatures: {}}
	for _, s := range sources {
		for _, f := range s.fns {
			features := dotprodFeatures
			if strings.HasSuffix(f.name, "_i8mm") {
				features = i8mmFeatures
			}
			if strings.HasSuffix(f.name, "_sme2") {
				features = smeFeatures
				if what := faults(f); what != "" {
					t.Error(what)
				}
			}
			for _, m := range wordLine.FindAllStringSubmatch(f.body.String(), -1) {
				if old, ok := words[features][m[2]]; ok && old != m[1] {
					t.Fatalf("%s: %s and %s", m[2], old, m[1])
				}
				words[features][m[2]] = m[1]
			}
		}
	}
	for features, set := range words {
		var text []string
		for mnemonic := range set {
			text = append(text, mnemonic)
		}
		slices.Sort(text)
		c := exec.Command(mc, "-triple=aarch64", features, "-show-encoding")
		c.Stdin = strings.NewReader(strings.Join(text, "\n") + "\n")
		var errs bytes.Buffer
		c.Stderr = &errs
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", features, err, errs.String())
		}
		got := encoding.FindAllStringSubmatch(string(out), -1)
		if len(got) != len(text) {
			t.Fatalf("%d encodings of %d mnemonics", len(got), len(text))
		}
		for i, m := range got {
			if w := m[4] + m[3] + m[2] + m[1]; w != set[text[i]] {
				t.Errorf("%s: written as %s, is %s", text[i], set[text[i]], w)
			}
		}
		t.Logf("%s: %d instructions", features, len(text))
	}
}

// faults says what is wrong with a streaming kernel's text: it must enter streaming mode once and leave it last, and branch only in between. modecheck looks at what was linked.
func faults(f *fn) string {
	text := f.body.String()
	in, out := strings.Index(text, "// smstart\n"), strings.Index(text, "// smstop\n")
	switch {
	case in < 0 || out < in || strings.Count(text, "smstart") != 1 || strings.Count(text, "smstop") != 1 || strings.TrimSpace(text[out+len("// smstop"):]) != "":
		return f.name + " does not end by leaving streaming mode"
	case strings.Contains(text, "RET") || strings.Contains(text[:in], ":\n"):
		return f.name + " returns or branches around a change of mode"
	}
	return ""
}
