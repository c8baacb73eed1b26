// Command modecheck holds the arm64 kernels of a linked program to what their processors can run. It walks the disassembly of every kernel and gives each instruction back to an
// assembler that knows only what is legal there: the features of the kernel's set outside streaming mode, in streaming mode neither NEON nor SVE beyond it. It also follows the
// mode itself: a kernel must return outside streaming mode, call nothing in it, and not branch from one mode into the other.
//
//	GOARCH=arm64 go build -o there ./cmd/jns-run && cd kernels/_asm && go run ./modecheck ../../there
//
// It needs llvm-objdump and llvm-mc, 19 or later; where there is none it says that it was skipped and ends well, unless -require is given.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Features outside streaming mode, by the set that ends a kernel's name, and in streaming mode.
const (
	base      = "+neon,+dotprod"
	withI8MM  = "+neon,+dotprod,+i8mm"
	entering  = "-neon,+sme2" // what a streaming kernel has around its streaming part: nothing but general registers and the change of mode
	streaming = "-neon,+sme2"
)

func features(fn string) string {
	switch {
	case strings.HasSuffix(fn, "_i8mm"):
		return withI8MM
	case strings.HasSuffix(fn, "_sme2"):
		return entering
	}
	return base
}

// ins is an instruction of a disassembly.
type ins struct {
	addr   uint64
	word   string
	text   string
	target uint64 // of a branch, else 0
	stream bool
}

var (
	header = regexp.MustCompile(`^[0-9a-f]+ <(.*)>:$`)
	line   = regexp.MustCompile(`^\s*([0-9a-f]+):\s+([0-9a-f]{8})\s+(.*)$`)
	goal   = regexp.MustCompile(`0x([0-9a-f]+) <`)
)

// kernels reads the functions of the package out of a disassembly.
func kernels(disassembly, pkg string) map[string][]ins {
	all := map[string][]ins{}
	fn := ""
	for l := range strings.Lines(disassembly) {
		l = strings.TrimRight(l, "\n")
		if m := header.FindStringSubmatch(l); m != nil {
			fn = ""
			if name, ok := strings.CutPrefix(m[1], pkg); ok {
				fn = strings.TrimSuffix(name, ".abi0")
			}
			continue
		}
		m := line.FindStringSubmatch(l)
		if fn == "" || m == nil {
			continue
		}
		text, _, _ := strings.Cut(m[3], "//")
		i := ins{word: m[2], text: strings.Join(strings.Fields(text), " ")}
		i.addr, _ = strconv.ParseUint(m[1], 16, 64)
		if g := goal.FindStringSubmatch(text); g != nil {
			i.target, _ = strconv.ParseUint(g[1], 16, 64)
		}
		all[fn] = append(all[fn], i)
	}
	return all
}

// follow marks what runs in streaming mode and says what is wrong with the changes of mode.
func follow(fn string, code []ins) (wrong []string) {
	bad := func(i ins, what string) {
		wrong = append(wrong, fmt.Sprintf("%s: %s at %x: %s", fn, what, i.addr, i.text))
	}
	on := false
	for k := range code {
		i := &code[k]
		op, _, _ := strings.Cut(i.text, " ")
		i.stream = on
		switch {
		case op == "smstart":
			if on {
				bad(*i, "streaming mode is entered twice")
			}
			on = true
		case op == "smstop":
			if !on {
				bad(*i, "streaming mode is left twice")
			}
			on = false
		case op == "ret" && on:
			bad(*i, "returns in streaming mode")
		case (op == "bl" || op == "blr" || op == "br" || op == "svc") && on:
			bad(*i, "leaves the kernel in streaming mode")
		}
	}
	if on {
		bad(code[len(code)-1], "ends in streaming mode")
	}
	for _, i := range code {
		at := slices.IndexFunc(code, func(j ins) bool { return j.addr == i.target })
		if i.target != 0 && at >= 0 && code[at].stream != i.stream {
			bad(i, "branches into the other mode")
		}
	}
	return wrong
}

// assemble gives the words of instructions, "" for what the assembler refuses.
func assemble(mc, features string, text []string) ([]string, error) {
	c := exec.Command(mc, "-triple=aarch64", "-mattr="+features, "-show-encoding")
	c.Stdin = strings.NewReader(strings.Join(text, "\n") + "\n")
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	refused := map[int]bool{}
	for _, m := range regexp.MustCompile(`<stdin>:(\d+):\d+: error`).FindAllStringSubmatch(errs.String(), -1) {
		n, _ := strconv.Atoi(m[1])
		refused[n-1] = true
	}
	got := regexp.MustCompile(`encoding: \[0x(..),0x(..),0x(..),0x(..)\]`).FindAllStringSubmatch(string(out), -1)
	if len(got)+len(refused) != len(text) {
		return nil, fmt.Errorf("%s gave %d encodings and %d errors for %d instructions", mc, len(got), len(refused), len(text))
	}
	words := make([]string, len(text))
	for i := range text {
		if !refused[i] {
			words[i] = got[0][4] + got[0][3] + got[0][2] + got[0][1]
			got = got[1:]
		}
	}
	return words, nil
}

// check checks the kernels of a disassembly and counts instructions, in all and in streaming mode.
func check(disassembly, pkg, mc string) (wrong []string, kernelCount, count, inStream int, err error) {
	all := kernels(disassembly, pkg)
	byFeatures := map[string]map[string]ins{}
	where := map[string]string{}
	for fn, code := range all {
		wrong = append(wrong, follow(fn, code)...)
		for _, i := range code {
			f := features(fn)
			if i.stream {
				f = streaming
				inStream++
			}
			count++
			if i.target != 0 || i.word == "00000000" { // branches, whose text has an address, and padding
				continue
			}
			if byFeatures[f] == nil {
				byFeatures[f] = map[string]ins{}
			}
			key := i.text + " " + i.word
			byFeatures[f][key] = i
			where[f+key] = fn
		}
	}
	for f, set := range byFeatures {
		var keys, text []string
		for k := range set {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			text = append(text, set[k].text)
		}
		words, err := assemble(mc, f, text)
		if err != nil {
			return nil, 0, 0, 0, err
		}
		for i, k := range keys {
			if words[i] != set[k].word {
				wrong = append(wrong, fmt.Sprintf("%s: %s (%s) is %q with only %s", where[f+k], set[k].text, set[k].word, words[i], f))
			}
		}
	}
	slices.Sort(wrong)
	return wrong, len(all), count, inStream, nil
}

// tool finds a program of LLVM, 19 or later.
func tool(name string) string {
	for v := 22; v >= 19; v-- {
		if p, err := exec.LookPath(fmt.Sprintf("%s-%d", name, v)); err == nil {
			return p
		}
	}
	return ""
}

func main() {
	require := flag.Bool("require", false, "fail where LLVM is missing")
	pkg := flag.String("package", "jns/kernels/arm64.", "prefix of the kernels' symbols")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: modecheck [-require] program")
		os.Exit(2)
	}
	mc, dump := tool("llvm-mc"), tool("llvm-objdump")
	if mc == "" || dump == "" {
		fmt.Println("modecheck: SKIPPED, no llvm-mc and llvm-objdump of version 19 or later here (package llvm-19)")
		if *require {
			os.Exit(1)
		}
		return
	}
	out, err := exec.Command(dump, "-d", "--mattr=+sme2,+sve2,+i8mm,+dotprod", flag.Arg(0)).Output()
	if err != nil {
		fmt.Fprintf(os.Stderr, "modecheck: %s: %v\n", dump, err)
		os.Exit(1)
	}
	wrong, kernels, count, inStream, err := check(string(out), *pkg, mc)
	if err == nil && (kernels == 0 || inStream == 0) {
		err = fmt.Errorf("%s has no streaming kernels of %s: is it a program for arm64?", flag.Arg(0), *pkg)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "modecheck:", err)
		os.Exit(1)
	}
	for _, w := range wrong {
		fmt.Println("modecheck: FAIL", w)
	}
	fmt.Printf("modecheck: %d kernels, %d instructions, %d of them in streaming mode, %d wrong\n", kernels, count, inStream, len(wrong))
	if len(wrong) > 0 {
		os.Exit(1)
	}
}
