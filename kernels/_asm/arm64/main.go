// Command arm64 writes the assembly of package kernels/arm64, as text with an encoder of its own (isa.go), for Go's assembler lacks what the kernels need. Every family of
// kernels is a file here, every file of assembly a call of emit; the numbers of the weight layouts come from package kernels/tile.
//
//	cd kernels/_asm && go run ./arm64 -out ../arm64
//
// The output is a function of the sources alone: running it again gives the same bytes.
package main

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

type (
	V int // vector register
	R int // general register
)

// fn is a function being written. Registers 0…15 hold pointers and counts, 16, 17 and 19…25 are free for use too; Go keeps 18 and 26 up.
type fn struct {
	name, doc string
	frame     int
	pre, body bytes.Buffer  // constants of the function, and the rest
	data      *bytes.Buffer // tables, after the functions
	labels    int
	free      []V
	used      [32]bool // vector registers that have been taken
	fixed     map[uint32]V
	regs      []R
	cost      cost
}

func newFn(data *bytes.Buffer, name, doc string) *fn {
	f := &fn{name: name, doc: doc, data: data, fixed: map[uint32]V{}}
	for v := V(31); v >= 0; v-- {
		f.free = append(f.free, v)
	}
	for _, r := range []R{25, 24, 23, 22, 21, 20, 19, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1} {
		f.regs = append(f.regs, r)
	}
	f.ins("MOVD a+0(FP), R0")
	return f
}

// v takes a vector register, vs several; put gives registers back.
func (f *fn) v() V {
	if len(f.free) == 0 {
		panic(f.name + ": out of vector registers")
	}
	v := f.free[len(f.free)-1]
	f.free = f.free[:len(f.free)-1]
	f.used[v] = true
	return v
}

// fix gives a register that holds a 32-bit constant in every lane, from the start of the function to its end.
func (f *fn) fix(x uint32) V {
	if v, ok := f.fixed[x]; ok {
		return v
	}
	for i, v := range f.free {
		if f.used[v] {
			continue // it may be overwritten before the place of this call is reached a second time
		}
		f.free = slices.Delete(f.free, i, i+1)
		body := f.body
		f.body = f.pre
		f.word32(v, x)
		f.pre, f.body = f.body, body
		f.fixed[x] = v
		return v
	}
	panic(f.name + ": no register for a constant")
}

func (f *fn) fixF(x float32) V { return f.fix(math.Float32bits(x)) }

func (f *fn) vs(n int) []V {
	s := make([]V, n)
	for i := range s {
		s[i] = f.v()
	}
	return s
}

func (f *fn) put(vs ...V) { f.free = append(f.free, vs...) }

func (f *fn) r() R {
	r := f.regs[len(f.regs)-1]
	f.regs = f.regs[:len(f.regs)-1]
	return r
}

func (f *fn) putR(rs ...R) { f.regs = append(f.regs, rs...) }

// ins writes an instruction of Go's assembler.
func (f *fn) ins(format string, args ...any) { fmt.Fprintf(&f.body, "\t"+format+"\n", args...) }

func (f *fn) label(name string) string {
	f.labels++
	return fmt.Sprintf("%s%d", name, f.labels)
}

func (f *fn) at(label string) { fmt.Fprintf(&f.body, "%s:\n", label) }

// field loads a field of the argument block.
func (f *fn) field(off int) R {
	r := f.r()
	f.ins("MOVD %d(R0), R%d", off, r)
	return r
}

func (f *fn) add(r R, n int) {
	if n != 0 {
		f.ins("ADD $%d, R%d", n, r)
	}
}

// loop repeats the body while the counter, not 0 at first, is not 0 after being counted down.
func (f *fn) loop(count R, body func()) {
	l := f.label("loop")
	f.at(l)
	body()
	f.ins("SUB $1, R%d", count)
	f.ins("CBNZ R%d, %s", count, l)
}

// table puts sixteen bytes among the data and loads them.
func (f *fn) table(b [16]byte) V {
	v := f.v()
	f.tableTo(v, b)
	return v
}

func (f *fn) tableTo(v V, b [16]byte) {
	r := f.address(b[:])
	f.ldq(v, r, 0)
	f.putR(r)
}

// address puts a table of any length among the data and gives the register of its address.
func (f *fn) address(b []byte) R {
	f.labels++
	name := fmt.Sprintf("%s_%d", f.name, f.labels)
	for i := 0; i < len(b); i += 8 {
		fmt.Fprintf(f.data, "DATA %s<>+%d(SB)/8, $0x%016x\n", name, i, binary.LittleEndian.Uint64(b[i:]))
	}
	fmt.Fprintf(f.data, "GLOBL %s<>(SB), RODATA|NOPTR, $%d\n", name, len(b))
	r := f.r()
	f.ins("MOVD $%s<>(SB), R%d", name, r)
	return r
}

// word32 fills v with a 32-bit constant.
func (f *fn) word32(v V, x uint32) {
	r := f.r()
	f.ins("MOVW $0x%08x, R%d", x, r)
	f.dupW(v, r)
	f.putR(r)
}

func (f *fn) text(w *bytes.Buffer) {
	flags := "NOSPLIT"
	if f.frame > 0 {
		flags = "0"
	}
	fmt.Fprintf(w, "\n// %s %s\nTEXT ·%s(SB), %s, $%d-8\n", f.name, f.doc, f.name, flags, f.frame)
	w.Write(f.pre.Bytes())
	w.Write(f.body.Bytes())
	w.WriteString("\tRET\n")
}

// source is a file to write: name_arm64.s, and name_arm64.go with the declarations.
type source struct {
	name, args string
	fns        []*fn
	data       *bytes.Buffer
}

var sources []*source

func newSource(name, args string) *source {
	s := &source{name: name, args: args, data: new(bytes.Buffer)}
	sources = append(sources, s)
	return s
}

func (s *source) fn(name, doc string) *fn {
	f := newFn(s.data, name, doc)
	s.fns = append(s.fns, f)
	return f
}

const header = "// Code generated by command: go run ./arm64. DO NOT EDIT.\n\n//go:build !purego\n"

func (s *source) write(dir string) error {
	var asm, stub bytes.Buffer
	asm.WriteString(header + "\n#include \"textflag.h\"\n")
	stub.WriteString(header + "\npackage arm64\n")
	for _, f := range s.fns {
		f.text(&asm)
		fmt.Fprintf(&stub, "\n// %s %s\n//\n//go:noescape\nfunc %s(a *%s)\n", f.name, strings.ReplaceAll(f.doc, "\n", "\n// "), f.name, s.args)
	}
	if s.data.Len() > 0 {
		asm.WriteString("\n")
		asm.Write(s.data.Bytes())
	}
	if err := os.WriteFile(filepath.Join(dir, s.name+"_arm64.s"), asm.Bytes(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, s.name+"_arm64.go"), stub.Bytes(), 0o644)
}

func main() {
	log.SetFlags(0)
	out := flag.String("out", "../arm64", "directory of package kernels/arm64")
	flag.Parse()
	generate()
	for _, s := range sources {
		if err := s.write(*out); err != nil {
			log.Fatalf("%s: %v", s.name, err)
		}
	}
	if err := writeCosts(*out); err != nil {
		log.Fatal(err)
	}
}

// generate fills sources.
func generate() {
	for i := range formats {
		gemmFile(&formats[i])
	}
	panelFile()
	floatFile()
	smeFile()
	streamFiles()
	streamFloatFile()
	vecFile()
	stepFile()
}
