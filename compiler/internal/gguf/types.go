package gguf

// Type is a ggml tensor type number as it stands in a GGUF tensor table.
type Type uint32

// Value is the value of one key: uint8, int8, uint16, int16, uint32, int32, uint64, int64,
// float32, float64, bool, string or Array.
type Value any

// KV is one key-value pair of the header, in file order.
type KV struct {
	Key   string
	Value Value
}

// Tensor is one row of a file's tensor table, checked against the file.
type Tensor struct {
	Name   string
	Type   Type
	Dims   []uint64 // 1 to 4 dimensions; Dims[0] is the contiguous one (columns)
	Offset uint64   // absolute byte offset in its file
	Size   uint64   // bytes of data, without alignment padding
	Shard  int      // index of its file in the Set
}

// Cols is the number of elements in a row.
func (t *Tensor) Cols() uint64 { return t.Dims[0] }
