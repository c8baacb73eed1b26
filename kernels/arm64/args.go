// Package arm64 holds the assembly kernels of arm64. All but the argument types is written by the generator in kernels/_asm/arm64.
//
// A kernel takes a pointer to an argument block and checks nothing: package kernels fills the blocks, cuts work so that a call stays far under a millisecond (assembly cannot
// be preempted), and calls kernels through Go functions that are not inlined.
package arm64

import "unsafe"

// GemmArgs is the argument block of the matrix kernels. Which fields a kernel reads is said by its kind:
//
//   - gemv (some columns, all of K): P0, P1, Stride, Tiles, Blocks, X, XStride, Y, YStride, Ahead
//   - expand (weights to signed codes and float scales): P0, P1, Blocks, Codes, Scales
//   - panel (product of expanded weights): Codes, Scales, Blocks, X, XStride, Y, YStride, Panels, Load
type GemmArgs struct {
	P0      unsafe.Pointer // stream 0 of the first tile row
	P1      unsafe.Pointer // stream 1
	Stride  uintptr        // bytes from a tile row to the next
	Tiles   int            // tile rows, or pairs of them
	Blocks  int            // gemv, expand: source blocks (of float types: columns); panel: blocks of 32 columns
	X       unsafe.Pointer // activations
	XStride uintptr        // bytes from an activation row to the next
	Y       unsafe.Pointer // output of the first row and column
	YStride uintptr        // bytes from an output row to the next
	Codes   unsafe.Pointer // expanded codes, 512 bytes a block of 32
	Scales  unsafe.Pointer // expanded scales and offsets, [groups][16] float32 a block of 32
	Panels  int            // column panels
	Load    int            // not 0: outputs are added to
	Ahead   uintptr        // bytes ahead of the loads at which weights are prefetched, 0: they are not
}

// VecArgs is the argument block of the vector functions; which fields one reads and writes is said at the function. Pointers are to float32 unless said, N counts elements.
type VecArgs struct {
	Dst, A, B, C unsafe.Pointer
	N            int
	F, G         float32
	U            [4]uint32   // result
	Lanes        [16]float32 // result
}

// AttendStep is the argument block of the attention functions: up to four queries, rows of Q, S (64 numbers a row) and O, which share one page. The queries see positions
// Lo ≤ p < Hi, each those whose Active has its bit; outputs of those in Any are changed: O·Alpha + o·Beta.
type AttendStep struct {
	Q           unsafe.Pointer
	QStride     uintptr
	K, V        unsafe.Pointer
	S, O        unsafe.Pointer
	OStride     uintptr
	D, DV       int
	Lo, Hi      int
	Any         int
	Scale       float32
	_           [3]float32
	Alpha, Beta [4]float32
	Active      [64]uint16
}

// StepArgs is the argument block of the recurrent steps: N numbers, a multiple of 4, at least 4.
type StepArgs struct {
	State, X, Y unsafe.Pointer
	N           int
	F, G, H     float32
}

// StreamArgs is the argument block of products in streaming mode, four tile rows at a time.
type StreamArgs struct {
	P0, P1  unsafe.Pointer // streams 0 and 1 of the first tile row
	Stride  uintptr        // bytes from a tile row to the next
	Groups  int            // groups of four tile rows
	Last    int            // the last tile row that a group has, 0 to 3; less than 3 only with one group
	Blocks  int            // source blocks of a row
	X       unsafe.Pointer // activations
	XStride uintptr        // bytes from an activation row to the next
	Cols    int            // activation rows, at least one and at most what the kernel has
	Y       unsafe.Pointer // output of the first row and column
	YStride uintptr        // bytes from an output row to the next
}

// Cost is what a step of a kernel takes: the instructions of its innermost loop, the bytes of weights that they read, and how many weights those are.
type Cost struct {
	InstructionsPerTile, BytesPerTile, WeightsPerTile int
}
