package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
)

// shape of a model: a qwen3moe with 128 experts, eight of them for each token.
type shape struct {
	name                                       string
	layers, embd, heads, kvHeads, dim, ff, voc uint32
}

const (
	experts = 128
	used    = 8
	context = 4096
)

var shapes = []shape{
	{"small", 3, 256, 4, 2, 64, 256, 1024},     // 47 MB
	{"eighth", 18, 1024, 8, 2, 128, 256, 4096}, // 1.1 GB
	{"wide", 3, 2048, 16, 4, 128, 768, 4096},   // 1.1 GB: three layers of full
	{"full", 25, 2048, 16, 4, 128, 768, 4096},  // 8.8 GB
}

// Types of tensors, by their numbers in the file.
const (
	typeF32, typeF16, typeQ4K = 0, 1, 12
	blockElems, blockBytes    = 256, 144
)

type tensor struct {
	name string
	typ  uint32
	dims []uint64
	fill func(r *rand.Rand, w *bufio.Writer) error
}

func (t *tensor) bytes() uint64 {
	n := uint64(1)
	for _, d := range t.dims {
		n *= d
	}
	switch t.typ {
	case typeF32:
		return 4 * n
	case typeF16:
		return 2 * n
	}
	return n / blockElems * blockBytes
}

// tensors of the model. The first element of every row of the embedding is the same large number, and nothing in the model adds to it: it is how the router knows its bias, which makes
// some experts far more frequent than others, each layer in an order of its own.
func (s *shape) tensors() []tensor {
	var out []tensor
	e, f, kv, q := uint64(s.embd), uint64(s.ff), uint64(s.kvHeads*s.dim), uint64(s.heads*s.dim)
	add := func(name string, typ uint32, fill func(r *rand.Rand, w *bufio.Writer) error, dims ...uint64) {
		out = append(out, tensor{name, typ, dims, fill})
	}
	norm := func(name string, n uint64) {
		add(name, typeF32, func(_ *rand.Rand, w *bufio.Writer) error { return floats(w, int(n), func(int) float32 { return 1 }) }, n)
	}
	matrix := func(name string, gain float64, deaf bool, dims ...uint64) {
		add(name, typeQ4K, quantised(gain, deaf, dims), dims...)
	}
	add("token_embd.weight", typeF16, func(r *rand.Rand, w *bufio.Writer) error {
		for i := range e * uint64(s.voc) {
			v := float32(r.NormFloat64())
			if i%e == 0 {
				v = 8
			}
			if err := binary.Write(w, binary.LittleEndian, half(v)); err != nil {
				return err
			}
		}
		return nil
	}, e, uint64(s.voc))
	matrix("output.weight", 2, false, e, uint64(s.voc))
	norm("output_norm.weight", e)
	for l := range s.layers {
		p := fmt.Sprintf("blk.%d.", l)
		norm(p+"attn_norm.weight", e)
		matrix(p+"attn_q.weight", 1, false, e, q)
		matrix(p+"attn_k.weight", 1, false, e, kv)
		matrix(p+"attn_v.weight", 1, false, e, kv)
		matrix(p+"attn_output.weight", 0.3, true, q, e)
		norm(p+"attn_q_norm.weight", uint64(s.dim))
		norm(p+"attn_k_norm.weight", uint64(s.dim))
		norm(p+"ffn_norm.weight", e)
		add(p+"ffn_gate_inp.weight", typeF32, func(r *rand.Rand, w *bufio.Writer) error {
			rank := r.Perm(experts)
			return floats(w, int(e*experts), func(i int) float32 {
				if uint64(i)%e == 0 {
					return float32(-0.25 * math.Log(float64(1+rank[uint64(i)/e])))
				}
				return float32(r.NormFloat64() / math.Sqrt(float64(e)))
			})
		}, e, experts)
		matrix(p+"ffn_gate_exps.weight", 1, false, e, f, experts)
		matrix(p+"ffn_up_exps.weight", 1, false, e, f, experts)
		matrix(p+"ffn_down_exps.weight", 0.5, true, f, e, experts)
	}
	return out
}

func floats(w *bufio.Writer, n int, f func(i int) float32) error {
	var b [4]byte
	for i := range n {
		binary.LittleEndian.PutUint32(b[:], math.Float32bits(f(i)))
		if _, err := w.Write(b[:]); err != nil {
			return err
		}
	}
	return nil
}

// quantised fills with Q4_K blocks: random codes, one scale, mean zero. deaf: the first output of each matrix is always zero.
func quantised(gain float64, deaf bool, dims []uint64) func(r *rand.Rand, w *bufio.Writer) error {
	return func(r *rand.Rand, w *bufio.Writer) error {
		cols, rows, n := dims[0], dims[1], uint64(1)
		if len(dims) > 2 {
			n = dims[2]
		}
		d := gain / math.Sqrt(float64(cols)) / (32 * 4.61) // deviation of 0 … 15 around its mean
		row := make([]byte, cols/blockElems*blockBytes)
		for i := range n * rows {
			for at := 0; at < len(row); at += 8 {
				binary.LittleEndian.PutUint64(row[at:], r.Uint64())
			}
			for at := 0; at < len(row); at += blockBytes {
				b := row[at:]
				binary.LittleEndian.PutUint16(b, half(float32(d)))
				binary.LittleEndian.PutUint16(b[2:], half(float32(7.5*d)))
				copy(b[4:16], []byte{160, 160, 160, 160, 160, 160, 160, 160, 0, 0, 0, 0}) // all scales and minimums 32
				if deaf && i%rows == 0 {
					clear(b[:4])
				}
			}
			if _, err := w.Write(row); err != nil {
				return err
			}
		}
		return nil
	}
}

// half rounds to IEEE half, halves away from zero; for numbers that are in its range.
func half(v float32) uint16 {
	b := math.Float32bits(v)
	sign, exp, man := uint16(b>>16&0x8000), int(b>>23&255)-112, b&(1<<23-1)
	if exp <= 0 { // subnormal
		if exp < -10 {
			return sign
		}
		man |= 1 << 23
		return sign + uint16((man>>(13-exp)+1)>>1)
	}
	return sign + uint16((uint32(exp)<<24|man<<1)>>13+1)>>1
}

// write makes the file; the same for ever.
func (s *shape) write(path string) (err error) {
	f, err := os.Create(path + ".part")
	if err != nil {
		return err
	}
	defer os.Remove(path + ".part")
	defer f.Close()
	w := bufio.NewWriterSize(f, 4<<20)
	at := uint64(0)
	put := func(v any) {
		if e := binary.Write(w, binary.LittleEndian, v); e != nil && err == nil {
			err = e
		}
		at += uint64(binary.Size(v))
	}
	text := func(t string) { put(uint64(len(t))); put([]byte(t)) }
	type pair struct {
		key   string
		value any
	}
	kv := []pair{{"general.architecture", "qwen3moe"}, {"general.name", "stream-test " + s.name}, {"general.alignment", uint32(32)}, {"tokenizer.ggml.model", "none"}}
	for _, p := range []pair{{"block_count", s.layers}, {"context_length", uint32(context)}, {"embedding_length", s.embd}, {"feed_forward_length", s.ff},
		{"attention.head_count", s.heads}, {"attention.head_count_kv", s.kvHeads}, {"attention.key_length", s.dim}, {"attention.value_length", s.dim},
		{"attention.layer_norm_rms_epsilon", float32(1e-6)}, {"rope.freq_base", float32(1e6)}, {"vocab_size", s.voc}, {"expert_count", uint32(experts)},
		{"expert_used_count", uint32(used)}, {"expert_feed_forward_length", s.ff}} {
		kv = append(kv, pair{"qwen3moe." + p.key, p.value})
	}
	ts := s.tensors()
	put([]byte("GGUF"))
	put(uint32(3))
	put(uint64(len(ts)))
	put(uint64(len(kv)))
	for _, p := range kv {
		text(p.key)
		switch v := p.value.(type) {
		case string:
			put(uint32(8))
			text(v)
		case uint32:
			put(uint32(4))
			put(v)
		case float32:
			put(uint32(6))
			put(v)
		}
	}
	off := uint64(0)
	for _, t := range ts {
		text(t.name)
		put(uint32(len(t.dims)))
		put(t.dims)
		put(t.typ)
		put(off)
		off += (t.bytes() + 31) &^ 31
	}
	pad := func(n uint64) { put(make([]byte, -n&31)) }
	pad(at)
	for _, t := range ts {
		h := fnv.New64a()
		h.Write([]byte(t.name))
		if e := t.fill(rand.New(rand.NewPCG(h.Sum64(), 6)), w); e != nil {
			return e
		}
		pad(t.bytes())
	}
	if err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}
