//go:build amd64 && !purego

package kernels

import (
	"unsafe"

	"jns/kernels/amd64"
	"jns/kernels/cpu"
)

// prefetching is how kernels that read weights from memory ask for them before their time. It changes no result.
var prefetching = cpu.AheadOfLoads()

// askAhead fills in where a kernel asks for weights of streams that begin at g.P0 and g.P1, s0 and s1 bytes a block.
func (p *product) askAhead(g *amd64.GemmArgs) {
	near := prefetching.Near
	if p.near != 0 && near > p.near {
		near = p.near
	}
	from, pace := g.P1, p.s1
	if p.joined || prefetching.Joined {
		from, pace = g.P0, p.s0+p.s1
	}
	setAhead(g, from, near, prefetching.Far, pace)
}

// setAhead: distances are from the start of a tile row. Places beyond the weights are only asked for, which no processor minds.
func setAhead(g *amd64.GemmArgs, from unsafe.Pointer, near, far, pace int) {
	g.Near, g.Far, g.Pace = uintptr(from)+uintptr(near), uintptr(from)+uintptr(far), uintptr(pace)
}
