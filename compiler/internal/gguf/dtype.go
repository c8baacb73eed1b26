package gguf

import (
	"fmt"
	"math"
	"math/bits"
)

// Numbers of the ggml tensor types as files carry them. They never change meaning; gaps are types that were removed.
const (
	TypeF32     Type = 0
	TypeF16     Type = 1
	TypeQ4_0    Type = 2
	TypeQ4_1    Type = 3
	TypeQ5_0    Type = 6
	TypeQ5_1    Type = 7
	TypeQ8_0    Type = 8
	TypeQ8_1    Type = 9
	TypeQ2_K    Type = 10
	TypeQ3_K    Type = 11
	TypeQ4_K    Type = 12
	TypeQ5_K    Type = 13
	TypeQ6_K    Type = 14
	TypeQ8_K    Type = 15
	TypeIQ2_XXS Type = 16
	TypeIQ2_XS  Type = 17
	TypeIQ3_XXS Type = 18
	TypeIQ1_S   Type = 19
	TypeIQ4_NL  Type = 20
	TypeIQ3_S   Type = 21
	TypeIQ2_S   Type = 22
	TypeIQ4_XS  Type = 23
	TypeI8      Type = 24
	TypeI16     Type = 25
	TypeI32     Type = 26
	TypeI64     Type = 27
	TypeF64     Type = 28
	TypeIQ1_M   Type = 29
	TypeBF16    Type = 30
	TypeTQ1_0   Type = 34
	TypeTQ2_0   Type = 35
	TypeMXFP4   Type = 39
	TypeNVFP4   Type = 40
	TypeQ1_0    Type = 41
	TypeQ2_0    Type = 42
)

// typeInfo is one row of the table of types. elems 0 marks a removed type, which has a name and no layout.
type typeInfo struct {
	name         string
	elems, bytes uint64
	instead      string // what a removed type's files are made with today
}

var typeTable = [...]typeInfo{
	0:  {"F32", 1, 4, ""},
	1:  {"F16", 1, 2, ""},
	2:  {"Q4_0", 32, 18, ""},
	3:  {"Q4_1", 32, 20, ""},
	4:  {"Q4_2", 0, 0, "Q4_0"},
	5:  {"Q4_3", 0, 0, "Q4_1"},
	6:  {"Q5_0", 32, 22, ""},
	7:  {"Q5_1", 32, 24, ""},
	8:  {"Q8_0", 32, 34, ""},
	9:  {"Q8_1", 32, 36, ""},
	10: {"Q2_K", 256, 84, ""},
	11: {"Q3_K", 256, 110, ""},
	12: {"Q4_K", 256, 144, ""},
	13: {"Q5_K", 256, 176, ""},
	14: {"Q6_K", 256, 210, ""},
	15: {"Q8_K", 256, 292, ""},
	16: {"IQ2_XXS", 256, 66, ""},
	17: {"IQ2_XS", 256, 74, ""},
	18: {"IQ3_XXS", 256, 98, ""},
	19: {"IQ1_S", 256, 50, ""},
	20: {"IQ4_NL", 32, 18, ""},
	21: {"IQ3_S", 256, 110, ""},
	22: {"IQ2_S", 256, 82, ""},
	23: {"IQ4_XS", 256, 136, ""},
	24: {"I8", 1, 1, ""},
	25: {"I16", 1, 2, ""},
	26: {"I32", 1, 4, ""},
	27: {"I64", 1, 8, ""},
	28: {"F64", 1, 8, ""},
	29: {"IQ1_M", 256, 56, ""},
	30: {"BF16", 1, 2, ""},
	31: {"Q4_0_4_4", 0, 0, "Q4_0"},
	32: {"Q4_0_4_8", 0, 0, "Q4_0"},
	33: {"Q4_0_8_8", 0, 0, "Q4_0"},
	34: {"TQ1_0", 256, 54, ""},
	35: {"TQ2_0", 256, 66, ""},
	36: {"IQ4_NL_4_4", 0, 0, "IQ4_NL"},
	37: {"IQ4_NL_4_8", 0, 0, "IQ4_NL"},
	38: {"IQ4_NL_8_8", 0, 0, "IQ4_NL"},
	39: {"MXFP4", 32, 17, ""},
	40: {"NVFP4", 64, 36, ""},
	41: {"Q1_0", 128, 18, ""},
	42: {"Q2_0", 64, 18, ""},
}

// String is the type's name as ggml spells it in capitals, also for removed types; "type 105" if it is unknown.
func (t Type) String() string {
	if uint64(t) < uint64(len(typeTable)) {
		return typeTable[t].name
	}
	return fmt.Sprintf("type %d", uint32(t))
}

// Block gives the elements and bytes of one block; a plain type has blocks of one element.
// ok is false for an unknown or removed type.
func (t Type) Block() (elems, bytes uint64, ok bool) {
	if uint64(t) < uint64(len(typeTable)) && typeTable[t].elems != 0 {
		return typeTable[t].elems, typeTable[t].bytes, true
	}
	return 0, 0, false
}

// Removed says whether files of this type once existed but ggml dropped the type, and which type replaces it.
func (t Type) Removed() (instead string, removed bool) {
	if uint64(t) < uint64(len(typeTable)) && typeTable[t].elems == 0 {
		return typeTable[t].instead, true
	}
	return "", false
}

// ParseType finds a type by the name String gives it, removed types included.
func ParseType(name string) (Type, bool) {
	for i := range typeTable {
		if typeTable[i].name == name {
			return Type(i), true
		}
	}
	return 0, false
}

// RowBytes is the size of one row of cols elements. Errors wrap ErrUnsupported (no such type) or ErrCorrupt
// (cols is no multiple of the block, or the size does not fit).
func (t Type) RowBytes(cols uint64) (uint64, error) {
	elems, bytes, ok := t.Block()
	if !ok {
		return 0, fmt.Errorf("%w: tensor %s", ErrUnsupported, describeType(t))
	}
	if cols%elems != 0 {
		return 0, fmt.Errorf("%w: row of %d elements is no multiple of the %s block of %d", ErrCorrupt, cols, t, elems)
	}
	hi, n := bits.Mul64(cols/elems, bytes)
	if hi != 0 || n > math.MaxInt64 {
		return 0, fmt.Errorf("%w: row of %d %s elements exceeds 2^63 bytes", ErrCorrupt, cols, t)
	}
	return n, nil
}

// tensorBytes is the size of a whole tensor; dims has 1 to 4 entries, none of them 0.
func tensorBytes(t Type, dims []uint64) (uint64, error) {
	n, err := t.RowBytes(dims[0])
	if err != nil {
		return 0, err
	}
	for _, d := range dims[1:] {
		hi, lo := bits.Mul64(n, d)
		if hi != 0 || lo > math.MaxInt64 {
			return 0, fmt.Errorf("%w: dimensions %v of %s exceed 2^63 bytes", ErrCorrupt, dims, t)
		}
		n = lo
	}
	return n, nil
}

func describeType(t Type) string {
	if instead, removed := t.Removed(); removed {
		return fmt.Sprintf("type %d (%s, removed from ggml: quantize the model again as %s)", uint32(t), t, instead)
	}
	return fmt.Sprintf("type %d (unknown to this version)", uint32(t))
}
