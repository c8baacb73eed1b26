package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// tileDots is the number of tiles of sums in a round of the probe: each takes 64 products for each of 16 × 16.
const tileDots = 4

func init() {
	emit(source{name: "probe_amxint8", args: "ProbeArgs", gen: func(c *build.Context) {
		newGen(c, amxint8).probeTiles()
	}})
}

// probeTiles multiplies full tiles, and neither loads nor stores any.
func (g *gen) probeTiles() {
	a := g.begin("Probe_dot_"+g.name, "does N rounds of 4 products of full tiles, 65536 products of bytes.")
	n := g.field(a, prN)
	var shapes [8]tileShape
	for i := range shapes {
		shapes[i] = tileShape{16, tileRow}
	}
	g.configure(g.tileConfig("tiles_probe", shapes))
	for i := range shapes {
		g.tileZero(tmm(i))
	}
	g.Label("round")
	for i := range tileDots {
		g.tileProduct(tmm(4+i&1), tmm(6+i>>1), tmm(i))
	}
	g.DECQ(n)
	g.JNZ(operand.LabelRef("round"))
	g.tileRelease()
	g.end()
}
