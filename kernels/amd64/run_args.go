package amd64

// RunArgs is the argument block of the steps of recurrent layers over N ≥ 1 positions, for a block of columns of one head's state: Rows rows of Stride bytes, of which as many lanes
// as the function's name says are worked on. X, Y, K, Q and G are those of the first position; their strides lead to the next, GStep to the decay of the next row (0: one for
// all). Beta is one number a position, T scratch. The functions move the addresses, beyond the end too: they are no pointers, and who calls keeps what they point to.
type RunArgs struct {
	S       uintptr
	Stride  uintptr
	Rows    int
	N       int
	X       uintptr
	XStride uintptr
	Y       uintptr
	YStride uintptr
	K       uintptr
	KStride uintptr
	Q       uintptr
	QStride uintptr
	G       uintptr
	GStride uintptr
	GStep   uintptr
	Beta, T uintptr
}
