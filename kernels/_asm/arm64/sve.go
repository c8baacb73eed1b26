package main

import (
	"fmt"
	"math/bits"
)

// Instructions of streaming mode: SVE2 on the vectors of a core in that mode, SME2 on ZA. Vectors have the numbers of NEON registers, 512 bits each here. p0 is all bytes and
// pn8 the same as a counter, from the start of a function to its end.

// sve3 lists instructions of three whole vectors.
var sve3 = map[string]uint32{
	"add.s": 0x04a00000, "sub.s": 0x04a00400, "fmul.s": 0x65800800, "mul.b": 0x04206000, "umulh.b": 0x04206c00,
}

// z3 is d = n op m.
func (f *fn) z3(name string, d, n, m V) {
	code, ok := sve3[name]
	if !ok {
		panic("no instruction " + name)
	}
	mn, arr := name[:len(name)-2], name[len(name)-1:]
	f.word(code|uint32(m)<<16|uint32(n)<<5|uint32(d), "%s z%d.%s, z%d.%s, z%d.%s", mn, d, arr, n, arr, m, arr)
}

// zorr and zmov treat a vector as bits.
func (f *fn) zorr(d, n, m V) {
	f.word(0x04603000|uint32(m)<<16|uint32(n)<<5|uint32(d), "orr z%d.d, z%d.d, z%d.d", d, n, m)
}

func (f *fn) zmov(d, n V) {
	f.word(0x04603000|uint32(n)<<16|uint32(n)<<5|uint32(d), "mov z%d.d, z%d.d", d, n)
}

// zbsl: d = d where mask has a bit, else m.
func (f *fn) zbsl(d, m, mask V) {
	f.word(0x04203c00|uint32(m)<<16|uint32(mask)<<5|uint32(d), "bsl z%d.d, z%d.d, z%d.d, z%d.d", d, d, m, mask)
}

// zror rotates the bytes of d to the right; zero is a vector of zeros.
func (f *fn) zror(d, zero V, n int) {
	if n < 1 || n > 7 {
		panic("rotation")
	}
	f.word(0x04203400|uint32(16-n)<<16|uint32(zero)<<5|uint32(d), "xar z%d.b, z%d.b, z%d.b, #%d", d, d, zero, n)
}

// esize gives the bits of an element.
func esize(arr string) int {
	switch arr {
	case "b":
		return 8
	case "s":
		return 32
	}
	panic("elements of " + arr)
}

// zbits is an instruction with the same mask in every element: "and", "orr" or "eor". The mask is a run of ones, in elements of its own if it repeats.
func (f *fn) zbits(mn, arr string, d V, mask uint32) {
	base := map[string]uint32{"and": 0x05800000, "orr": 0x05000000, "eor": 0x05400000}[mn]
	size := esize(arr)
	for size > 8 && mask&(1<<(size/2)-1) == mask>>(size/2) {
		size /= 2
		mask &= 1<<size - 1
	}
	ones := bits.OnesCount32(mask)
	for rot := range size {
		run := uint64(1)<<ones - 1
		turned := (run>>rot | run<<(size-rot)) & (1<<size - 1)
		if uint32(turned) != mask {
			continue
		}
		imms := uint32(^(2*size-1)&0x3f | (ones - 1))
		full := mask
		for n := size; n < esize(arr); n *= 2 {
			full |= full << n
		}
		f.word(base|uint32(rot)<<11|imms<<5|uint32(d), "%s z%d.%s, z%d.%s, #0x%x", mn, d, arr, d, arr, full)
		return
	}
	panic(fmt.Sprintf("no mask %#x", mask))
}

// zshift is lsr, asr or lsl of elements.
func (f *fn) zshift(mn, arr string, d, n V, by int) {
	size := esize(arr)
	var code uint32
	amount := 2*size - by
	switch mn {
	case "lsr":
		code = 0x04209400
	case "asr":
		code = 0x04209000
	case "lsl":
		code, amount = 0x04209c00, size+by
	}
	if code == 0 || by < 0 || by > size || mn != "lsl" && by == 0 || mn == "lsl" && by == size {
		panic("shift")
	}
	// tsz is 1 for bytes, 4 and more for words, with the amount below its first bit.
	f.word(code|uint32(amount&31)<<16|uint32(amount>>5)<<22|uint32(n)<<5|uint32(d), "%s z%d.%s, z%d.%s, #%d", mn, d, arr, n, arr, by)
}

// zdup fills d with a small number.
func (f *fn) zdup(arr string, d V, x int) {
	code := map[string]uint32{"b": 0x2538c000, "s": 0x25b8c000}[arr]
	if x < -128 || x > 127 {
		panic("number")
	}
	f.word(code|uint32(x&0xff)<<5|uint32(d), "dup z%d.%s, #%d", d, arr, x)
}

// zdupLane fills d with element i of n.
func (f *fn) zdupLane(d, n V, i int) {
	if i < 0 || i > 15 {
		panic("lane")
	}
	f.word(0x05242000|uint32(i>>2)<<22|uint32(i&3)<<19|uint32(n)<<5|uint32(d), "dup z%d.s, z%d.s[%d]", d, n, i)
}

// zsubBytes subtracts a small number from every byte; znegLess gives −d of every word.
func (f *fn) zsubBytes(d V, x int) {
	f.word(0x2521c000|uint32(x)<<5|uint32(d), "sub z%d.b, z%d.b, #%d", d, d, x)
}

func (f *fn) zneg(d V) { f.word(0x25a3c000|uint32(d), "subr z%d.s, z%d.s, #0", d, d) }

// zun is an instruction on every lane of one vector.
func (f *fn) zun(name string, d, n V) {
	t, ok := map[string]struct {
		code uint32
		form string
	}{
		"fcvt":  {0x6589a000, "fcvt z%d.s, p0/m, z%d.h"},
		"scvtf": {0x6594a000, "scvtf z%d.s, p0/m, z%d.s"},
		"fneg":  {0x049da000, "fneg z%d.s, p0/m, z%d.s"},
	}[name]
	if !ok {
		panic("no instruction " + name)
	}
	f.word(t.code|uint32(n)<<5|uint32(d), t.form, d, n)
}

// zfmulLane multiplies with element i of each quarter of m.
func (f *fn) zfmulLane(d, n, m V, i int) {
	if m > 7 {
		panic("register")
	}
	f.word(0x64a02000|uint32(i)<<19|uint32(m)<<16|uint32(n)<<5|uint32(d), "fmul z%d.s, z%d.s, z%d.s[%d]", d, n, m, i)
}

// ztbl looks the bytes of m up in n.
func (f *fn) ztbl(d, n, m V) {
	f.word(0x05203000|uint32(m)<<16|uint32(n)<<5|uint32(d), "tbl z%d.b, {z%d.b}, z%d.b", d, n, m)
}

// loads lists contiguous loads and stores of one vector: the code, the form, and the bytes of memory that a vector takes.
var loads = map[string]struct {
	code  uint32
	form  string
	bytes int
}{
	"ld1b.b": {0xa400a000, "ld1b {z%d.b}, p0/z", 64}, "ld1w.s": {0xa540a000, "ld1w {z%d.s}, p0/z", 64},
	"ld1h.s": {0xa4c0a000, "ld1h {z%d.s}, p0/z", 32}, "ld1b.s": {0xa440a000, "ld1b {z%d.s}, p0/z", 16}, "ld1sb.s": {0xa5a0a000, "ld1sb {z%d.s}, p0/z", 16},
	"st1b.b": {0xe400e000, "st1b {z%d.b}, p0", 64}, "st1w.s": {0xe540e000, "st1w {z%d.s}, p0", 64},
}

// zmem is a load or store at base + off; off is −8 to 7 times what it moves.
func (f *fn) zmem(name string, v V, base R, off int) {
	l, ok := loads[name]
	if !ok || !reaches(off, l.bytes) {
		panic(fmt.Sprintf("%s: no %s at %d", f.name, name, off))
	}
	f.word(l.code|uint32(off/l.bytes&15)<<16|uint32(base)<<5|uint32(v), "%s, [x%d%s]", fmt.Sprintf(l.form, v), base, vectors(off/l.bytes))
}

func reaches(off, unit int) bool { return off%unit == 0 && off/unit >= -8 && off/unit <= 7 }

func vectors(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", #%d, mul vl", n)
}

// four loads four vectors into v, v+4, v+8 and v+12; two loads two neighbours, fours four. off is −8 to 7 times what they load.
func (f *fn) four(v V, base R, off int) {
	if !reaches(off, 256) || v&12 != 0 {
		panic("four vectors")
	}
	f.word(0xa1408000|uint32(off/256&15)<<16|uint32(base)<<5|uint32(v), "ld1b {z%d.b, z%d.b, z%d.b, z%d.b}, pn8/z, [x%d%s]", v, v+4, v+8, v+12, base, vectors(off/64))
}

func (f *fn) two(v V, base R, off int) {
	if !reaches(off, 128) || v&1 != 0 {
		panic("two vectors")
	}
	f.word(0xa0400000|uint32(off/128&15)<<16|uint32(base)<<5|uint32(v), "ld1b {z%d.b-z%d.b}, pn8/z, [x%d%s]", v, v+1, base, vectors(off/64))
}

func (f *fn) fours(v V, base R, off int) {
	if !reaches(off, 256) || v&3 != 0 {
		panic("four vectors")
	}
	f.word(0xa0408000|uint32(off/256&15)<<16|uint32(base)<<5|uint32(v), "ld1b {z%d.b-z%d.b}, pn8/z, [x%d%s]", v, v+3, base, vectors(off/64))
}

// quarters fills v with sixteen bytes, four times.
func (f *fn) quarters(v V, base R, off int) {
	if !reaches(off, 16) {
		panic("offset")
	}
	at := ""
	if off != 0 {
		at = fmt.Sprintf(", #%d", off)
	}
	f.word(0xa4002000|uint32(off/16&15)<<16|uint32(base)<<5|uint32(v), "ld1rqb {z%d.b}, p0/z, [x%d%s]", v, base, at)
}

// ld1dBlock loads the bytes of p2.
func (f *fn) ld1dBlock(v V, base R) {
	f.word(0xa5e0a800|uint32(base)<<5|uint32(v), "ld1d {z%d.d}, p2/z, [x%d]", v, base)
}

// ld1rw fills v with the word at base.
func (f *fn) ld1rw(v V, base R) {
	f.word(0x8540c000|uint32(base)<<5|uint32(v), "ld1rw {z%d.s}, p0/z, [x%d]", v, base)
}

// za is a group of four vectors of ZA: vectors i, i+16, i+32 and i+48, 0 ≤ i < 16, of which i mod 4 is the tile. w8 holds 0 and w9 holds 8.
type za int

func (g za) code() uint32 {
	if g < 0 || g > 15 {
		panic("group of ZA")
	}
	return uint32(g>>3)<<13 | uint32(g&7)
}

func (g za) String() string { return fmt.Sprintf("[w%d, %d, vgx4]", 8+g>>3, g&7) }

func quadOf(v V, arr string) string {
	if v&3 != 0 {
		panic("four vectors")
	}
	return fmt.Sprintf("{z%d.%s-z%d.%s}", v, arr, v+3, arr)
}

// zaGet and zaPut move a group out of ZA and into it.
func (f *fn) zaGet(v V, g za) {
	c := g.code()
	f.word(0xc0060c00|c&^7|c&7<<5|uint32(v), "mova %s, za.d%s", quadOf(v, "d"), g)
}

func (f *fn) zaPut(g za, v V) {
	f.word(0xc0040c00|g.code()|uint32(v)<<5, "mova za.d%s, %s", g, quadOf(v, "d"))
}

// zaDot adds products of the bytes of four vectors with those of m: "sdot", or "usdot" with unsigned bytes in n. With a lane, m's element of each quarter serves.
func (f *fn) zaDot(mn string, g za, n, m V, lane int) {
	u := map[string]uint32{"sdot": 0, "usdot": 8}[mn]
	if m > 15 {
		panic("register")
	}
	if lane < 0 {
		f.word(0xc1301400|u|g.code()|uint32(m)<<16|uint32(n)<<5, "%s za.s%s, %s, z%d.b", mn, g, quadOf(n, "b"), m)
		return
	}
	f.word(0xc1509020|u|g.code()|uint32(m)<<16|uint32(lane)<<10|uint32(n)<<5, "%s za.s%s, %s, z%d.b[%d]", mn, g, quadOf(n, "b"), m, lane)
}

// zaFMA adds products of four vectors and four, zaFMALane of four and one element, zaFMAOne of four and one.
func (f *fn) zaFMA(g za, n, m V) {
	f.word(0xc1a11800|g.code()|uint32(m)<<16|uint32(n)<<5, "fmla za.s%s, %s, %s", g, quadOf(n, "s"), quadOf(m, "s"))
}

func (f *fn) zaFMALane(g za, n, m V, lane int) {
	f.word(0xc1508000|g.code()|uint32(m)<<16|uint32(lane)<<10|uint32(n)<<5, "fmla za.s%s, %s, z%d.s[%d]", g, quadOf(n, "s"), m, lane)
}

func (f *fn) zaFMAOne(g za, n, m V) {
	f.word(0xc1301800|g.code()|uint32(m)<<16|uint32(n)<<5, "fmla za.s%s, %s, z%d.s", g, quadOf(n, "s"), m)
}

// quadToFloat converts four vectors, quadAdd and quadShift add or shift left by one; a negative shift is to the right and rounds.
func (f *fn) quadToFloat(v V, unsigned bool) {
	if unsigned {
		f.word(0xc132e020|uint32(v)<<5|uint32(v), "ucvtf %s, %s", quadOf(v, "s"), quadOf(v, "s"))
		return
	}
	f.word(0xc132e000|uint32(v)<<5|uint32(v), "scvtf %s, %s", quadOf(v, "s"), quadOf(v, "s"))
}

func (f *fn) quadAdd(v, m V) {
	f.word(0xc1a0ab00|uint32(m)<<16|uint32(v), "add %s, %s, z%d.s", quadOf(v, "s"), quadOf(v, "s"), m)
}

func (f *fn) quadShift(v, m V) {
	f.word(0xc1a0aa20|uint32(m)<<16|uint32(v), "srshl %s, %s, z%d.s", quadOf(v, "s"), quadOf(v, "s"), m)
}

// uzp parts the words of n and m: the even ones to d, the odd ones to d+1.
func (f *fn) uzp(d, n, m V) {
	if d&1 != 0 {
		panic("two vectors")
	}
	f.word(0xc1a0d001|uint32(m)<<16|uint32(n)<<5|uint32(d), "uzp {z%d.s-z%d.s}, z%d.s, z%d.s", d, d+1, n, m)
}

// luti4 looks the nibbles of n up in zt0: byte j gives bytes 2j and 2j+1 of the 128 of d and d+1.
func (f *fn) luti4(d, n V) {
	if d&1 != 0 {
		panic("two vectors")
	}
	f.word(0xc08a4000|uint32(n)<<5|uint32(d), "luti4 {z%d.b-z%d.b}, zt0, z%d[0]", d, d+1, n)
}

// smopa and fmopa add outer products to a tile: rows from n, columns from m.
func (f *fn) smopa(tile int, n, m V) {
	f.word(0xa0800000|uint32(m)<<16|uint32(n)<<5|uint32(tile), "smopa za%d.s, p0/m, p0/m, z%d.b, z%d.b", tile, n, m)
}

func (f *fn) fmopa(tile int, n, m V) {
	f.word(0x80800000|uint32(m)<<16|uint32(n)<<5|uint32(tile), "fmopa za%d.s, p0/m, p0/m, z%d.s, z%d.s", tile, n, m)
}

// zeroTiles clears tiles of words.
func (f *fn) zeroTiles(tiles ...int) {
	if len(tiles) == 4 {
		f.word(0xc00800ff, "zero {za}")
		return
	}
	code, names := uint32(0xc0080000), ""
	for i, t := range tiles {
		code |= 0x11 << t
		if i > 0 {
			names += ", "
		}
		names += fmt.Sprintf("za%d.s", t)
	}
	f.word(code, "zero {%s}", names)
}

// smstart enters streaming mode with ZA, smstop leaves it.
func (f *fn) smstart() {
	f.word(0xd503477f, "smstart")
	f.word(0x2518e3e0, "ptrue p0.b")
	f.word(0x25207810, "ptrue pn8.b")
}

func (f *fn) smstop() { f.word(0xd503467f, "smstop") }
