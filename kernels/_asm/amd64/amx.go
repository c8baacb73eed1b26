package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tmm is a tile register, 0 to 7. The builder knows none, so kernels number them themselves.
type tmm int

// op is the register as an operand, written "TMM0" until encodeTiles makes bytes of the instruction; of the builder's kinds of operand, that of a label has no registers to allocate.
func (t tmm) op() operand.Op { return operand.LabelRef(fmt.Sprintf("TMM%d", int(t))) }

// tileOp emits an instruction on tile registers; those of ops that are memory are its inputs.
func (g *gen) tileOp(opcode string, ops ...operand.Op) {
	var in []operand.Op
	for _, op := range ops {
		if operand.IsMem(op) {
			in = append(in, op)
		}
	}
	g.Instruction(&ir.Instruction{Opcode: opcode, Operands: ops, Inputs: in})
}

// tileShape is the configuration of a tile register: rows, and bytes in each.
type tileShape struct{ rows, bytes int }

// tileConfig is the constant that LDTILECFG takes: palette 1, bytes a row as words at 16, rows as bytes at 48 (Intel SDM, LDTILECFG).
func (g *gen) tileConfig(name string, shapes [8]tileShape) operand.Mem {
	m := g.StaticGlobal(name)
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	var b [64]byte
	b[0] = 1
	for i, s := range shapes {
		b[16+2*i], b[17+2*i], b[48+i] = byte(s.bytes), byte(s.bytes>>8), byte(s.rows)
	}
	for i, v := range b {
		g.AddDatum(i, operand.U8(v))
	}
	return m
}

// configure loads a configuration. The instruction takes no symbol, for its bytes are written by encodeTiles.
func (g *gen) configure(m operand.Mem) {
	p := g.GP64()
	g.LEAQ(m, p)
	g.tileOp("LDTILECFG", mem(p, 0))
}

// tileLoad and tileStore move the rows of a tile, which lie stride bytes apart.
func (g *gen) tileLoad(base, stride reg.Register, disp int, t tmm) {
	g.tileOp("TILELOADD", operand.Mem{Base: base, Index: stride, Scale: 1, Disp: disp}, t.op())
}

func (g *gen) tileStore(t tmm, base, stride reg.Register, disp int) {
	g.tileOp("TILESTORED", t.op(), operand.Mem{Base: base, Index: stride, Scale: 1, Disp: disp})
}

func (g *gen) tileZero(t tmm) { g.tileOp("TILEZERO", t.op()) }

// tileProduct is acc += x·w, of signed bytes.
func (g *gen) tileProduct(x, w, acc tmm) { g.tileOp("TDPBSSD", w.op(), x.op(), acc.op()) }

// tileRelease gives the state back: with registers in their first state the system saves nothing of them.
func (g *gen) tileRelease() { g.tileOp("TILERELEASE") }

// tileForm is the VEX encoding of an instruction: prefix pp (none 0, 66 1, F3 2, F2 3) and opcode, all in map 0F38, W0, L0 (Intel SDM, "Intel AMX").
type tileForm struct{ pp, opcode byte }

var tileForms = map[string]tileForm{
	"LDTILECFG": {0, 0x49}, "TILERELEASE": {0, 0x49}, "TILEZERO": {3, 0x49}, "TILELOADD": {3, 0x4b}, "TILESTORED": {2, 0x4b}, "TDPBSSD": {3, 0x5e},
}

var (
	tileLine = regexp.MustCompile(`(?m)^\t(LDTILECFG|TILERELEASE|TILEZERO|TILELOADD|TILESTORED|TDPBSSD)\b *(.*)$`)
	tmmText  = regexp.MustCompile(`TMM(\d)`)
	memText  = regexp.MustCompile(`(-?\d*)\((\w+)\)(?:\((\w+)\*1\))?`)
	gpNames  = []string{"AX", "CX", "DX", "BX", "SP", "BP", "SI", "DI", "R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15"}
)

// encodeTiles writes instructions on tile registers, which Go's assembler does not know, as bytes:
//
//	C4, R̄X̄B̄ 00010, 0 v̄v̄v̄v̄ 0 pp, opcode, mod reg rm, [scale index base, [displacement]]
//
// reg is the tile that is loaded, stored or accumulated into; of a product rm is the first factor and vvvv the second.
func encodeTiles(text []byte) ([]byte, error) {
	var bad error
	out := tileLine.ReplaceAllFunc(text, func(line []byte) []byte {
		m := tileLine.FindSubmatch(line)
		code, err := encodeTile(string(m[1]), string(m[2]))
		if err != nil {
			bad = fmt.Errorf("%q: %w", line, err)
		}
		var b []byte
		for i, c := range code {
			if i > 0 {
				b = append(b, "; "...)
			} else {
				b = append(b, '\t')
			}
			b = fmt.Appendf(b, "BYTE $0x%02x", c)
		}
		return fmt.Appendf(b, " // %s %s", m[1], m[2])
	})
	return out, bad
}

func encodeTile(name, operands string) ([]byte, error) {
	f := tileForms[name]
	var tiles []byte
	for _, m := range tmmText.FindAllStringSubmatch(operands, -1) {
		tiles = append(tiles, m[1][0]-'0')
	}
	vex := func(r, x, b, v byte) []byte {
		return []byte{0xc4, 0xe2 &^ (r>>3<<7 | x>>3<<6 | b>>3<<5), (^v&15)<<3 | f.pp, f.opcode}
	}
	switch {
	case name == "TILERELEASE":
		return append(vex(0, 0, 0, 0), 0xc0), nil
	case name == "TILEZERO" && len(tiles) == 1:
		return append(vex(0, 0, 0, 0), 0xc0|tiles[0]<<3), nil
	case len(tiles) == 3: // as the builder orders them: second factor, first factor, sum
		return append(vex(0, 0, 0, tiles[0]), 0xc0|tiles[2]<<3|tiles[1]), nil
	}
	m := memText.FindStringSubmatch(operands)
	if m == nil {
		return nil, fmt.Errorf("no operand in memory")
	}
	base, disp := slices.Index(gpNames, m[2]), 0
	if m[1] != "" {
		var err error
		if disp, err = strconv.Atoi(m[1]); err != nil {
			return nil, err
		}
	}
	if base < 0 {
		return nil, fmt.Errorf("no register %s", m[2])
	}
	reg, index := byte(0), 4 // no index
	if name != "LDTILECFG" {
		if index = slices.Index(gpNames, m[3]); index < 0 || index == 4 || len(tiles) != 1 {
			return nil, fmt.Errorf("not a tile and two registers")
		}
		reg = tiles[0]
	}
	code := append(vex(0, byte(index), byte(base), 0), 0x80|reg<<3|4, byte(index)&7<<3|byte(base)&7)
	return append(code, byte(disp), byte(disp>>8), byte(disp>>16), byte(disp>>24)), nil
}
