package arch

import (
	"math/big"

	"jns/compiler/internal/gguf"
	"jns/format"
)

// Distance says by what scores of attention change with the distance between query and key, before and behind.
type Distance struct {
	Slope  float64      // falling in a line (ALiBi), see slopes; 0: not
	Edges  []uint32     // or by a number for every head and bucket of distances; where buckets begin
	Later  bool         // positions behind have buckets of their own
	Biases *gguf.Tensor // by bucket and head
}

// distance sets the operands of an attention, whose heads and factor are set, and gives the vector that goes with them, if any.
func (b *Builder) distance(p *format.AttentionParams, d Distance) *gguf.Tensor {
	if d.Slope > 0 {
		for _, s := range slopes(p.Heads, d.Slope) {
			p.Slopes = append(p.Slopes, float32(s/float64(p.Scale)))
		}
		return nil
	}
	if p.Edges = d.Edges; d.Later {
		p.Later = uint32(len(d.Edges))
	}
	return d.Biases
}

// t5Distance is the distance from which on T5 has one bucket for all.
const t5Distance = 128

// t5Edges are the first distances of n buckets: half of them have one distance each, the rest grow by the same factor each, up to t5Distance. Bucket i of the rest begins at the least d
// with (d/exact)^rest ≥ (t5Distance/exact)^i: whole numbers, compared as such.
func t5Edges(n uint32) []uint32 {
	exact := int64(n / 2)
	rest := int64(n) - exact
	var out []uint32
	for d := range exact {
		out = append(out, uint32(d))
	}
	pow := func(x, y int64) *big.Int { return new(big.Int).Exp(big.NewInt(x), big.NewInt(y), nil) }
	d := exact
	for i := range rest {
		want := new(big.Int).Mul(pow(t5Distance, i), pow(exact, rest-i))
		for pow(d, rest).Cmp(want) < 0 {
			d++
		}
		out = append(out, uint32(d))
	}
	return out
}
