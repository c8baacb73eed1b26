package gguf

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"unsafe"
)

// Kind is the number of a metadata value type as files carry it.
type Kind uint32

// The kinds of values. An array has an element kind other than KindArray: nested arrays are refused.
const (
	KindUint8   Kind = 0
	KindInt8    Kind = 1
	KindUint16  Kind = 2
	KindInt16   Kind = 3
	KindUint32  Kind = 4
	KindInt32   Kind = 5
	KindFloat32 Kind = 6
	KindBool    Kind = 7
	KindString  Kind = 8
	KindArray   Kind = 9
	KindUint64  Kind = 10
	KindInt64   Kind = 11
	KindFloat64 Kind = 12
)

var kindTable = [...]struct {
	name string
	size uint64 // 0: no fixed size
}{
	{"uint8", 1}, {"int8", 1}, {"uint16", 2}, {"int16", 2}, {"uint32", 4}, {"int32", 4}, {"float32", 4},
	{"bool", 1}, {"string", 0}, {"array", 0}, {"uint64", 8}, {"int64", 8}, {"float64", 8},
}

// String is the kind's name as Go spells the type: "uint32", "string", "array"; "kind 77" if unknown.
func (k Kind) String() string {
	if uint64(k) < uint64(len(kindTable)) {
		return kindTable[k].name
	}
	return fmt.Sprintf("kind %d", uint32(k))
}

// Size is the number of bytes of a value, 0 for strings, arrays and unknown kinds.
func (k Kind) Size() uint64 {
	if uint64(k) < uint64(len(kindTable)) {
		return kindTable[k].size
	}
	return 0
}

func (k Kind) signed() bool {
	return k == KindInt8 || k == KindInt16 || k == KindInt32 || k == KindInt64
}

func (k Kind) integer() bool {
	return k.signed() || k == KindUint8 || k == KindUint16 || k == KindUint32 || k == KindUint64
}

// KindOf gives the kind of a Value; KindArray for an Array.
func KindOf(v Value) (Kind, bool) {
	switch v.(type) {
	case uint8:
		return KindUint8, true
	case int8:
		return KindInt8, true
	case uint16:
		return KindUint16, true
	case int16:
		return KindInt16, true
	case uint32:
		return KindUint32, true
	case int32:
		return KindInt32, true
	case float32:
		return KindFloat32, true
	case bool:
		return KindBool, true
	case string:
		return KindString, true
	case Array:
		return KindArray, true
	case uint64:
		return KindUint64, true
	case int64:
		return KindInt64, true
	case float64:
		return KindFloat64, true
	}
	return 0, false
}

// Array is a view of an array value. Its elements are read from the file at every call, so keep what you got rather than
// asking twice; after the Set was closed the calls fail. The bounds have been checked at parse time.
type Array struct {
	Elem   Kind
	Len    int
	r      io.ReaderAt
	key    string
	offset int64 // of the first element
	bytes  uint64
}

// Bytes is the size of the elements in the file, the lengths of strings included.
func (a Array) Bytes() uint64 { return a.bytes }

func (a Array) fail(err error) error { return &Error{Key: a.key, Offset: a.offset, Err: err} }

func (a Array) wrongKind(want string) error {
	return a.fail(fmt.Errorf("%w: array of %s where one of %s is needed", ErrCorrupt, a.Elem, want))
}

// raw reads all elements as they stand in the file.
func (a Array) raw() ([]byte, error) {
	if a.bytes == 0 {
		return nil, nil
	}
	p, err := readRange(a.r, a.offset, a.bytes)
	if err != nil {
		return nil, a.fail(err)
	}
	return p, nil
}

// Strings gives the elements of an array of strings. They share one allocation and need not be valid UTF-8.
func (a Array) Strings() ([]string, error) {
	if a.Elem != KindString {
		return nil, a.wrongKind("string")
	}
	p, err := a.raw()
	if err != nil {
		return nil, err
	}
	all := unsafe.String(unsafe.SliceData(p), len(p))
	out := make([]string, a.Len)
	for i := range out {
		// Parse walked these lengths; they are checked again because the file may have changed since.
		if len(p) < 8 || binary.LittleEndian.Uint64(p) > uint64(len(p)-8) {
			return nil, a.fail(fmt.Errorf("%w: element %d changed since the file was opened", ErrCorrupt, i))
		}
		n := int(binary.LittleEndian.Uint64(p))
		start := len(all) - len(p) + 8
		out[i] = all[start : start+n]
		p = p[8+n:]
	}
	return out, nil
}

// integers reads the elements as bit patterns extended to 64 bits and hands each to put with its index.
// Signed kinds are sign-extended.
func (a Array) integers(want string, put func(i int, v uint64, negative bool) bool) error {
	if !a.Elem.integer() {
		return a.wrongKind(want)
	}
	p, err := a.raw()
	if err != nil {
		return err
	}
	size := int(a.Elem.Size())
	for i := range a.Len {
		q := p[i*size : i*size+size]
		var v uint64
		switch a.Elem {
		case KindUint8:
			v = uint64(q[0])
		case KindInt8:
			v = uint64(int8(q[0]))
		case KindUint16:
			v = uint64(binary.LittleEndian.Uint16(q))
		case KindInt16:
			v = uint64(int16(binary.LittleEndian.Uint16(q)))
		case KindUint32:
			v = uint64(binary.LittleEndian.Uint32(q))
		case KindInt32:
			v = uint64(int32(binary.LittleEndian.Uint32(q)))
		default:
			v = binary.LittleEndian.Uint64(q)
		}
		negative := a.Elem.signed() && int64(v) < 0
		if !put(i, v, negative) {
			shown := fmt.Sprint(v)
			if negative {
				shown = fmt.Sprint(int64(v))
			}
			return a.fail(fmt.Errorf("%w: element %d is %s, which is no %s", ErrCorrupt, i, shown, want))
		}
	}
	return nil
}

// Uint64s gives the elements of an array of any integer kind; a negative element is an error.
func (a Array) Uint64s() ([]uint64, error) {
	out := make([]uint64, a.lenIf(a.Elem.integer()))
	err := a.integers("uint64", func(i int, v uint64, negative bool) bool { out[i] = v; return !negative })
	return orNil(out, err)
}

// Int64s gives the elements of an array of any integer kind; one above 2^63-1 is an error.
func (a Array) Int64s() ([]int64, error) {
	out := make([]int64, a.lenIf(a.Elem.integer()))
	err := a.integers("int64", func(i int, v uint64, negative bool) bool {
		out[i] = int64(v)
		return negative || v <= math.MaxInt64
	})
	return orNil(out, err)
}

// Uint32s gives the elements of an array of any integer kind; one that does not fit is an error.
func (a Array) Uint32s() ([]uint32, error) {
	out := make([]uint32, a.lenIf(a.Elem.integer()))
	err := a.integers("uint32", func(i int, v uint64, negative bool) bool {
		out[i] = uint32(v)
		return !negative && v <= math.MaxUint32
	})
	return orNil(out, err)
}

// Int32s gives the elements of an array of any integer kind; one that does not fit is an error.
func (a Array) Int32s() ([]int32, error) {
	out := make([]int32, a.lenIf(a.Elem.integer()))
	err := a.integers("int32", func(i int, v uint64, negative bool) bool {
		out[i] = int32(v)
		if negative {
			return int64(v) >= math.MinInt32
		}
		return v <= math.MaxInt32
	})
	return orNil(out, err)
}

// Uint8s gives the elements of an array of any integer kind; one that does not fit is an error.
func (a Array) Uint8s() ([]uint8, error) {
	out := make([]uint8, a.lenIf(a.Elem.integer()))
	err := a.integers("uint8", func(i int, v uint64, negative bool) bool {
		out[i] = uint8(v)
		return !negative && v <= math.MaxUint8
	})
	return orNil(out, err)
}

// Float32s gives the elements of an array of float32, or of float64 if every one is exact as float32.
// Integer kinds are refused: an array of scores declared uint8 is a broken file, not a row of small numbers.
func (a Array) Float32s() ([]float32, error) {
	out := make([]float32, a.lenIf(a.Elem == KindFloat32 || a.Elem == KindFloat64))
	p, err := a.floats()
	if err != nil {
		return nil, err
	}
	for i := range out {
		if a.Elem == KindFloat32 {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(p[4*i:]))
			continue
		}
		v := math.Float64frombits(binary.LittleEndian.Uint64(p[8*i:]))
		out[i] = float32(v)
		if float64(out[i]) != v && v == v {
			return nil, a.fail(fmt.Errorf("%w: element %d is %v, which is no float32", ErrCorrupt, i, v))
		}
	}
	return out, nil
}

// Float64s gives the elements of an array of float32 or float64.
func (a Array) Float64s() ([]float64, error) {
	out := make([]float64, a.lenIf(a.Elem == KindFloat32 || a.Elem == KindFloat64))
	p, err := a.floats()
	if err != nil {
		return nil, err
	}
	for i := range out {
		if a.Elem == KindFloat32 {
			out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(p[4*i:])))
		} else {
			out[i] = math.Float64frombits(binary.LittleEndian.Uint64(p[8*i:]))
		}
	}
	return out, nil
}

func (a Array) floats() ([]byte, error) {
	if a.Elem != KindFloat32 && a.Elem != KindFloat64 {
		return nil, a.wrongKind("float32 or float64")
	}
	return a.raw()
}

// Bools gives the elements of an array of bool; a byte other than 0 and 1 is an error.
func (a Array) Bools() ([]bool, error) {
	if a.Elem != KindBool {
		return nil, a.wrongKind("bool")
	}
	p, err := a.raw()
	if err != nil {
		return nil, err
	}
	out := make([]bool, a.Len)
	for i := range out {
		if p[i] > 1 {
			return nil, a.fail(fmt.Errorf("%w: element %d is the byte %d, which is no bool", ErrCorrupt, i, p[i]))
		}
		out[i] = p[i] == 1
	}
	return out, nil
}

// lenIf keeps a call with the wrong kind from allocating for a result that will not be.
func (a Array) lenIf(ok bool) int {
	if ok {
		return a.Len
	}
	return 0
}

func orNil[T any](out []T, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	return out, nil
}
