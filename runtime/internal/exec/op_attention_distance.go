package exec

import (
	"encoding/binary"
	"unsafe"

	"jns/format"
	"jns/runtime/internal/kv"
)

// distances are what attention adds to the products of queries and keys: numbers that depend on head and distance. Kernels know products only, so a page of keys is lengthened by
// the unit matrix and a query, page by page, by its numbers for the page's positions: the product then ends with FMA(number, 1, q·k), and the zeros add nothing.
type distances struct {
	slopes []float32
	bias   []float32 // by bucket and head
	heads  int
	bucket []uint16 // by distance; beyond the end that of the end
	later  int
}

func (m *Model) newDistances(p *format.AttentionParams) *distances {
	t := &distances{slopes: p.Slopes, heads: int(p.Heads), later: int(p.Later)}
	if len(p.Edges) == 0 {
		return t
	}
	t.bias = m.vector(p.Bias)
	last := p.Edges[len(p.Edges)-1]
	t.bucket = make([]uint16, last+1)
	for i, from := range p.Edges {
		for d := from; d <= last; d++ {
			t.bucket[d] = uint16(i)
		}
	}
	return t
}

// at is the number of a head for position p, seen from position from.
func (t *distances) at(head, from, p int) float32 {
	d := max(p-from, from-p)
	if len(t.slopes) > 0 {
		return float32(-t.slopes[head] * float32(d))
	}
	i := int(t.bucket[min(d, len(t.bucket)-1)])
	if p > from {
		i += t.later
	}
	return t.bias[i*t.heads+head]
}

// apply lengthens the page that the worker is about to attend to, whose first position is first, and its queries.
func (t *distances) apply(s *attendScratch, dim, first int) {
	g := &s.args
	n := 2 * kv.Chunk * dim
	copy(s.keys[:n], unsafe.Slice((*byte)(g.K), n))
	unit := s.keys[n:][:2*kv.Chunk*kv.Chunk]
	clear(unit)
	for i := range kv.Chunk {
		binary.LittleEndian.PutUint16(unit[2*i*(kv.Chunk+1):], 0x3c00) // 1
	}
	g.K = unsafe.Pointer(unsafe.SliceData(s.keys))
	width := dim + kv.Chunk
	for i := range g.N {
		row := s.q[i*width+dim:][:kv.Chunk]
		for p := range row {
			row[p] = t.at(s.head[i], s.pos[i], first+p)
		}
	}
}
