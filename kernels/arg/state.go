package arg

import "unsafe"

// RunMax is the largest number of positions in one StateRun.
const RunMax = 16

// StateRun describes N consecutive positions of one head of a recurrent layer, or of a range of channels of a convolution. S is its state, Rows rows of Cols float32, SStride bytes from one
// to the next. Of every position there is a row in X, Y, K and Q (strides in bytes), and what the step takes beside them:
//
//   - scan: X is x times δ, K and Q (Rows numbers) are B and C; G is the decay
//   - delta: X is v, K and Q (Rows numbers) are k and q; G the decay, of each row if GStep is 4 instead of 0; Beta; T is scratch of Rows × RunLanes numbers
//   - conv: X is the input, K the weights, Rows + 1 rows like those of the state, for all positions; Q the bias of the channels or nil
type StateRun struct {
	S          unsafe.Pointer
	SStride    uintptr
	Rows, Cols int
	N          int // 1 … RunMax
	X, Y       unsafe.Pointer
	K, Q       unsafe.Pointer
	G, Beta    unsafe.Pointer // one number a position, but G where GStep is 4: GStride bytes from one position's to the next
	T          unsafe.Pointer

	XStride, YStride, KStride, QStride uintptr
	GStride, GStep                     uintptr
}

// RunLanes is the largest number of columns that are worked on at a time.
const RunLanes = 64
