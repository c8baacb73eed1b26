package tile

// Type is a ggml tensor type number, as in GGUF.
type Type uint32

// Block is one source block taken apart: element i has the value Scale[i/Group]·Code[i] + Off[i/OffGroup], all factors exact
// or rounded once to float32 as the type's definition says.
type Block struct {
	Code  [256]int8
	Scale [32]float32
	Off   [32]float32
}

// Codec says what a block of a source type means. It is the definition that every layout and kernel of the type must agree with.
type Codec struct {
	Type  Type
	Name  string // "Q4_K", as ggml spells it
	Elems int    // elements in a block
	Bytes int    // bytes in a block
	// Group is the number of consecutive elements under one scale, 16 or 32 (a type with one scale per block has 32 here);
	// one integer sum is taken per group. 0 for float types.
	Group int
	// OffGroup is the number of consecutive elements under one offset (16 or 32), 0 for types without offsets.
	OffGroup int
	// Decode takes one block apart. nil for float types.
	Decode func(b *Block, src []byte)
	// Floats converts Elems·n elements of a float type (F32, F16, BF16; Elems = 1). nil for quantised types.
	Floats func(dst []float32, src []byte)
}

// RowBytes is the size of a source row of cols elements (a multiple of Elems).
func (c *Codec) RowBytes(cols int) int { return cols / c.Elems * c.Bytes }

// Float reports whether the type's weights are multiplied with unrounded float32 activations.
func (c *Codec) Float() bool { return c.Floats != nil }
