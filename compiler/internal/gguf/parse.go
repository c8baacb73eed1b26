package gguf

import (
	"errors"
	"fmt"
	"io"
	"math"
	"unicode/utf8"
)

// File is one parsed GGUF file.
type File struct {
	Path    string // empty when parsed from memory
	Version uint32 // 2 or 3
	Meta           // KVs in file order, and the typed getters
	Tensors []Tensor

	Alignment  uint64 // general.alignment, or 32
	HeaderLen  uint64 // end of the tensor table
	DataOffset uint64 // HeaderLen rounded up to Alignment; never beyond Size
	DataEnd    uint64 // end of the last tensor's bytes; DataOffset if there are none
	Size       uint64 // of the whole file; bytes after DataEnd are padding or unknown extra bytes

	r io.ReaderAt
}

const (
	defaultAlignment = 32
	maxKeyLen        = 1<<16 - 1
	maxNameLen       = 1 << 10

	// The least a key-value (one-letter key, one-byte value) and a tensor (one-letter name, one dimension) can take.
	minKVBytes     = 8 + 1 + 4 + 1
	minTensorBytes = 8 + 1 + 4 + 8 + 4 + 8

	// Beyond any model by far; a table of so many rows is an attack on memory.
	maxKVs     = 1 << 18
	maxTensors = 1 << 22
)

// Parse reads and checks the header of one file of size bytes. The reader is kept for array values and must stay open.
// Errors are *Error and wrap ErrNotGGUF, ErrCorrupt or ErrUnsupported, or an error of r.
func Parse(r io.ReaderAt, size int64) (*File, error) {
	if err := sniff(r, size); err != nil {
		return nil, err
	}
	p := parser{c: newCursor(r, size), f: &File{Size: uint64(size), r: r}}
	nTensors, nKV, err := p.preamble()
	if err != nil {
		return nil, err
	}
	if err := p.keyValues(nKV); err != nil {
		return nil, err
	}
	if err := p.alignment(); err != nil {
		return nil, err
	}
	if err := p.tensorTable(nTensors); err != nil {
		return nil, err
	}
	if err := p.placeTensors(); err != nil {
		return nil, err
	}
	if err := p.checkOverlap(); err != nil {
		return nil, err
	}
	if err := p.checkTail(); err != nil {
		return nil, err
	}
	return p.f, nil
}

type parser struct {
	c *cursor
	f *File
}

// at puts the place on an error that has none yet.
func at(err error, key, tensor string, offset int64) error {
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	return &Error{Key: key, Tensor: tensor, Offset: offset, Err: err}
}

func corruptf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrCorrupt}, args...)...)
}

// preamble reads magic, version and the two counts.
func (p *parser) preamble() (nTensors, nKV uint64, err error) {
	c := p.c
	if _, err := c.u32("magic"); err != nil { // sniff has compared it
		return 0, 0, at(err, "", "", 0)
	}
	start := c.pos
	p.f.Version, err = c.u32("version")
	if err == nil {
		err = checkVersion(p.f.Version)
	}
	if err != nil {
		return 0, 0, at(err, "", "", start)
	}
	start = c.pos
	nTensors, err = c.u64("tensor count")
	if err != nil {
		return 0, 0, at(err, "", "", start)
	}
	start = c.pos
	nKV, err = c.u64("key-value count")
	if err != nil {
		return 0, 0, at(err, "", "", start)
	}
	left := uint64(c.size - c.pos)
	if nTensors > left/minTensorBytes {
		return 0, 0, at(corruptf("%d tensors cannot fit in the %d bytes left", nTensors, left), "", "", 8)
	}
	if nKV > left/minKVBytes {
		return 0, 0, at(corruptf("%d key-values cannot fit in the %d bytes left", nKV, left), "", "", 16)
	}
	if nTensors > maxTensors || nKV > maxKVs {
		return 0, 0, at(fmt.Errorf("%w: %d tensors and %d key-values; at most %d and %d are read",
			ErrUnsupported, nTensors, nKV, maxTensors, maxKVs), "", "", 8)
	}
	return nTensors, nKV, nil
}

func checkVersion(v uint32) error {
	switch {
	case v == 2 || v == 3:
		return nil
	case v == 0:
		return corruptf("version 0")
	case v == 1:
		return fmt.Errorf("%w: GGUF version 1; convert the model again with a current converter", ErrUnsupported)
	case v&0xffff == 0:
		return fmt.Errorf("%w: big-endian GGUF; convert the model again for little-endian machines", ErrUnsupported)
	}
	return fmt.Errorf("%w: GGUF version %d; versions 2 and 3 are read", ErrUnsupported, v)
}

// checkName refuses names that could not be printed or stored as text.
func checkName(what, s string) error {
	if s == "" {
		return corruptf("empty %s", what)
	}
	if !utf8.ValidString(s) {
		return corruptf("%s %q is not UTF-8", what, clip(s))
	}
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == 0x7f {
			return corruptf("%s %q contains a control character", what, clip(s))
		}
	}
	return nil
}

func (p *parser) keyValues(n uint64) error {
	m := &p.f.Meta
	m.KVs = make([]KV, 0, min(n, 1024))
	m.index = make(map[string]int, min(n, 1024))
	for i := range n {
		start := p.c.pos
		key, err := p.c.str("name of a key", maxKeyLen)
		if err == nil {
			err = checkName("name of a key", key)
		}
		if err != nil {
			return at(fmt.Errorf("key %d of %d: %w", i, n, err), "", "", start)
		}
		if first, dup := m.index[key]; dup {
			return at(corruptf("key occurs twice, as number %d and %d", first, i), key, "", start)
		}
		start = p.c.pos
		v, err := p.value(key)
		if err != nil {
			return at(err, key, "", start)
		}
		m.index[key] = len(m.KVs)
		m.KVs = append(m.KVs, KV{key, v})
	}
	return nil
}

// value reads a kind and a value of that kind.
func (p *parser) value(key string) (Value, error) {
	c := p.c
	k, err := c.u32("value kind")
	if err != nil {
		return nil, err
	}
	switch Kind(k) {
	case KindUint8:
		return boxed(c.u8("value"))
	case KindInt8:
		v, err := c.u8("value")
		return boxed(int8(v), err)
	case KindUint16:
		return boxed(c.u16("value"))
	case KindInt16:
		v, err := c.u16("value")
		return boxed(int16(v), err)
	case KindUint32:
		return boxed(c.u32("value"))
	case KindInt32:
		v, err := c.u32("value")
		return boxed(int32(v), err)
	case KindFloat32:
		v, err := c.u32("value")
		return boxed(math.Float32frombits(v), err)
	case KindBool:
		v, err := c.u8("value")
		if err == nil && v > 1 {
			err = corruptf("bool with the byte %d", v)
		}
		return boxed(v == 1, err)
	case KindString:
		return boxed(c.str("string value", maxHeader))
	case KindArray:
		return boxed(p.array(key))
	case KindUint64:
		return boxed(c.u64("value"))
	case KindInt64:
		v, err := c.u64("value")
		return boxed(int64(v), err)
	case KindFloat64:
		v, err := c.u64("value")
		return boxed(math.Float64frombits(v), err)
	}
	return nil, corruptf("value of unknown kind %d", k)
}

func boxed[T any](v T, err error) (Value, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

// array checks the bounds of an array and passes over it. For strings that means to walk their lengths.
func (p *parser) array(key string) (Array, error) {
	c := p.c
	k, err := c.u32("element kind")
	if err != nil {
		return Array{}, err
	}
	n, err := c.u64("element count")
	if err != nil {
		return Array{}, err
	}
	a := Array{Elem: Kind(k), r: c.r, key: key, offset: c.pos}
	switch size := a.Elem.Size(); {
	case a.Elem == KindArray:
		return Array{}, fmt.Errorf("%w: array of arrays", ErrUnsupported)
	case a.Elem == KindString:
		if n > c.left()/8 {
			return Array{}, c.short(fmt.Sprintf("array of %d strings", n), satMul(n, 8))
		}
		for range n {
			l, err := c.u64("string length in array")
			if err != nil {
				return Array{}, err
			}
			if err := c.skip(l, "string in array"); err != nil {
				return Array{}, err
			}
		}
	case size == 0:
		return Array{}, corruptf("array of unknown kind %d", k)
	default:
		if n > c.left()/size {
			return Array{}, c.short(fmt.Sprintf("array of %d %s", n, a.Elem), satMul(n, size))
		}
		if err := c.skip(n*size, "array"); err != nil {
			return Array{}, err
		}
	}
	a.Len = int(n) // n ≤ maxHeader
	a.bytes = uint64(c.pos - a.offset)
	return a, nil
}

// satMul is for messages only.
func satMul(a, b uint64) uint64 {
	if a > math.MaxUint64/b {
		return math.MaxUint64
	}
	return a * b
}

func (p *parser) alignment() error {
	const key = "general.alignment"
	p.f.Alignment = defaultAlignment
	v, ok := p.f.Get(key)
	if !ok {
		return nil
	}
	n, ok := v.(uint32)
	if !ok {
		return wrongKind(key, v, "uint32")
	}
	if n == 0 || n&(n-1) != 0 {
		return at(corruptf("alignment %d is not a power of two", n), key, "", -1)
	}
	p.f.Alignment = uint64(n)
	return nil
}
