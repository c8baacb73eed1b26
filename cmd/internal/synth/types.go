package main

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"

	"jns/kernels/tile"
)

// Models of one type each: a small decoder of which every matrix is of the type. Blocks are random bytes, those whose numbers a network can compute with, so that every bit pattern of
// a type's codes, books and scales occurs.

// newTyped makes the model of a type. Its matrices have rows that no tile is a multiple of, and columns of one block and of three.
func newTyped(c *tile.Codec) *model {
	m := newModel("llama")
	m.name = "llama/" + c.Name
	m.codec = c
	m.size = size{layers: 2, embd: 256, heads: 4, kvHeads: 2, dim: 64, ff: 768, vocab: 600, context: 512}
	llamaLike(m)
	m.words()
	return m
}

// fileOf is the name of a type's model.
func fileOf(c *tile.Codec) string { return "synth-type-" + strings.ToLower(c.Name) }

// typed fills a matrix with n numbers of the model's type.
func (m *model) typed(t tensor, n int, deviation float64) tensor {
	c := m.codec
	t.typ = uint32(c.Type)
	r := m.random(t.name)
	t.data = make([]byte, n/c.Elems*c.Bytes)
	for at := 0; at < len(t.data); at += c.Bytes {
		b := t.data[at : at+c.Bytes]
		if c.Float() {
			number(b, c.Type, float32(deviation*r.NormFloat64()))
			continue
		}
		for usable := false; !usable; {
			fill(b, r)
			usable = within(rms(c, b), deviation)
		}
	}
	return t
}

// number writes a float, BF16 being the upper half of F32.
func number(b []byte, t tile.Type, v float32) {
	switch t {
	case tile.F16:
		binary.LittleEndian.PutUint16(b, half(v))
	case tile.BF16:
		binary.LittleEndian.PutUint16(b, uint16(math.Float32bits(v)>>16))
	default:
		binary.LittleEndian.PutUint32(b, math.Float32bits(v))
	}
}

func fill(b []byte, r *rand.Rand) {
	var word [8]byte
	for at := 0; at < len(b); at += len(word) {
		binary.LittleEndian.PutUint64(word[:], r.Uint64())
		copy(b[at:], word[:])
	}
}

// within allows blocks to differ by a factor of four up and eight down.
func within(rms, deviation float64) bool { return rms > deviation/8 && rms < 4*deviation }

// rms is the root of the mean square of a block's numbers; NaN or infinite where one of them is.
func rms(c *tile.Codec, block []byte) float64 {
	var b tile.Block
	c.Decode(&b, block)
	sum := 0.0
	for i, code := range b.Code[:c.Elems] {
		v := float64(b.Scale[i/c.Group]) * float64(code)
		if c.OffGroup != 0 {
			v += float64(b.Off[i/c.OffGroup])
		}
		sum += float64(v * v)
	}
	return math.Sqrt(sum / float64(c.Elems))
}
