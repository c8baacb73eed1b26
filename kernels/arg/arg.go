// Package arg holds the argument blocks of the kernels: what a matrix product and an attention step take. It exists so that package
// kernels (which binds kernels) and kernels/scalar (which defines their bits) share the types; it imports nothing of ours.
package arg

import "unsafe"

// MatMulArgs describes one product Y[n][r] = Σ_k W[r][k] · X[n][k] over a range of tile rows. Pointers are raw because assembly takes
// them; the executor has proved the ranges before (format/check).
type MatMulArgs struct {
	W       unsafe.Pointer // first tile row of the range
	WStride uintptr        // bytes from one tile row to the next (Layout.RowBytes)
	Tiles   int            // tile rows in the range
	Cols    int            // columns K
	X       unsafe.Pointer // first activation row: Q8X blocks, or float32 for float layouts
	XStride uintptr        // bytes from one activation row to the next
	N       int            // activation rows, ≥ 1
	Y       unsafe.Pointer // float32: Y[0][first row of the range]; Layout.Rows values per tile row are written
	YStride uintptr        // bytes from one output row to the next
	// Prefetch is how many bytes ahead of the loads weights are asked for, 0: not at all, the processor's own prefetcher is left to it. It changes no result. Only kernels of arm64
	// that multiply weights as they lie look at it, those of streaming mode excepted.
	Prefetch uintptr
}

// KVChunk is the number of consecutive absolute positions in one KV page; attention works page by page, partial results merged in order of position.
const KVChunk = 64

// AttendMax is the largest number of queries in one AttendArgs.
const AttendMax = 16

// AttendArgs adds one KV page of one KV head to the running attention of N queries (any mixture of batch rows and heads of the group).
//
// K is [D][KVChunk] IEEE half (transposed: one lane is one position), V is [KVChunk][DV] half. Query i sees positions Lo[i] ≤ p < Hi[i] of the page
// (0 ≤ Lo < Hi ≤ KVChunk; Lo = Hi leaves its state as it is). score = Scale·(q·k), soft-capped (Cap·tanh(score/Cap) when Cap ≠ 0). Per query the page's maximum,
// sum of exponentials and weighted sum of V are merged into M, L, O; before the first page M = -Inf, L = 0, O = 0. The
// attention output is O/L (Finish).
type AttendArgs struct {
	Q          unsafe.Pointer // N rows of D float32
	QStride    uintptr        // bytes
	K, V       unsafe.Pointer
	D, DV, N   int
	Lo, Hi     [AttendMax]int32
	Scale, Cap float32
	S          unsafe.Pointer // scratch, float32 [AttendMax][KVChunk], 64-byte aligned
	M, L       unsafe.Pointer // float32 [N]
	O          unsafe.Pointer // N rows of DV float32
	OStride    uintptr        // bytes

	Halves unsafe.Pointer // scratch where K and V are in eight bits: 2·KVChunk·(D + DV) bytes, 64-byte aligned

	NextK, NextV unsafe.Pointer // of the page that comes next, which may be fetched ahead; nil: none. Nothing is read there
}

// JoinArgs merges pages that Attend computed apart, each from an empty state (M = -Inf, L = 0, O = 0), into the running attention of N queries, page by page in order. A page so made
// is a part: from its start PartM the maxima and PartL the sums, float32 [AttendMax] each, PartSees a uint16 with the bits of the queries that see anything of the page (for the
// others it leaves the state as it is), and from PartO on N rows as O has them.
type JoinArgs struct {
	Parts   unsafe.Pointer
	Stride  uintptr // bytes from one part to the next
	Pages   int
	N, DV   int
	M, L    unsafe.Pointer // float32 [N]
	O       unsafe.Pointer // N rows of DV float32
	OStride uintptr        // bytes, in parts too
}

// Offsets in a part.
const (
	PartM    = 0
	PartL    = 4 * AttendMax
	PartSees = 8 * AttendMax
	PartO    = 8*AttendMax + 64
)

// Act is an activation function of a gated unit.
type Act uint8

const (
	ActSiLU Act = iota + 1
	ActGELU     // tanh approximation: 0.5x(1+tanh(√(2/π)(x+0.044715x³)))
	ActGELUErf
	ActReLU
	ActReLU2
	ActGELUQuick // x·sigmoid(1.702x)
	ActNone      // gate only: dst = act(gate) when up is nil
	ActSigmoid
	ActSwigluOAI // g·sigmoid(1.702g)·(u+1) of g = min(gate, 7) and u = up within ±7; needs up
	ActSoftplus  // ln(1 + e^x)
	ActTanh
)
