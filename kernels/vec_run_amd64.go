//go:build amd64 && !purego

package kernels

import (
	"runtime"

	"jns/kernels/amd64"
)

// The steps of recurrent layers over runs of positions. What the state is between two positions stays in registers (scan, convolution) or, of a block of columns at a time, side by
// side in the first-level cache (delta: the rows of a block lie so far apart that they displace one another). Shapes that assembly does not take go step by step.

// fillRuns puts the set's assembly into the table.
func (w wide) fillRuns(v *Vec) {
	if !w {
		v.ScanRun = func(a *StateRun) {
			if a.N < 2 || a.Cols%16 != 0 || a.Cols == 0 || a.Rows%2 != 0 || a.Rows == 0 {
				v.scanSteps(a)
				return
			}
			scanRun(a)
		}
	}
	v.DeltaRun = func(a *StateRun) {
		if a.N < 2 || a.Cols%16 != 0 || a.Rows == 0 {
			v.deltaSteps(a)
			return
		}
		w.deltaRun(a)
	}
	v.ConvRun = func(a *StateRun) {
		if a.N < 2 || a.Cols%16 != 0 || a.Cols == 0 || a.Rows != 2 && a.Rows != 3 {
			v.convSteps(a)
			return
		}
		w.convRun(a)
	}
}

// block fills in what a block of columns from c on takes.
func block(b *amd64.RunArgs, a *StateRun, c int) {
	off := uintptr(4 * c)
	b.S, b.Stride, b.Rows, b.N = uintptr(a.S)+off, a.SStride, a.Rows, a.N
	b.X, b.XStride, b.Y, b.YStride = uintptr(a.X)+off, a.XStride, uintptr(a.Y)+off, a.YStride
	b.K, b.KStride, b.Q, b.QStride = uintptr(a.K), a.KStride, uintptr(a.Q), a.QStride
	b.G, b.GStride, b.GStep = uintptr(a.G), a.GStride, a.GStep
	b.Beta, b.T = uintptr(a.Beta), uintptr(a.T)
}

func scanRun(a *StateRun) {
	for i := range a.N {
		clear(numbersAt(a.Y, i, a.YStride, a.Cols))
	}
	for c := 0; c < a.Cols; {
		var b amd64.RunArgs
		block(&b, a, c)
		b.GStride = 4
		if a.Cols-c >= 32 {
			amd64.Run_scan32_avx2(&b)
			c += 32
		} else {
			amd64.Run_scan16_avx2(&b)
			c += 16
		}
	}
	runtime.KeepAlive(a)
}

func (w wide) deltaRun(a *StateRun) {
	for c := 0; c < a.Cols; {
		var b amd64.RunArgs
		block(&b, a, c)
		switch {
		case bool(w) && a.Cols-c >= RunLanes:
			amd64.Run_delta64_avx512vnni(&b)
			c += RunLanes
		case bool(w):
			amd64.Run_delta16_avx512vnni(&b)
			c += 16
		default:
			amd64.Run_delta16_avx2(&b)
			c += 16
		}
	}
	runtime.KeepAlive(a)
}

func (w wide) convRun(a *StateRun) {
	var b amd64.RunArgs
	block(&b, a, 0)
	b.Rows = a.Cols
	switch {
	case bool(w) && a.Rows == 2:
		amd64.Run_conv3_avx512vnni(&b)
	case bool(w):
		amd64.Run_conv4_avx512vnni(&b)
	case a.Rows == 2:
		amd64.Run_conv3_avx2(&b)
	default:
		amd64.Run_conv4_avx2(&b)
	}
	runtime.KeepAlive(a)
}
