package kernels

import (
	"encoding/binary"

	"jns/kernels/cpu"
	"jns/kernels/tile"
)

// Probe measures what the machine can do at most, in the instructions of a set: kernels are judged against it.
type Probe struct {
	Set string // whose instructions are used; "scalar": loops of Go, which are no measure of the machine
	// Read reads all whole kilobytes of b and gives the exclusive or of their 64-bit words.
	Read func(b []byte) uint64
	// Products does n rounds of int8 products that nothing waits for and gives how many products that were. nil where the set has none.
	Products func(n int) int
}

// ProbeBytes is what Read reads in one round.
const ProbeBytes = 1024

// ProbeFor gives the probe of a set of Available.
func ProbeFor(set string) Probe {
	p := Probe{Set: cpu.Scalar, Read: readScalar}
	fillProbe(set, &p)
	return p
}

func readScalar(b []byte) uint64 {
	var a, c, d, e uint64
	for b = b[:len(b)&^(ProbeBytes-1)]; len(b) >= 32; b = b[32:] {
		a ^= binary.LittleEndian.Uint64(b)
		c ^= binary.LittleEndian.Uint64(b[8:])
		d ^= binary.LittleEndian.Uint64(b[16:])
		e ^= binary.LittleEndian.Uint64(b[24:])
	}
	return a ^ c ^ d ^ e
}

// Peak gives the loop of the inner instructions of the kernel that multiplies a layout with prompts in a set: products that nothing waits for, counted as
// Products does. nil where the set has none.
func Peak(l *tile.Layout, set string) func(n int) int {
	if f := peak(l, set); f != nil {
		return f
	}
	return ProbeFor(set).Products
}

// PromptKernel names the inner kernel of Peak in the grammar of Name, "panel_u8s_q8x_32x6_avx512vnni"; "" where the set has none.
func PromptKernel(l *tile.Layout, set string) string { return promptKernel(l, set) }
