// Package check proves a program before anything of it runs.
//
// A program comes from a file and is not to be trusted; kernels are assembly without bounds checks, so this package is a security boundary. What it
// cannot prove it refuses, naming the operation. After Program returns nil the following holds:
//
//   - every operand exists, has the element type, the length and the shape that the operation needs, and lies inside the arena's per-row region, in
//     whole vectors of 64 bytes, so that a kernel which writes the last vector whole stays inside its buffer;
//   - every tensor that an operation uses has the tile sizes that its layout has in the running program, and covers all its rows and columns
//     (format.Open has proved that its bytes lie inside its slots);
//   - no operation reads bytes that were not written before through the same buffer, and within an operation inputs and outputs overlap only where the
//     operation allows the same buffer for both;
//   - every state is filled before it is read, once per run; rows are selected before the logits are made; expert ids are below the number of experts;
//   - no number is so large that a product of sizes overflows 64 bits, and the work for a row is bounded: by the size of the file for
//     products of matrices, by MaxWork for all else.
//
// What remains for run time: token ids (below Vocab), positions, and codebook indices inside of weights.
//
// The nouns: a proof walks the operations in order; an operand is a buffer in a role; the flow is what buffers hold at this point. The package knows
// container types only, neither kernels nor layouts: sizes come as a function. Read check.go, then ops.go, then flow.go.
package check
