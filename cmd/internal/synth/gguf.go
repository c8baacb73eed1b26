package main

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"

	"jns/kernels/tile"
)

// Types of tensors and of values, by their numbers in the file.
const (
	typeF32 = 0
	typeF16 = 1
	typeQ8  = 8 // Q8_0

	kindUint32  = 4
	kindInt32   = 5
	kindFloat32 = 6
	kindBool    = 7
	kindString  = 8
	kindArray   = 9
)

// model is a file in the making.
type model struct {
	name, arch string
	kv         []pair
	tensors    []tensor
	quantised  bool        // matrices are Q8_0 where their columns allow it
	large      bool        // matrices are Q4_K, see large.go
	codec      *tile.Codec // what matrices are of, see types.go; nil: F16
	size
	mixed
}

// mixed is what models with experts or recurrent layers have besides.
type mixed struct {
	moe                        moe
	experts, width             uint32
	perLayerKV, perLayerFF     []uint32
	inner, state, rank, groups uint32
	qRank, kvRank, nope, rope  uint32
	val, valDim                uint32
}

type pair struct {
	key   string
	value any
}

type tensor struct {
	name string
	dims []uint64
	typ  uint32
	data []byte
}

// size is what all recipes share unless they say otherwise.
type size struct {
	layers, embd, heads, kvHeads, dim, ff, vocab, context uint32
}

func newModel(name string) *model {
	arch, _, _ := strings.Cut(name, "+")
	m := &model{name: name, arch: arch, size: size{layers: 4, embd: 128, heads: 4, kvHeads: 2, dim: 32, ff: 192, vocab: 128, context: 256}}
	m.kv = append(m.kv, pair{"general.architecture", arch}, pair{"general.name", "n/a"})
	return m
}

// set gives a hyperparameter; a key of the architecture unless it has a dot at its beginning.
func (m *model) set(key string, value any) {
	if strings.HasPrefix(key, ".") {
		key = key[1:]
	} else {
		key = m.arch + "." + key
	}
	m.kv = append(m.kv, pair{key, value})
}

// random numbers of a tensor follow from its name and the model's.
func (m *model) random(name string) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%s", m.name, name)
	return rand.New(rand.NewPCG(h.Sum64(), 1))
}

// mat adds a matrix, or one per expert: F16, deviation gain/√columns.
func (m *model) mat(name string, gain float64, dims ...uint32) {
	m.add(name, typeF16, 0, gain/math.Sqrt(float64(dims[0])), dims)
}

// mat32 is mat in float32.
func (m *model) mat32(name string, gain float64, dims ...uint32) {
	m.add(name, typeF32, 0, gain/math.Sqrt(float64(dims[0])), dims)
}

// vec adds a float32 tensor around a mean.
func (m *model) vec(name string, mean, deviation float64, dims ...uint32) {
	m.add(name, typeF32, mean, deviation, dims)
}

func (m *model) add(name string, typ uint32, mean, deviation float64, dims []uint32) {
	t := tensor{name: name, typ: typ}
	n := 1
	for _, d := range dims {
		t.dims = append(t.dims, uint64(d))
		n *= int(d)
	}
	if m.large && typ == typeF16 && dims[0]%q4kElems == 0 {
		m.tensors = append(m.tensors, m.codes(t, n, deviation))
		return
	}
	if m.codec != nil && typ == typeF16 {
		m.tensors = append(m.tensors, m.typed(t, n, deviation))
		return
	}
	if m.quantised && typ == typeF16 && dims[0]%32 == 0 {
		t.typ = typeQ8
	}
	r := m.random(name)
	var block []float32
	for range n {
		v := float32(mean + deviation*r.NormFloat64())
		if t.typ == typeQ8 {
			if block = append(block, v); len(block) == 32 {
				t.data = q8(t.data, block)
				block = block[:0]
			}
		} else if typ == typeF16 {
			t.data = binary.LittleEndian.AppendUint16(t.data, half(v))
		} else {
			t.data = binary.LittleEndian.AppendUint32(t.data, math.Float32bits(v))
		}
	}
	m.tensors = append(m.tensors, t)
}

// q8 appends a block of Q8_0: the scale as a half, then 32 integers.
func q8(b []byte, block []float32) []byte {
	most := 0.0
	for _, v := range block {
		most = max(most, math.Abs(float64(v)))
	}
	d := half(float32(most / 127))
	b = binary.LittleEndian.AppendUint16(b, d)
	for _, v := range block {
		q := 0.0
		if most > 0 {
			q = math.RoundToEven(float64(v) * 127 / most)
		}
		b = append(b, byte(int8(q)))
	}
	return b
}

// half rounds to IEEE half; infinities and NaN do not occur.
func half(v float32) uint16 {
	b := math.Float32bits(v)
	sign := uint16(b >> 16 & 0x8000)
	a := math.Abs(float64(v))
	if a < 0x1p-14 {
		return sign | uint16(math.RoundToEven(a*0x1p24))
	}
	_, e := math.Frexp(a)
	return sign | uint16(int(math.RoundToEven(math.Ldexp(a, 11-e)))-1024+(e+14)<<10)
}

const alignment = 32

func (m *model) bytes() []byte {
	b := append([]byte("GGUF"), 3, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(m.tensors)))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(m.kv)))
	for _, p := range m.kv {
		b = value(text(b, p.key), p.value)
	}
	offset := uint64(0)
	for _, t := range m.tensors {
		b = text(b, t.name)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(t.dims)))
		for _, d := range t.dims {
			b = binary.LittleEndian.AppendUint64(b, d)
		}
		b = binary.LittleEndian.AppendUint32(b, t.typ)
		b = binary.LittleEndian.AppendUint64(b, offset)
		offset += uint64(len(t.data)+alignment-1) / alignment * alignment
	}
	for _, t := range m.tensors {
		b = append(pad(b), t.data...)
	}
	return pad(b)
}

func pad(b []byte) []byte { return append(b, make([]byte, -len(b)&(alignment-1))...) }

func text(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}

// value appends a kind and a value.
func value(b []byte, v any) []byte {
	u32 := binary.LittleEndian.AppendUint32
	array := func(kind uint32, n int, each func(b []byte, i int) []byte) []byte {
		b = binary.LittleEndian.AppendUint64(u32(u32(b, kindArray), kind), uint64(n))
		for i := range n {
			b = each(b, i)
		}
		return b
	}
	switch v := v.(type) {
	case uint32:
		return u32(u32(b, kindUint32), v)
	case int:
		return u32(u32(b, kindUint32), uint32(v))
	case float64:
		return u32(u32(b, kindFloat32), math.Float32bits(float32(v)))
	case bool:
		return append(u32(b, kindBool), map[bool]byte{true: 1}[v])
	case string:
		return text(u32(b, kindString), v)
	case []uint32:
		return array(kindUint32, len(v), func(b []byte, i int) []byte { return u32(b, v[i]) })
	case []int32:
		return array(kindInt32, len(v), func(b []byte, i int) []byte { return u32(b, uint32(v[i])) })
	case []float32:
		return array(kindFloat32, len(v), func(b []byte, i int) []byte { return u32(b, math.Float32bits(v[i])) })
	case []bool:
		return array(kindBool, len(v), func(b []byte, i int) []byte { return append(b, map[bool]byte{true: 1}[v[i]]) })
	case []string:
		return array(kindString, len(v), func(b []byte, i int) []byte { return text(b, v[i]) })
	}
	panic(fmt.Sprintf("synth: value of type %T", v))
}
