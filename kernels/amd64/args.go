// Package amd64 holds the assembly kernels of x86-64. All but the argument types is written by the generator in kernels/_asm/amd64.
//
// A kernel takes a pointer to an argument block and checks nothing: package kernels fills the blocks, cuts work so that a call stays
// under about 100 µs (assembly cannot be preempted), and calls kernels through Go functions that are not inlined.
package amd64

import "unsafe"

// GemmArgs is the argument block of the matrix kernels. Which fields a kernel reads is said by its kind:
//
//   - gemv (some columns, all of K): P0, P1, Stride, Tiles, Blocks, X, XStride, Y, YStride, Near, Far, Pace;
//     P0, P1, Near and Far are moved on by what was read
//   - expand (weights to codes and float scales): P0, P1, Blocks, Codes, Scales
//   - panel (product of expanded weights): Codes, Scales, CStride, SStride, Blocks, X, XStride, Panels (counted down), Y, YStride, Load;
//     meanwhile it prefetches 128 bytes a block from P1 on, of a second tile row from P1 + Stride on. Panels of tile
//     registers leave Panels as it is and write to 8 KiB at P0, a multiple of 8 KiB
type GemmArgs struct {
	P0      unsafe.Pointer // stream 0 of the first tile row; panel: scratch
	P1      unsafe.Pointer // stream 1
	Stride  uintptr        // bytes from a tile row to the next
	Tiles   int            // tile rows
	Blocks  int            // gemv, expand: source blocks (of float types: columns); panel: blocks of 32 columns
	X       unsafe.Pointer // activations
	XStride uintptr        // bytes from an activation row to the next
	Y       unsafe.Pointer // output of the first row and column
	YStride uintptr        // bytes from an output row to the next
	Codes   unsafe.Pointer // expanded codes, 512 bytes a block, 1024 where they are of 16 bits
	Scales  unsafe.Pointer // expanded scales, 64 or 128 bytes a block
	CStride uintptr        // bytes from the codes of a tile row to those of the next
	SStride uintptr        // the same of scales
	Panels  int            // column panels
	Load    int            // not 0: outputs are added to
	Ahead   uintptr        // bytes that P1 moves for every block of a panel
	Near    uintptr        // gemv: address from which on weights of the first tile row are asked for, into the first-level cache
	Far     uintptr        // and into the second
	Pace    uintptr        // bytes that both move for every block; kernels of float weights move them as they read
	Turn    int            // float weights, several tile rows side by side: after so many fours of columns, at most Blocks/4, Near and Far go on in the next tile rows
}

// ProbeArgs is the argument block of the functions that measure the machine.
type ProbeArgs struct {
	A unsafe.Pointer
	N int    // rounds, at least 1
	R uint64 // result
}

// Cost is what a step of a kernel takes: the instructions of its innermost loop, the bytes of weights that they read, and how many weights those are.
type Cost struct {
	InstructionsPerTile, BytesPerTile, WeightsPerTile int
}
