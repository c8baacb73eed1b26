package gguftest

import (
	"encoding/binary"
	"math"
	"strings"

	"jns/compiler/internal/gguf"
)

// Case is a file that must be refused.
type Case struct {
	Name  string // the property, as a test name
	Bytes []byte
	Want  error  // sentinel
	Says  string // the message contains it
}

// small is a valid file with two tensors to start lies from.
func small() File {
	return File{
		KVs: []KV{{"general.architecture", "llama"}, {"llama.block_count", uint32(1)}},
		Tensors: []Tensor{
			{Name: "token_embd.weight", Type: gguf.TypeF32, Dims: []uint64{8, 4}},
			{Name: "output.weight", Type: gguf.TypeQ8_0, Dims: []uint64{32, 2}},
		},
	}
}

// Small is a valid file with two tensors, for tests that bend one thing.
func Small() File { return small() }

func with(change func(*File)) []byte {
	f := small()
	change(&f)
	return f.Bytes()
}

func withTensor(change func(*Tensor)) []byte {
	return with(func(f *File) { change(&f.Tensors[1]) })
}

func raw(kind gguf.Kind, parts ...uint64) Raw {
	var b []byte
	for i, p := range parts {
		if i == 0 {
			b = le32(b, uint32(p))
		} else {
			b = le64(b, p)
		}
	}
	return Raw{uint32(kind), b}
}

// Hostile gives files that must be refused, each for one reason.
func Hostile() []Case {
	const huge = math.MaxInt64
	cases := []Case{
		{"empty file", nil, gguf.ErrNotGGUF, "empty"},
		{"git LFS pointer", []byte("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"), gguf.ErrNotGGUF, "git lfs pull"},
		{"web page", []byte("\n<!DOCTYPE html><html><title>Sign in</title></html>"), gguf.ErrNotGGUF, "web page"},
		{"JSON error message", []byte(`{"error":"Repository not found"}`), gguf.ErrNotGGUF, "JSON"},
		{"safetensors", append(le64(nil, 20), []byte(`{"a":{"dtype":"F32"}}xx`)...), gguf.ErrNotGGUF, "safetensors"},
		{"zip archive", []byte("PK\x03\x04rest of an archive"), gguf.ErrNotGGUF, "zip"},
		{"ggjt file", []byte("tjgg\x03\x00\x00\x00"), gguf.ErrNotGGUF, "ggjt"},
		{"zeros", make([]byte, 100), gguf.ErrNotGGUF, "zeros"},
		{"magic only", []byte("GGUF"), gguf.ErrCorrupt, "version"},
		{"version 0", with(func(f *File) { f.Magic = "GGUF\x00\x00\x00\x00" }), gguf.ErrCorrupt, "version 0"},
		{"version 1", with(func(f *File) { f.Version = 1 }), gguf.ErrUnsupported, "version 1"},
		{"version 4", with(func(f *File) { f.Version = 4 }), gguf.ErrUnsupported, "version 4"},
		{"big-endian", with(func(f *File) { f.Version = 3 << 24 }), gguf.ErrUnsupported, "big-endian"},
		{"byte-swapped magic", with(func(f *File) { f.Magic = "FUGG" }), gguf.ErrNotGGUF, "byte-swapped"},

		{"tensor count beyond file", with(func(f *File) { f.TensorCount = P(uint64(huge)) }), gguf.ErrCorrupt, "cannot fit"},
		{"tensor count that overflows with any overhead", with(func(f *File) { f.TensorCount = P(uint64(math.MaxUint64/368 + 1)) }), gguf.ErrCorrupt, "cannot fit"},
		{"key-value count beyond file", with(func(f *File) { f.KVCount = P(uint64(math.MaxUint64)) }), gguf.ErrCorrupt, "cannot fit"},
		{"one tensor more than the table has", with(func(f *File) { f.TensorCount = P(uint64(3)) }), gguf.ErrCorrupt, ""},

		{"empty key", with(func(f *File) { f.Set("", "x") }), gguf.ErrCorrupt, "empty"},
		{"key with control character", with(func(f *File) { f.Set("a\x00b", "x") }), gguf.ErrCorrupt, "control"},
		{"key that is not UTF-8", with(func(f *File) { f.Set("a\xff", "x") }), gguf.ErrCorrupt, "UTF-8"},
		{"key of 64 KiB", with(func(f *File) { f.Set(strings.Repeat("k", 1<<16), "x") }), gguf.ErrCorrupt, "65535"},
		{"duplicate key", with(func(f *File) { f.KVs = append(f.KVs, f.KVs[0]) }), gguf.ErrCorrupt, `"general.architecture"`},
		{"string longer than file", with(func(f *File) { f.Set("s", Raw{8, le64(nil, huge)}) }), gguf.ErrCorrupt, `"s"`},
		{"string length that wraps", with(func(f *File) { f.Set("s", Raw{8, le64(nil, math.MaxUint64)}) }), gguf.ErrCorrupt, `"s"`},
		{"unknown value kind", with(func(f *File) { f.Set("s", Raw{13, le64(nil, 0)}) }), gguf.ErrCorrupt, "kind 13"},
		{"bool that is 2", with(func(f *File) { f.Set("s", Raw{7, []byte{2}}) }), gguf.ErrCorrupt, "bool"},
		{"string array longer than file", with(func(f *File) { f.Set("a", raw(9, 8, huge)) }), gguf.ErrCorrupt, `"a"`},
		{"string array count that wraps", with(func(f *File) { f.Set("a", raw(9, 8, 1<<61)) }), gguf.ErrCorrupt, `"a"`},
		{"string in array longer than file", with(func(f *File) { f.Set("a", raw(9, 8, 1, huge)) }), gguf.ErrCorrupt, `"a"`},
		{"number array longer than file", with(func(f *File) { f.Set("a", raw(9, 5, huge)) }), gguf.ErrCorrupt, `"a"`},
		{"number array count that wraps", with(func(f *File) { f.Set("a", raw(9, 12, 1<<61)) }), gguf.ErrCorrupt, `"a"`},
		{"array of unknown kind", with(func(f *File) { f.Set("a", raw(9, 77, 0)) }), gguf.ErrCorrupt, "kind 77"},
		{"array of arrays", with(func(f *File) { f.Set("a", raw(9, 9, 1)) }), gguf.ErrUnsupported, "array of arrays"},

		{"alignment 0", with(func(f *File) { f.Set("general.alignment", uint32(0)) }), gguf.ErrCorrupt, "power of two"},
		{"alignment 24", with(func(f *File) { f.Set("general.alignment", uint32(24)); f.Alignment = 24 }), gguf.ErrCorrupt, "power of two"},
		{"alignment of a wrong kind", with(func(f *File) { f.Set("general.alignment", "32") }), gguf.ErrCorrupt, "uint32"},
		{"alignment 2 GiB", with(func(f *File) { f.Set("general.alignment", uint32(1<<31)); f.Alignment = 32 }), gguf.ErrCorrupt, "token_embd.weight"},

		{"empty tensor name", withTensor(func(t *Tensor) { t.Name = "" }), gguf.ErrCorrupt, "empty"},
		{"duplicate tensor name", withTensor(func(t *Tensor) { t.Name = "token_embd.weight" }), gguf.ErrCorrupt, `"token_embd.weight"`},
		{"no dimensions", withTensor(func(t *Tensor) { t.Dims = nil }), gguf.ErrCorrupt, "0 dimensions"},
		{"five dimensions", withTensor(func(t *Tensor) { t.Dims = []uint64{32, 1, 1, 1, 1} }), gguf.ErrCorrupt, "5 dimensions"},
		{"dimension count of 2^32-1", withTensor(func(t *Tensor) { t.NDims = P(uint32(math.MaxUint32)) }), gguf.ErrCorrupt, "dimensions"},
		{"dimension of 0", withTensor(func(t *Tensor) { t.Dims = []uint64{32, 0} }), gguf.ErrCorrupt, "dimension 1 is 0"},
		{"dimension above 2^63", withTensor(func(t *Tensor) { t.Dims = []uint64{1 << 63} }), gguf.ErrCorrupt, "output.weight"},
		{"dimensions whose product overflows", withTensor(func(t *Tensor) { t.Type = gguf.TypeF32; t.Dims = []uint64{huge, 2, 1, 1} }), gguf.ErrCorrupt, "output.weight"},
		{"dimensions whose product wraps to 0", withTensor(func(t *Tensor) { t.Type = gguf.TypeF32; t.Dims = []uint64{1 << 32, 1 << 32} }), gguf.ErrCorrupt, "output.weight"},
		{"dimensions whose product wraps to the true size", withTensor(func(t *Tensor) { t.Type = gguf.TypeI8; t.Dims = []uint64{1<<32 + 1, 1 << 32} }), gguf.ErrCorrupt, "output.weight"},
		{"row that is no multiple of the block", withTensor(func(t *Tensor) { t.Dims = []uint64{33} }), gguf.ErrCorrupt, "multiple"},
		{"tensor larger than file", withTensor(func(t *Tensor) { t.Dims = []uint64{1 << 30, 4} }), gguf.ErrCorrupt, "output.weight"},
		{"tensor one row beyond the end", withTensor(func(t *Tensor) { t.Dims = []uint64{32, 64}; t.Data = make([]byte, 63*34) }), gguf.ErrCorrupt, "output.weight"},
		{"tensor offset beyond the end", withTensor(func(t *Tensor) { t.Offset = P(uint64(1 << 20)) }), gguf.ErrCorrupt, "output.weight"},
		{"tensor offset that wraps", withTensor(func(t *Tensor) { t.Offset = P(uint64(math.MaxUint64 - 31)) }), gguf.ErrCorrupt, "output.weight"},
		{"unaligned tensor", withTensor(func(t *Tensor) { t.Offset = P(uint64(130)) }), gguf.ErrCorrupt, "multiple of the alignment"},
		{"overlapping tensors", withTensor(func(t *Tensor) { t.Offset = P(uint64(96)) }), gguf.ErrCorrupt, "overlaps"},
		{"two tensors at one place", withTensor(func(t *Tensor) { t.Offset = P(uint64(0)) }), gguf.ErrCorrupt, "overlaps"},

		{"unknown tensor type 105", withTensor(func(t *Tensor) { t.Type = 105 }), gguf.ErrUnsupported, "type 105"},
		{"removed tensor type 36", withTensor(func(t *Tensor) { t.Type = 36 }), gguf.ErrUnsupported, "IQ4_NL_4_4"},
		{"removed tensor type 4", withTensor(func(t *Tensor) { t.Type = 4 }), gguf.ErrUnsupported, "Q4_2"},
		{"every unsupported tensor named", with(func(f *File) { f.Tensors[0].Type = 31; f.Tensors[1].Type = 200 }), gguf.ErrUnsupported, `"token_embd.weight" type 31 (Q4_0_4_4`},

		{"second GGUF file after the first", with(func(f *File) { f.Tail = small().Bytes() }), gguf.ErrCorrupt, "second GGUF"},
		{"second GGUF file without padding before it", with(func(f *File) { f.NoEndPad = true; f.Tail = small().Bytes() }), gguf.ErrCorrupt, "second GGUF"},
		{"second GGUF file after a metadata-only part", with(func(f *File) { f.Tensors = nil; f.Tail = small().Bytes() }), gguf.ErrCorrupt, "second GGUF"},
		{"49-byte file with a string of 2^63-1", tinyHugeString(), gguf.ErrCorrupt, "left in the file"},
	}
	return cases
}

// tinyHugeString is the smallest file of the kind that made parsers allocate what a length says.
func tinyHugeString() []byte {
	b := []byte("GGUF")
	b = le32(b, 3)
	b = le64(b, 0)
	b = le64(b, 1)
	b = str(b, "k")
	b = le32(b, uint32(gguf.KindString))
	b = binary.LittleEndian.AppendUint64(b, math.MaxInt64)
	return append(b, make([]byte, 49-len(b))...)
}
