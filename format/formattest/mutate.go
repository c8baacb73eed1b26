package formattest

import (
	"encoding/binary"
	"math"
	"reflect"

	"jns/format"

	"github.com/zeebo/blake3"
)

// Size is the size function for the tiny model's only layout, as package check takes it.
func Size(layout uint16, rows, cols uint64) (tileRows, tileRowBytes uint64, float, ok bool) {
	if layout != PortableF32 || cols == 0 || cols > 1<<31 {
		return 0, 0, false, false
	}
	return 1, 4 * cols, true, true
}

// Mutant builds the tiny container with its program and tables changed as data says, every digest computed anew: the reader has nothing but its own checks
// to find the damage with. ok is false when data leads to something that cannot even be written. Equal data give equal mutants; any data will do.
func Mutant(moe bool, data []byte) (m Memory, ok bool) {
	d := Draft(moe)
	r := &steps{data: data}
	for n := r.byte() % 4; n > 0; n-- {
		MutateProgram(d.Program, r.uint32(), r.uint64())
	}
	m, _, err := Build(d)
	if err != nil {
		return nil, false
	}
	for !r.done() {
		mutateTable(m, r.byte(), r.uint32(), r.uint64())
	}
	return m, Reseal(m) == nil
}

// steps reads numbers off the front of fuzz data; when it is used up they are 0.
type steps struct{ data []byte }

func (s *steps) done() bool { return len(s.data) == 0 }

func (s *steps) take(n int) []byte {
	b := make([]byte, n)
	s.data = s.data[copy(b, s.data):]
	return b
}

func (s *steps) byte() byte     { return s.take(1)[0] }
func (s *steps) uint32() uint32 { return binary.LittleEndian.Uint32(s.take(4)) }
func (s *steps) uint64() uint64 { return binary.LittleEndian.Uint64(s.take(8)) }

// MutateProgram changes one thing in a program: with which&3 = 0 it moves, repeats or drops an operation, else it sets a number.
func MutateProgram(p *format.Program, which uint32, value uint64) {
	if which&3 == 0 && len(p.Ops) > 0 {
		i, j := int(which>>2)%len(p.Ops), int(value>>2%(1<<32))%len(p.Ops)
		switch value & 3 {
		case 0:
			p.Ops[i], p.Ops[j] = p.Ops[j], p.Ops[i]
		case 1:
			p.Ops = append(p.Ops[:i:i], p.Ops[i+1:]...)
		default:
			p.Ops = append(p.Ops, p.Ops[i])
		}
		return
	}
	var leaves []reflect.Value
	collect(reflect.ValueOf(p).Elem(), &leaves)
	set(leaves[int(which>>2)%len(leaves)], interesting(value))
}

// collect lists the numbers and flags in a value.
func collect(v reflect.Value, to *[]reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			collect(v.Elem(), to)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "_" {
				collect(v.Field(i), to)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			collect(v.Index(i), to)
		}
	case reflect.Bool, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		*to = append(*to, v)
	}
}

func set(v reflect.Value, x uint64) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(x&1 == 1)
	case reflect.Float32:
		v.SetFloat(float64(math.Float32frombits(uint32(x))))
	case reflect.Float64:
		v.SetFloat(math.Float64frombits(x))
	default:
		v.SetUint(x & (1<<v.Type().Bits() - 1))
	}
}

// interesting turns most values into ones near which mistakes lie.
func interesting(x uint64) uint64 {
	list := [...]uint64{0, 1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128, 192, 256, 1 << 16, 1 << 31, 1<<32 - 1, 1 << 32, 1 << 62, math.MaxUint64}
	switch x & 3 {
	case 0:
		return x >> 2
	case 1:
		return x >> 2 & 31
	}
	return list[int(x>>2%64)%len(list)]
}

// mutateTable changes a byte, or a number of one to eight bytes, in a small section.
func mutateTable(m Memory, section byte, at uint32, value uint64) {
	kinds := [...]format.SectionKind{format.SectionTensors, format.SectionTensors, format.SectionSlots, format.SectionNames, format.SectionProgram, format.SectionSource, format.SectionTemplate}
	s := sections(m)
	for _, x := range s {
		if x.Kind != kinds[int(section)%len(kinds)] {
			continue
		}
		o := x.Offset + uint64(at)%x.Length
		if section&0x80 == 0 {
			m[o] = byte(value)
			return
		}
		o &^= 7
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], interesting(value))
		copy(m[o:x.End()], b[:])
	}
}

func sections(m Memory) []format.Section {
	h, err := format.DecodeHeader(m)
	if err != nil {
		return nil
	}
	toc, err := format.DecodeTOC(m[h.TOCOffset : h.TOCOffset+h.TOCLength])
	if err != nil {
		return nil
	}
	return toc.Sections
}

// rechunk writes the chunk list anew.
func rechunk(m Memory, first, list format.Section) {
	for i := range list.Length / 32 {
		hi := min((i+1)*format.ChunkSize, list.Offset)
		lo := min(max(i*format.ChunkSize, first.Offset), hi)
		d := blake3.Sum256(m[lo:hi])
		copy(m[list.Offset+32*i:], d[:])
	}
}
