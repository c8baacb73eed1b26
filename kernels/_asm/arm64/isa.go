package main

import (
	"fmt"
	"strings"
)

// Go's assembler lacks most of NEON (SDOT, SMMLA, FCVTL, vector SCVTF, FMUL, …), so every vector instruction is written as a WORD with its mnemonic beside it. The table has
// the encoding with all registers, indices and immediates 0; a test gives each mnemonic to llvm-mc where that is installed and compares.

// three lists instructions of three vector registers: destination, first and second operand.
var three = map[string]uint32{
	"and.16b": 0x4e201c00, "orr.16b": 0x4ea01c00, "eor.16b": 0x6e201c00, "bic.16b": 0x4e601c00,
	"bit.16b": 0x6ea01c00, "bif.16b": 0x6ee01c00, "bsl.16b": 0x6e601c00,
	"add.16b": 0x4e208400, "add.4s": 0x4ea08400, "sub.16b": 0x6e208400, "sub.4s": 0x6ea08400,
	"mul.16b": 0x4e209c00, "cmhs.16b": 0x6e203c00, "cmtst.4s": 0x4ea08c00, "cmtst.16b": 0x4e208c00, "cmgt.4s": 0x4ea03400, "cmeq.4s": 0x6ea08c00,
	"umax.4s": 0x6ea06400, "fadd.4s": 0x4e20d400, "fsub.4s": 0x4ea0d400, "fmul.4s": 0x6e20dc00, "fdiv.4s": 0x6e20fc00,
	"fmax.4s": 0x4e20f400, "fmin.4s": 0x4ea0f400, "fmaxnm.4s": 0x4e20c400, "fminnm.4s": 0x4ea0c400,
	"fmla.4s": 0x4e20cc00, "fmls.4s": 0x4ea0cc00, "fcmgt.4s": 0x6ea0e400, "fcmge.4s": 0x6e20e400, "fcmeq.4s": 0x4e20e400,
	"zip1.4s": 0x4e803800, "zip2.4s": 0x4e807800, "zip1.2d": 0x4ec03800, "zip2.2d": 0x4ec07800,
	"uzp1.4s": 0x4e801800, "uzp2.4s": 0x4e805800, "uzp1.8h": 0x4e401800, "uzp1.16b": 0x4e001800,
	"addp.4s": 0x4ea0bc00, "faddp.4s": 0x6e20d400, "smax.4s": 0x4ea06400, "cmhi.4s": 0x6ea03400,
}

// two lists instructions of a destination and one operand, as {written form, encoding}.
var two = map[string]struct {
	form string
	code uint32
}{
	"fcvtl": {"fcvtl v%d.4s, v%d.4h", 0x0e217800}, "fcvtl2": {"fcvtl2 v%d.4s, v%d.8h", 0x4e217800},
	"fcvtn": {"fcvtn v%d.4h, v%d.4s", 0x0e216800}, "fcvtn2": {"fcvtn2 v%d.8h, v%d.4s", 0x4e216800},
	"scvtf": {"scvtf v%d.4s, v%d.4s", 0x4e21d800}, "ucvtf": {"ucvtf v%d.4s, v%d.4s", 0x6e21d800},
	"fcvtns": {"fcvtns v%d.4s, v%d.4s", 0x4e21a800}, "fabs": {"fabs v%d.4s, v%d.4s", 0x4ea0f800}, "fneg": {"fneg v%d.4s, v%d.4s", 0x6ea0f800},
	"neg": {"neg v%d.4s, v%d.4s", 0x6ea0b800}, "neg.16b": {"neg v%d.16b, v%d.16b", 0x6e20b800}, "mvn": {"mvn v%d.16b, v%d.16b", 0x6e205800},
	"shll": {"shll v%d.4s, v%d.4h, #16", 0x2e613800}, "shll2": {"shll2 v%d.4s, v%d.8h, #16", 0x6e613800},
	"uxtl.8h": {"ushll v%d.8h, v%d.8b, #0", 0x2f08a400}, "uxtl2.8h": {"ushll2 v%d.8h, v%d.16b, #0", 0x6f08a400},
	"uxtl.4s": {"ushll v%d.4s, v%d.4h, #0", 0x2f10a400}, "uxtl2.4s": {"ushll2 v%d.4s, v%d.8h, #0", 0x6f10a400},
	"umaxv": {"umaxv s%d, v%d.4s", 0x6eb0a800}, "addv": {"addv s%d, v%d.4s", 0x4eb1b800}, "fmaxnmv": {"fmaxnmv s%d, v%d.4s", 0x6e30c800},
	"rev64": {"rev64 v%d.4s, v%d.4s", 0x4ea00800},
}

// word writes an encoded instruction.
func (f *fn) word(code uint32, format string, args ...any) {
	fmt.Fprintf(&f.body, "\tWORD $0x%08x // %s\n", code, fmt.Sprintf(format, args...))
}

// op is an instruction of three registers named with its arrangement: "fmla.4s".
func (f *fn) op(name string, d, n, m V) {
	code, ok := three[name]
	if !ok {
		panic("no instruction " + name)
	}
	mn, arr, _ := strings.Cut(name, ".")
	f.word(code|uint32(m)<<16|uint32(n)<<5|uint32(d), "%s v%d.%s, v%d.%s, v%d.%s", mn, d, arr, n, arr, m, arr)
}

// un is an instruction of two registers.
func (f *fn) un(name string, d, n V) {
	t, ok := two[name]
	if !ok {
		panic("no instruction " + name)
	}
	f.word(t.code|uint32(n)<<5|uint32(d), t.form, d, n)
}

func lane(i int) uint32 {
	if i < 0 || i > 3 {
		panic("lane")
	}
	return uint32(i&1)<<21 | uint32(i>>1)<<11
}

// sdot adds to each lane of d the products of its four bytes of n with bytes 4i… of m.
func (f *fn) sdot(d, n, m V, i int) {
	f.word(0x4f80e000|lane(i)|uint32(m)<<16|uint32(n)<<5|uint32(d), "sdot v%d.4s, v%d.16b, v%d.4b[%d]", d, n, m, i)
}

// usdot is sdot with unsigned bytes in n; it comes with i8mm.
func (f *fn) usdot(d, n, m V, i int) {
	f.word(0x4f00f000|lane(i)|uint32(m)<<16|uint32(n)<<5|uint32(d), "usdot v%d.4s, v%d.16b, v%d.4b[%d]", d, n, m, i)
}

// smmla: d[2×2] += n[2×8]·m[2×8]ᵀ.
func (f *fn) smmla(d, n, m V) {
	f.word(0x4e80a400|uint32(m)<<16|uint32(n)<<5|uint32(d), "smmla v%d.4s, v%d.16b, v%d.16b", d, n, m)
}

// fmulLane and fmlaLane multiply with one element of m.
func (f *fn) fmulLane(d, n, m V, i int) {
	f.word(0x4f809000|lane(i)|uint32(m)<<16|uint32(n)<<5|uint32(d), "fmul v%d.4s, v%d.4s, v%d.s[%d]", d, n, m, i)
}

func (f *fn) fmlaLane(d, n, m V, i int) {
	f.word(0x4f801000|lane(i)|uint32(m)<<16|uint32(n)<<5|uint32(d), "fmla v%d.4s, v%d.4s, v%d.s[%d]", d, n, m, i)
}

// tbl looks the bytes of n up in the sixteen bytes of t.
func (f *fn) tbl(d, t, n V) {
	f.word(0x4e000000|uint32(n)<<16|uint32(t)<<5|uint32(d), "tbl v%d.16b, {v%d.16b}, v%d.16b", d, t, n)
}

func width(arr string) uint32 {
	switch arr {
	case "16b":
		return 8
	case "4s":
		return 32
	}
	panic(arr)
}

func (f *fn) shl(arr string, d, n V, s int) {
	w := width(arr)
	if s < 0 || uint32(s) >= w {
		panic("shift")
	}
	f.word(0x4f005400|(w+uint32(s))<<16|uint32(n)<<5|uint32(d), "shl v%d.%s, v%d.%s, #%d", d, arr, n, arr, s)
}

func (f *fn) ushr(arr string, d, n V, s int) { f.right(0x6f000400, "ushr", arr, d, n, s) }
func (f *fn) sshr(arr string, d, n V, s int) { f.right(0x4f000400, "sshr", arr, d, n, s) }

func (f *fn) right(code uint32, mn, arr string, d, n V, s int) {
	w := width(arr)
	if s < 1 || uint32(s) > w {
		panic("shift")
	}
	f.word(code|(2*w-uint32(s))<<16|uint32(n)<<5|uint32(d), "%s v%d.%s, v%d.%s, #%d", mn, d, arr, n, arr, s)
}

// movi sets every byte.
func (f *fn) movi(d V, b byte) {
	f.word(0x4f00e400|uint32(b>>5)<<16|uint32(b&31)<<5|uint32(d), "movi v%d.16b, #%d", d, b)
}

func (f *fn) dupS(d, n V, i int) {
	f.word(0x4e040400|uint32(i)<<19|uint32(n)<<5|uint32(d), "dup v%d.4s, v%d.s[%d]", d, n, i)
}

func (f *fn) dupD(d, n V, i int) {
	f.word(0x4e080400|uint32(i)<<20|uint32(n)<<5|uint32(d), "dup v%d.2d, v%d.d[%d]", d, n, i)
}

// dupW fills d with the low word of a general register.
func (f *fn) dupW(d V, r R) { f.word(0x4e040c00|uint32(r)<<5|uint32(d), "dup v%d.4s, w%d", d, r) }

func (f *fn) umov(r R, n V, i int) {
	f.word(0x0e043c00|uint32(i)<<19|uint32(n)<<5|uint32(r), "umov w%d, v%d.s[%d]", r, n, i)
}

func (f *fn) ext(d, n, m V, i int) {
	f.word(0x6e000000|uint32(i)<<11|uint32(m)<<16|uint32(n)<<5|uint32(d), "ext v%d.16b, v%d.16b, v%d.16b, #%d", d, n, m, i)
}

func (f *fn) mov(d, n V) { f.op("orr.16b", d, n, n) }

// Loads and stores; offsets are unsigned and scaled by the size.
func (f *fn) ls(code uint32, mn, reg string, size int, v V, base R, off int) {
	if off < 0 || off%size != 0 || off/size > 4095 {
		panic(fmt.Sprintf("offset %d", off))
	}
	at := fmt.Sprintf("[x%d, #%d]", base, off)
	if off == 0 {
		at = fmt.Sprintf("[x%d]", base)
	}
	f.word(code|uint32(off/size)<<10|uint32(base)<<5|uint32(v), "%s %s%d, %s", mn, reg, v, at)
}

func (f *fn) ldq(v V, base R, off int) { f.ls(0x3dc00000, "ldr", "q", 16, v, base, off) }
func (f *fn) stq(v V, base R, off int) { f.ls(0x3d800000, "str", "q", 16, v, base, off) }
func (f *fn) ldd(v V, base R, off int) { f.ls(0xfd400000, "ldr", "d", 8, v, base, off) }
func (f *fn) std(v V, base R, off int) { f.ls(0xfd000000, "str", "d", 8, v, base, off) }
func (f *fn) lds(v V, base R, off int) { f.ls(0xbd400000, "ldr", "s", 4, v, base, off) }
func (f *fn) sts(v V, base R, off int) { f.ls(0xbd000000, "str", "s", 4, v, base, off) }

// ld1r fills v with the word at base.
func (f *fn) ld1r(v V, base R) {
	f.word(0x4d40c800|uint32(base)<<5|uint32(v), "ld1r {v%d.4s}, [x%d]", v, base)
}

// st1h stores one half of v.
func (f *fn) st1h(v V, i int, base R) {
	f.word(0x0d004000|uint32(i>>2&1)<<30|uint32(i>>1&1)<<12|uint32(i&1)<<11|uint32(base)<<5|uint32(v), "st1 {v%d.h}[%d], [x%d]", v, i, base)
}
