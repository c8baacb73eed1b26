package gguftest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"jns/compiler/internal/gguf"
)

// File describes a GGUF file. The zero value of each field is the honest choice; pointers, where set, replace the truth.
type File struct {
	Magic     string // "GGUF"
	Version   uint32 // 3
	KVs       []KV
	Tensors   []Tensor
	Alignment uint64 // of the bytes written: general.alignment of KVs, or 32
	Tail      []byte // after the last tensor and its padding
	NoEndPad  bool   // leave out the padding after the last tensor

	TensorCount, KVCount *uint64
}

// KV is a key and a Go value: a scalar kind of gguf.Value, a slice of one, or Raw.
type KV struct {
	Key   string
	Value any
}

// Raw is a value written as it stands after its kind number.
type Raw struct {
	Kind  uint32
	Bytes []byte
}

// Tensor describes a tensor. Data nil means bytes from Seed that decode to finite numbers of magnitude around 1 or less.
type Tensor struct {
	Name string
	Type gguf.Type
	Dims []uint64
	Data []byte
	Seed uint64

	NDims  *uint32 // instead of len(Dims)
	Offset *uint64 // instead of the place where Data goes
}

// P makes a pointer for the fields that replace the truth.
func P[T any](v T) *T { return &v }

// Set adds a key-value or replaces the one with this key.
func (f *File) Set(key string, value any) {
	for i := range f.KVs {
		if f.KVs[i].Key == key {
			f.KVs[i].Value = value
			return
		}
	}
	f.KVs = append(f.KVs, KV{key, value})
}

// Get gives the value of a key, nil if there is none.
func (f *File) Get(key string) any {
	for _, kv := range f.KVs {
		if kv.Key == key {
			return kv.Value
		}
	}
	return nil
}

// Bytes writes the file.
func (f File) Bytes() []byte {
	magic, version := f.Magic, f.Version
	if magic == "" {
		magic = "GGUF"
	}
	if version == 0 {
		version = 3
	}
	nt, nk := uint64(len(f.Tensors)), uint64(len(f.KVs))
	if f.TensorCount != nil {
		nt = *f.TensorCount
	}
	if f.KVCount != nil {
		nk = *f.KVCount
	}
	align := f.align()
	b := []byte(magic)
	b = le32(b, version)
	b = le64(b, nt)
	b = le64(b, nk)
	for _, kv := range f.KVs {
		b = str(b, kv.Key)
		b = value(b, kv.Value)
	}
	var data []byte
	for _, t := range f.Tensors {
		b = str(b, t.Name)
		nd := uint32(len(t.Dims))
		if t.NDims != nil {
			nd = *t.NDims
		}
		b = le32(b, nd)
		for _, d := range t.Dims {
			b = le64(b, d)
		}
		b = le32(b, uint32(t.Type))
		data = pad(data, align)
		off := uint64(len(data))
		if t.Offset != nil {
			off = *t.Offset
		}
		b = le64(b, off)
		data = append(data, t.data()...)
	}
	if len(f.Tensors) > 0 {
		b = pad(b, align)
		if !f.NoEndPad {
			data = pad(data, align)
		}
	}
	return slices.Concat(b, data, f.Tail)
}

func (f File) align() uint64 {
	if f.Alignment != 0 {
		return f.Alignment
	}
	if a, ok := f.Get("general.alignment").(uint32); ok && a != 0 {
		return uint64(a)
	}
	return 32
}

func pad(b []byte, align uint64) []byte {
	if rest := uint64(len(b)) % align; rest != 0 {
		b = append(b, make([]byte, align-rest)...)
	}
	return b
}

func le32(b []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(b, v) }
func le64(b []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(b, v) }

func str(b []byte, s string) []byte { return append(le64(b, uint64(len(s))), s...) }

// value writes kind and value.
func value(b []byte, v any) []byte {
	switch v := v.(type) {
	case Raw:
		return append(le32(b, v.Kind), v.Bytes...)
	case []string:
		b = arrayHead(b, gguf.KindString, len(v))
		for _, s := range v {
			b = str(b, s)
		}
		return b
	case []uint8:
		return array(b, gguf.KindUint8, v)
	case []int8:
		return array(b, gguf.KindInt8, v)
	case []uint16:
		return array(b, gguf.KindUint16, v)
	case []int16:
		return array(b, gguf.KindInt16, v)
	case []uint32:
		return array(b, gguf.KindUint32, v)
	case []int32:
		return array(b, gguf.KindInt32, v)
	case []uint64:
		return array(b, gguf.KindUint64, v)
	case []int64:
		return array(b, gguf.KindInt64, v)
	case []float32:
		return array(b, gguf.KindFloat32, v)
	case []float64:
		return array(b, gguf.KindFloat64, v)
	case []bool:
		return array(b, gguf.KindBool, v)
	case string:
		return str(le32(b, uint32(gguf.KindString)), v)
	}
	kind, ok := gguf.KindOf(v)
	if !ok || kind == gguf.KindArray {
		panic(fmt.Sprintf("gguftest: cannot write a %T", v))
	}
	return scalar(le32(b, uint32(kind)), v)
}

func arrayHead(b []byte, elem gguf.Kind, n int) []byte {
	return le64(le32(le32(b, uint32(gguf.KindArray)), uint32(elem)), uint64(n))
}

func array[T any](b []byte, elem gguf.Kind, v []T) []byte {
	return scalar(arrayHead(b, elem, len(v)), v)
}

// scalar writes numbers and slices of numbers without kind or count.
func scalar(b []byte, v any) []byte {
	b, err := binary.Append(b, binary.LittleEndian, v)
	if err != nil {
		panic("gguftest: " + err.Error())
	}
	return b
}

// finite says, per type, which bytes of a block hold the topmost bits of a floating-point scale. With the mask's bit
// cleared the scale is finite and below 2, whatever the other bits are.
var finite = map[gguf.Type][]int{
	gguf.TypeF32: {3}, gguf.TypeF16: {1}, gguf.TypeBF16: {1}, gguf.TypeF64: {7},
	gguf.TypeQ4_0: {1}, gguf.TypeQ4_1: {1, 3}, gguf.TypeQ5_0: {1}, gguf.TypeQ5_1: {1, 3}, gguf.TypeQ8_0: {1}, gguf.TypeQ8_1: {1, 3},
	gguf.TypeQ2_K: {81, 83}, gguf.TypeQ3_K: {109}, gguf.TypeQ4_K: {1, 3}, gguf.TypeQ5_K: {1, 3}, gguf.TypeQ6_K: {209}, gguf.TypeQ8_K: {3},
	gguf.TypeIQ2_XXS: {1}, gguf.TypeIQ2_XS: {1}, gguf.TypeIQ2_S: {1}, gguf.TypeIQ3_XXS: {1}, gguf.TypeIQ3_S: {1}, gguf.TypeIQ1_S: {1},
	gguf.TypeIQ1_M: {55}, gguf.TypeIQ4_NL: {1}, gguf.TypeIQ4_XS: {1}, gguf.TypeTQ1_0: {53}, gguf.TypeTQ2_0: {65},
	gguf.TypeMXFP4: {0}, gguf.TypeNVFP4: {0, 1, 2, 3}, gguf.TypeQ1_0: {1}, gguf.TypeQ2_0: {1},
}

// Data makes n blocks of a type from a seed; every block decodes to finite numbers.
func Data(t gguf.Type, blocks uint64, seed uint64) []byte {
	_, size, ok := t.Block()
	if !ok {
		return nil
	}
	r := rand.New(rand.NewPCG(seed, uint64(t)))
	b := make([]byte, blocks*size)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	mask := byte(0x40)
	if t == gguf.TypeMXFP4 { // an 8-bit exponent with bias 127, without a sign
		mask = 0x80
	}
	for at := uint64(0); at < uint64(len(b)); at += size {
		for _, i := range finite[t] {
			b[at+uint64(i)] &^= mask
		}
	}
	return b
}

func (t Tensor) data() []byte {
	if t.Data != nil {
		return t.Data
	}
	elems, _, ok := t.Type.Block()
	if !ok || len(t.Dims) == 0 {
		return nil
	}
	n := t.Dims[0] / elems
	for _, d := range t.Dims[1:] {
		n *= d
	}
	if n > 1<<20 { // a tensor this large is a lie; it gets no bytes
		return nil
	}
	return Data(t.Type, n, t.Seed^hash(t.Name))
}

func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// Write writes the file at path.
func (f File) Write(tb testing.TB, path string) string {
	tb.Helper()
	return WriteBytes(tb, path, f.Bytes())
}

// WriteBytes writes any bytes at path.
func WriteBytes(tb testing.TB, path string, b []byte) string {
	tb.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		tb.Fatal(err)
	}
	return path
}

// Split divides a model into n parts as split tools do: all key-values in the first, tensors in order, split keys in each.
func Split(f File, n int) []File {
	parts := make([]File, n)
	for i := range parts {
		p := File{Version: f.Version, Alignment: f.align()}
		if i == 0 {
			p.KVs = slices.Clone(f.KVs)
		} else if f.Get("general.alignment") != nil {
			p.Set("general.alignment", f.Get("general.alignment"))
		}
		p.Set("split.no", uint16(i))
		p.Set("split.count", uint16(n))
		p.Set("split.tensors.count", int32(len(f.Tensors)))
		p.Tensors = slices.Clone(f.Tensors[len(f.Tensors)*i/n : len(f.Tensors)*(i+1)/n])
		parts[i] = p
	}
	return parts
}

// WriteParts writes parts under the names of a split set and gives their paths.
func WriteParts(tb testing.TB, dir, name string, parts []File) []string {
	tb.Helper()
	paths := make([]string, len(parts))
	for i, p := range parts {
		paths[i] = p.Write(tb, gguf.PartPath(filepath.Join(dir, name), i+1, len(parts)))
	}
	return paths
}

// Random makes a valid small model file from a seed: all kinds of values, all readable types, one to four dimensions.
func Random(seed uint64) File {
	r := rand.New(rand.NewPCG(seed, 1))
	f := File{Version: 2 + r.Uint32N(2)}
	f.Set("general.architecture", "test")
	if r.IntN(3) == 0 {
		f.Set("general.alignment", uint32(1)<<r.IntN(9))
	}
	for i := range r.IntN(12) {
		f.Set(fmt.Sprintf("test.key.%d", i), randomValue(r))
	}
	types := slices.Sorted(func(yield func(gguf.Type) bool) {
		for t := range finite {
			if !yield(t) {
				return
			}
		}
	})
	for i := range r.IntN(9) {
		t := types[r.IntN(len(types))]
		elems, _, _ := t.Block()
		dims := []uint64{elems * (1 + r.Uint64N(3))}
		for range r.IntN(4) {
			dims = append(dims, 1+r.Uint64N(3))
		}
		f.Tensors = append(f.Tensors, Tensor{Name: fmt.Sprintf("blk.%d.weight", i), Type: t, Dims: dims, Seed: seed})
	}
	return f
}

func randomValue(r *rand.Rand) any {
	n := r.IntN(20)
	switch r.IntN(16) {
	case 0:
		return uint8(r.Uint32())
	case 1:
		return int8(r.Uint32())
	case 2:
		return uint16(r.Uint32())
	case 3:
		return int16(r.Uint32())
	case 4:
		return r.Uint32()
	case 5:
		return int32(r.Uint32())
	case 6:
		return r.Float32() - 0.5
	case 7:
		return r.IntN(2) == 1
	case 8:
		return randomString(r)
	case 9:
		return r.Uint64()
	case 10:
		return int64(r.Uint64())
	case 11:
		return r.Float64() - 0.5
	case 12:
		return many(n, func() string { return randomString(r) })
	case 13:
		return many(n, func() int32 { return int32(r.Uint32()) })
	case 14:
		return many(n, func() float32 { return math.Float32frombits(r.Uint32() &^ (1 << 30)) })
	}
	return many(n, func() bool { return r.IntN(2) == 1 })
}

func many[T any](n int, one func() T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = one()
	}
	return out
}

func randomString(r *rand.Rand) string {
	const from = "abcXYZ 019▁é🙂\n"
	runes := []rune(from)
	var s []rune
	for range r.IntN(24) {
		s = append(s, runes[r.IntN(len(runes))])
	}
	return string(s)
}

// Mutate damages a copy of b in one to four places: bytes, 32- and 64-bit fields, truncation, repetition.
func Mutate(b []byte, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 2))
	b = slices.Clone(b)
	edge := []uint64{0, 1, 4, 8, 9, 31, 32, 0x7fffffff, 0x80000000, 0xffffffff, math.MaxInt64, 1 << 63, math.MaxUint64, 1 << 40}
	for range 1 + r.IntN(4) {
		if len(b) < 16 {
			return b
		}
		// Headers are where the decisions are, so most damage goes there.
		at := r.IntN(len(b))
		if r.IntN(4) != 0 {
			at = r.IntN(min(len(b), 1024))
		}
		switch r.IntN(6) {
		case 0:
			b[at] = byte(r.Uint32())
		case 1:
			b[at] ^= 1 << r.IntN(8)
		case 2:
			if at+8 <= len(b) {
				binary.LittleEndian.PutUint64(b[at:], edge[r.IntN(len(edge))])
			}
		case 3:
			if at+4 <= len(b) {
				binary.LittleEndian.PutUint32(b[at:], uint32(edge[r.IntN(len(edge))]))
			}
		case 4:
			b = b[:at]
		case 5:
			end := min(len(b), at+1+r.IntN(64))
			b = slices.Insert(b, at, b[at:end]...)
		}
	}
	return b
}
