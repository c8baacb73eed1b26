package amd64

import "unsafe"

// StateArgs is the argument block of the steps of recurrent layers, for a block of columns of one head's state: Rows rows of Stride bytes, of which as many lanes as the
// function's name says are worked on. X is one vector of lanes, Y the result; P, K, Q, R hold a number for each row. G is the decay: one number if GStep is 0, one for each row if it is 4.
type StateArgs struct {
	S          unsafe.Pointer
	Stride     uintptr
	Rows       int // at least 1; of functions without columns the number of lanes
	X, Y       unsafe.Pointer
	G          unsafe.Pointer
	GStep      uintptr
	K, Q, P, R unsafe.Pointer
	Beta       float32
}
