package main

import (
	"bytes"
	"fmt"
	"slices"
)

// Products of one to four activation rows in streaming mode, weights as they lie: a group of four tile rows, 64 matrix rows, at a time, four vectors of sixteen. The instructions
// on four vectors take one from each tile row, sums of products and outputs stay in ZA:
//
//	column c: sums in groups 4c and 4c+2 (tiles 0 and 2), outputs in group 4c+1 (tile 1), a lane a row
//
// There are two ways from a block to codes.
//
//   - Parts: the bits of four items are masked and multiplied as unsigned bytes, each part of a code by itself: the sum of a part is shifted to its place at the end, which is
//     exact, and the bias comes off the sum of the whole.
//   - Lookup: bytes that hold two indices of four bits each go through LUTI4, which gives the codes of the two side by side: a row then has two lanes, whose sums are added at
//     the end, and activations are interleaved in the same way.
//
// Registers: activations and temporaries below z8, constants of the block in z8…z15, codes and sums in z16…z31.
const (
	zX      V = 0 // activations of a column: 16 codes in each quarter, or with a lookup the whole block
	zMeta   V = 4 // d, m, c, c0 of a column in each quarter; with a lookup a pattern of codes
	zMask   V = 5 // with a lookup: bits of the level numbers
	zTemp   V = 6
	zSpread V = 7 // indices that bring byte i of sixteen words together
	zD      V = 8 // scales of the block, by tile row
	zM      V = 12
	zPair   V = 12 // with a lookup: indices of the activations of a unit
	zSum    V = 16
	zProd   V = 20
	zScale  V = 24
	zOff    V = 28
)

// Offsets in arm64.StreamArgs.
const (
	saP0 = 8 * iota
	saP1
	saStride
	saGroups
	saLast
	saBlocks
	saX
	saXStride
	saCols
	saY
	saYStride
)

// part is some bits of the codes of four items, which lie at off.
type part struct {
	off  int
	same bool                        // one item at off serves for all four
	each func(s *stream, v V, t int) // what is done to the bytes of item t
	lsr  int                         // then
	mask byte                        // then, unless 0
	tile int                         // 0 or 2
	left int                         // what the sum is shifted by, to the right if negative; the same in all parts of a group and tile
}

// streamFormat is a layout with products in streaming mode; its numbers are those of the format of the same name.
type streamFormat struct {
	name    string
	more    func(s *stream)                // constants of the call
	begin   func(s *stream)                // makes the scales of a block: zD, zM, bytes
	entries int                            // byte scales in the frame, then as many byte offsets if the format has offsets; 0: zD are the scales
	signed  bool                           // byte scales are
	scale   func(s *stream, sub, grp int)  // leaves other scales in zScale
	parts   func(sub, half int) []part     // nil: a lookup, or floats
	above   int                            // what unsigned codes are too large by
	levels  func(i int) int8               // of a lookup
	twins   [4][2]int                      // items that the low and the high index of a unit are of, two units a half
	index   func(s *stream, sub, unit int) // takes the indices of every tile row
}

type stream struct {
	*fn
	*format
	*streamFormat
	n          int
	p0, p1, x  []R
	tmp, spill R
	bias       int // of the pointers p1: what brings most fields within the reach of an offset
}

func (s *stream) lookup() bool { return s.levels != nil }

func streamFiles() {
	for i := range streamFormats {
		sf := &streamFormats[i]
		k := slices.IndexFunc(formats, func(f format) bool { return f.name == sf.name })
		ft := &formats[k]
		src := newSource("gemv_sme_"+sf.name, "StreamArgs")
		for _, n := range []int{1, 2, 4} {
			name := fmt.Sprintf("Gemv_%s_q8x_64x%d_sme2", sf.name, n)
			doc := fmt.Sprintf("multiplies Groups × 64 rows with Cols ≤ %d activation rows. The machine must have streaming vectors of 512 bits.", n)
			write := func(f *fn, bias int) int {
				s := &stream{fn: f, format: ft, streamFormat: sf, n: n, bias: bias}
				s.product()
				return f.cost.instructions
			}
			best, least := 0, write(newFn(new(bytes.Buffer), name, doc), 0)
			for bias := 64; bias <= ft.s1; bias += 64 {
				if c := write(newFn(new(bytes.Buffer), name, doc), bias); c < least {
					best, least = bias, c
				}
			}
			write(src.fn(name, doc), best)
		}
	}
}

// at gives a base and an offset for a field of stream 1 of tile row i that is moved unit bytes at a step.
func (s *stream) reach(i, off, unit int) (R, int) {
	if reaches(off-s.bias, unit) {
		return s.p1[i], off - s.bias
	}
	s.ins("ADD $%d, R%d, R%d", off-s.bias, s.p1[i], s.tmp)
	return s.tmp, 0
}

// get loads a field of tile row i from stream 1, get0 one from stream 0.
func (s *stream) get(name string, v V, i, off int) {
	r, o := s.reach(i, off, loads[name].bytes)
	s.zmem(name, v, r, o)
}

func (s *stream) get0(name string, v V, i, off int) { s.zmem(name, v, s.p0[i], off) }

func (s *stream) product() {
	s.frameOf(func(blocks R) {
		s.loop(blocks, func() { s.measure(64*s.elems, 4*(s.s0+s.s1), s.block) })
	})
}

// frameOf writes what is around the product of a group: every column of it, which row counts down.
func (s *stream) frameOf(row func(blocks R)) {
	f := s.fn
	f.regs = slices.DeleteFunc(f.regs, func(r R) bool { return r == 8 || r == 9 })
	base1, y, groups, blocks := f.field(saP1), f.field(saY), f.field(saGroups), f.r()
	var base0 R
	if s.s0 > 0 {
		base0 = f.field(saP0)
	}
	s.tmp = f.r()
	for range 4 {
		s.p1 = append(s.p1, f.r())
		if s.s0 > 0 {
			s.p0 = append(s.p0, f.r())
		}
	}
	for range s.n {
		s.x = append(s.x, f.r())
	}
	if s.entries > 0 {
		f.frame = 64 * s.entries
		s.spill = f.r()
		f.ins("MOVD $scales-%d(SP), R%d", f.frame, s.spill)
		f.ins("ADD $%d, R%d", 128, s.spill)
	}
	f.smstart()
	f.ins("MOVD $0, R8")
	f.ins("MOVD $8, R9")
	s.constants()
	f.loop(groups, func() {
		s.pointers(base0, base1)
		f.zeroTiles(0, 1, 2, 3)
		f.ins("MOVD %d(R0), R%d", saBlocks, blocks)
		row(blocks)
		s.store(y)
		f.ins("MOVD %d(R0), R%d", saStride, s.tmp)
		f.ins("ADD R%d<<2, R%d", s.tmp, base1)
		if s.s0 > 0 {
			f.ins("ADD R%d<<2, R%d", s.tmp, base0)
		}
		f.add(y, 256)
	})
	f.smstop()
}

// constants loads what the whole call needs.
func (s *stream) constants() {
	if s.entries > 0 {
		var spread [64]byte
		for i := range spread {
			spread[i] = byte(i%16*4 + i/16)
		}
		s.tableOf(zSpread, spread[:])
	}
	if s.more != nil {
		s.more(s)
	}
	if !s.lookup() {
		return
	}
	var levels [64]byte
	for i := range 16 {
		levels[4*i] = byte(s.levels(i))
	}
	r := s.address(levels[:])
	s.word(0xe11f8000|uint32(r)<<5, "ldr zt0, [x%d]", r)
	s.putR(r)
	for u, p := range s.twins {
		var pair [64]byte
		for i := range pair {
			pair[i] = byte(4*p[i&1] + i>>1&3)
		}
		s.tableOf(zPair+V(u), pair[:])
	}
	s.zdup("b", zMask, 0x33)
	s.word(0x25d8e0c2, "ptrue p2.d, vl6") // 48 bytes: a block of activations
}

func (s *stream) tableOf(v V, b []byte) {
	r := s.address(b)
	s.zmem("ld1b.b", v, r, 0)
	s.putR(r)
}

// pointers sets the pointers to the tile rows of a group and to the activation rows. What lies past the last of either is the last once more.
func (s *stream) pointers(base0, base1 R) {
	stride, last, step := s.r(), s.r(), s.r()
	s.ins("MOVD %d(R0), R%d", saStride, stride)
	s.ins("MOVD %d(R0), R%d", saLast, last)
	s.ins("ADD $%d, R%d, R%d", s.bias, base1, s.p1[0])
	if s.s0 > 0 {
		s.ins("MOVD R%d, R%d", base0, s.p0[0])
	}
	for i := 1; i < 4; i++ {
		s.ins("CMP $%d, R%d", i, last)
		s.ins("CSEL GE, R%d, ZR, R%d", stride, step)
		s.ins("ADD R%d, R%d, R%d", step, s.p1[i-1], s.p1[i])
		if s.s0 > 0 {
			s.ins("ADD R%d, R%d, R%d", step, s.p0[i-1], s.p0[i])
		}
	}
	s.ins("MOVD %d(R0), R%d", saX, s.x[0])
	s.ins("MOVD %d(R0), R%d", saXStride, stride)
	s.ins("MOVD %d(R0), R%d", saCols, last)
	for c := 1; c < s.n; c++ {
		s.ins("CMP $%d, R%d", c, last)
		s.ins("CSEL GT, R%d, ZR, R%d", stride, step)
		s.ins("ADD R%d, R%d, R%d", step, s.x[c-1], s.x[c])
	}
	s.putR(step, last, stride)
}

// store writes the outputs of a group.
func (s *stream) store(y R) {
	row, at, last, step := s.p1[0], s.p1[1], s.p1[2], s.p1[3]
	done := s.label("stored")
	s.ins("MOVD R%d, R%d", y, row)
	s.ins("MOVD %d(R0), R%d", saLast, last)
	for c := range s.n {
		s.zaGet(zSum, s.out(c))
		s.ins("MOVD R%d, R%d", row, at)
		for i := range V(4) {
			if i > 0 {
				s.ins("CMP $%d, R%d", i, last)
				s.ins("CSET GE, R%d", step)
				s.ins("ADD R%d<<6, R%d", step, at)
			}
			s.zmem("st1w.s", zSum+i, at, 0)
		}
		if c < s.n-1 {
			s.ins("MOVD %d(R0), R%d", saCols, step)
			s.ins("CMP $%d, R%d", c+1, step)
			s.ins("BLE %s", done)
			s.ins("MOVD %d(R0), R%d", saYStride, step)
			s.ins("ADD R%d, R%d", step, row)
		}
	}
	s.fn.at(done)
}

// sums and out are the groups of ZA of column c.
func (s *stream) sums(c, tile int) za { return za(4*c + tile) }
func (s *stream) out(c int) za        { return za(4*c + 1) }

// block multiplies one block of each tile row.
func (s *stream) block() {
	s.begin(s)
	for sub := range s.elems / 32 {
		for half := range 2 {
			if half == 0 || s.group == 16 {
				if s.lookup() || slices.ContainsFunc(s.partsOf(sub, half), func(p part) bool { return p.tile == 2 }) {
					s.zeroTiles(0, 2)
				} else {
					s.zeroTiles(0)
				}
			}
			if s.lookup() {
				s.lookUp(sub, half)
			} else {
				s.masked(sub, half)
			}
			if s.group == 16 {
				s.finish(sub, half)
			} else if half == 1 {
				s.finish(sub, 0)
			}
		}
		if s.off > 0 {
			s.offsets(sub)
		}
		for _, x := range s.x {
			s.add(x, q8xBytes)
		}
	}
	for i := range 4 {
		s.add(s.p1[i], s.s1)
		if s.s0 > 0 {
			s.add(s.p0[i], s.s0)
		}
	}
}

// partsOf gives the parts of a scale group.
func (s *stream) partsOf(sub, grp int) []part {
	if s.group == 16 {
		return s.parts(sub, grp)
	}
	return slices.Concat(s.parts(sub, 0), s.parts(sub, 1))
}

// masked multiplies sixteen columns, part by part.
func (s *stream) masked(sub, half int) {
	for c, x := range s.x {
		s.quarters(zX+V(c), x, 16*half)
	}
	for _, p := range s.parts(sub, half) {
		for i := range 4 {
			if p.same {
				for t := range V(4) {
					s.get("ld1b.b", zSum+4*t+V(i), i, p.off)
				}
				continue
			}
			r, o := s.reach(i, p.off, 256)
			s.four(zSum+V(i), r, o)
		}
		for t := range 4 {
			v := zSum + V(4*t)
			for i := range V(4) {
				if p.each != nil {
					p.each(s, v+i, t)
				}
				if p.lsr > 0 {
					s.zshift("lsr", "b", v+i, v+i, p.lsr)
				}
				if p.mask != 0 {
					s.zbits("and", "b", v+i, uint32(p.mask))
				}
			}
			for c := range s.n {
				s.zaDot("usdot", s.sums(c, p.tile), v, zX+V(c), t)
			}
		}
	}
}

// lookUp multiplies the two units of a half.
func (s *stream) lookUp(sub, half int) {
	if half == 0 {
		for c, x := range s.x {
			s.ld1dBlock(zX+V(c), x)
		}
	}
	for u := 2 * half; u < 2*half+2; u++ {
		s.index(s, sub, u)
		for c := range s.n {
			s.ztbl(zMeta, zX+V(c), zPair+V(u))
			s.zaDot("sdot", s.sums(c, 0), zSum, zMeta, -1)
			s.zaDot("sdot", s.sums(c, 2), zProd, zMeta, -1)
		}
	}
}

// take looks up the codes of a unit of tile row i.
func (s *stream) take(i int, index V) { s.luti4(zSum+V(2*i), index) }

// finish turns the sums of a scale group into numbers and adds them to the outputs.
func (s *stream) finish(sub, grp int) {
	scale := zD
	if s.entries > 0 || s.scale != nil {
		scale = zScale
		if s.scale != nil {
			s.scale(s, sub, grp)
		} else {
			s.byteScales(zScale, zD, sub*32/s.group+grp)
		}
	}
	for c, x := range s.x {
		s.zaGet(zSum, s.sums(c, 0))
		if s.lookup() {
			s.zaGet(zProd, s.sums(c, 2))
			for i := range V(4) {
				t := zOff + i&1*2
				s.uzp(t, zSum+2*i, zSum+2*i+1)
				s.z3("add.s", zSum+i, t, t+1)
			}
			s.zdupLane(zMeta, zX+V(c), q8xMeta/4+metaD)
		} else {
			s.quarters(zMeta, x, q8xMeta)
			s.places(c, s.partsOf(sub, grp))
			s.unbias(grp)
		}
		s.quadToFloat(zSum, false)
		for i := range V(4) {
			if s.lookup() {
				s.z3("fmul.s", zProd+i, scale+i, zMeta)
			} else {
				s.zfmulLane(zProd+i, scale+i, zMeta, metaD)
			}
		}
		s.zaFMA(s.out(c), zSum, zProd)
	}
}

// places shifts the sums of parts to their places and adds them.
func (s *stream) places(c int, parts []part) {
	left := map[int]int{}
	for _, p := range parts {
		left[p.tile] = p.left
	}
	if n := left[0]; n != 0 {
		s.zdup("s", zTemp, n)
		s.quadShift(zSum, zTemp)
	}
	n, ok := left[2]
	if !ok {
		return
	}
	s.zaGet(zProd, s.sums(c, 2))
	if n != 0 {
		s.zdup("s", zTemp, n)
		s.quadShift(zProd, zTemp)
	}
	for i := range V(4) {
		s.z3("add.s", zSum+i, zSum+i, zProd+i)
	}
}

// unbias takes above·Σq of a group off the sums: Q8X has c = −128·Σq, and c0 of the first half.
func (s *stream) unbias(grp int) {
	if s.above == 0 {
		return
	}
	by := 7
	for b := s.above; b > 1; b >>= 1 {
		by--
	}
	switch {
	case s.group == 32:
		s.zdupLane(zTemp, zMeta, 2)
	case grp == 0:
		s.zdupLane(zTemp, zMeta, 3)
	default:
		s.zdupLane(zTemp, zMeta, 2)
		s.zdupLane(zMask, zMeta, 3)
		s.z3("sub.s", zTemp, zTemp, zMask)
	}
	if by > 0 {
		s.zshift("asr", "s", zTemp, zTemp, by)
	}
	s.quadAdd(zSum, zTemp)
}

// offsets adds the offsets of 32 columns; m of sixteen is d·Σq.
func (s *stream) offsets(sub int) {
	first := s.entries / 2
	for i := range 32 / s.off {
		off := zM
		if s.entries > 0 {
			off = zOff
			s.byteScales(zOff, zM, first+sub*32/s.off+i)
		}
		for c, x := range s.x {
			s.quarters(zMeta, x, q8xMeta)
			if s.off == 32 {
				s.zaFMALane(s.out(c), off, zMeta, metaM)
				continue
			}
			s.zdupLane(zTemp, zMeta, 3)
			if i == 1 {
				s.zdupLane(zMask, zMeta, 2)
				s.z3("sub.s", zTemp, zMask, zTemp)
			}
			s.zneg(zTemp)
			s.zshift("asr", "s", zTemp, zTemp, 7)
			s.zun("scvtf", zTemp, zTemp)
			s.zfmulLane(zTemp, zTemp, zMeta, metaD)
			s.zaFMAOne(s.out(c), off, zTemp)
		}
	}
}
