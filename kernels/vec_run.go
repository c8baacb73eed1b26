package kernels

import (
	"unsafe"

	"jns/kernels/arg"
)

// StateRun, RunMax and RunLanes are those of package arg.
type StateRun = arg.StateRun

const (
	RunMax   = arg.RunMax
	RunLanes = arg.RunLanes
)

// fillRuns gives a set without runs of its own those that are steps: the definition of what a run computes.
func fillRuns(v *Vec) {
	if v.ScanRun == nil {
		v.ScanRun = v.scanSteps
	}
	if v.DeltaRun == nil {
		v.DeltaRun = v.deltaSteps
	}
	if v.ConvRun == nil {
		v.ConvRun = v.convSteps
	}
}

// numbersAt is n numbers, i strides behind p.
func numbersAt(p unsafe.Pointer, i int, stride uintptr, n int) []float32 {
	return unsafe.Slice((*float32)(unsafe.Add(p, uintptr(i)*stride)), n)
}

func (v *Vec) scanSteps(a *StateRun) {
	s := numbersAt(a.S, 0, 0, a.Rows*a.Cols)
	g := numbersAt(a.G, 0, 0, a.N)
	for i := range a.N {
		v.ScanStep(s, numbersAt(a.X, i, a.XStride, a.Cols), numbersAt(a.K, i, a.KStride, a.Rows), numbersAt(a.Q, i, a.QStride, a.Rows), g[i], numbersAt(a.Y, i, a.YStride, a.Cols))
	}
}

func (v *Vec) deltaSteps(a *StateRun) {
	s, d := numbersAt(a.S, 0, 0, a.Rows*a.Cols), numbersAt(a.T, 0, 0, a.Rows*RunLanes)
	if a.Cols > len(d) {
		d = make([]float32, a.Cols) // more columns than any model has
	}
	decays, beta := 1, numbersAt(a.Beta, 0, 0, a.N)
	if a.GStep != 0 {
		decays = a.Rows
	}
	for i := range a.N {
		v.DeltaStep(s, numbersAt(a.Q, i, a.QStride, a.Rows), numbersAt(a.K, i, a.KStride, a.Rows), numbersAt(a.X, i, a.XStride, a.Cols), numbersAt(a.G, i, a.GStride, decays),
			beta[i], d, numbersAt(a.Y, i, a.YStride, a.Cols))
	}
}

// convSteps: y = Σ float32(input · weight) over the inputs before and the present one, in order from the product of the oldest, plus the bias; the inputs move up by one.
func (v *Vec) convSteps(a *StateRun) {
	row := func(p unsafe.Pointer, k int) []float32 { return numbersAt(p, k, a.SStride, a.Cols) }
	for i := range a.N {
		in, y := numbersAt(a.X, i, a.XStride, a.Cols), numbersAt(a.Y, i, a.YStride, a.Cols)
		v.Mul(y, row(a.S, 0), row(a.K, 0))
		for k := 1; k < a.Rows; k++ {
			v.MulAdd(y, row(a.S, k), row(a.K, k))
			copy(row(a.S, k-1), row(a.S, k))
		}
		v.MulAdd(y, in, row(a.K, a.Rows))
		copy(row(a.S, a.Rows-1), in)
		if a.Q != nil {
			v.AddScaled(y, y, numbersAt(a.Q, 0, 0, a.Cols), 1)
		}
	}
}
