package engine

import (
	"jns/format"
	"jns/kernels/tile"
	"jns/runtime/internal/kv"
)

// Work is what the products of one token take. The matrices of rows that are looked up, and keys and values, are not counted.
type Work struct {
	Bytes     uint64 `json:"weight_bytes"` // of weights, each read once
	Int8      uint64 `json:"int8_products"`
	Float     uint64 `json:"float_products"`
	LastBytes uint64 `json:"last_weight_bytes"` // of the three above, those only for tokens whose logits are wanted
	LastInt8  uint64 `json:"last_int8_products"`
	LastFloat uint64 `json:"last_float_products"`
}

// Work counts what the program does for one token.
func (e *Engine) Work() Work {
	var w Work
	p := e.c.Program
	selected := false
	// product counts `times` products of rows of a tensor's matrix, read once each.
	product := func(t uint32, rows, times uint64, fine bool) {
		if t == format.None {
			return
		}
		x := e.c.Tensors.At(int(t))
		if rows == 0 {
			rows = x.Rows
		}
		tiles := (rows + uint64(max(x.TileRows, 1)) - 1) / uint64(max(x.TileRows, 1))
		bytes, n := times*tiles*x.TileRowBytes, times*rows*x.Cols
		if fine {
			n *= 2
		}
		l, ok := tile.ByID(tile.ID(x.Layout))
		float := ok && l.Codec.Float()
		add := func(b, i, f *uint64) {
			*b += bytes
			if float {
				*f += n
			} else {
				*i += n
			}
		}
		add(&w.Bytes, &w.Int8, &w.Float)
		if selected {
			add(&w.LastBytes, &w.LastInt8, &w.LastFloat)
		}
	}
	for i := range p.Ops {
		switch q := p.Ops[i].Params.(type) {
		case *format.SelectParams:
			selected = true
		case *format.MatMulParams:
			for _, m := range q.Parts {
				product(m.W, uint64(m.Rows), 1, m.Fine)
			}
		case *format.HeadMatMulParams:
			product(q.W, 0, 1, q.Fine)
		case *format.ExpertsParams:
			top := uint64(p.Buffers[q.Route].Len)
			product(q.Gate, 0, top, p.Buffers[q.In].Type == format.ElemQ8X2)
			if !q.Fused {
				product(q.Up, 0, top, p.Buffers[q.In].Type == format.ElemQ8X2)
			}
			product(q.Down, 0, top, p.Buffers[q.Hidden].Type == format.ElemQ8X2)
		}
	}
	return w
}

// KVBytes is how much of keys and values a token at position pos reads, as they are kept. Recurrent states, which do not grow, are not counted.
func (e *Engine) KVBytes(pos int) uint64 {
	var sum uint64
	for i := range e.c.Program.Ops {
		p, ok := e.c.Program.Ops[i].Params.(*format.AttentionParams)
		if !ok {
			continue
		}
		s := e.model.Store().Shape(int(p.State))
		seen := pos + 1
		switch {
		case s.Window > 0 && p.Chunked:
			seen = pos%s.Window + 1
		case s.Window > 0:
			seen = min(seen, s.Window)
		}
		sum += uint64(seen) * uint64(s.PageBytes()) / kv.Chunk
	}
	return sum
}
