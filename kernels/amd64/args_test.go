//go:build amd64 && !purego

package amd64

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// The generator counts the fields of GemmArgs by eights.
func TestGemmArgsLieWhereTheGeneratorPutsThem(t *testing.T) {
	var a GemmArgs
	for i, off := range []uintptr{
		unsafe.Offsetof(a.P0), unsafe.Offsetof(a.P1), unsafe.Offsetof(a.Stride), unsafe.Offsetof(a.Tiles), unsafe.Offsetof(a.Blocks),
		unsafe.Offsetof(a.X), unsafe.Offsetof(a.XStride), unsafe.Offsetof(a.Y), unsafe.Offsetof(a.YStride), unsafe.Offsetof(a.Codes),
		unsafe.Offsetof(a.Scales), unsafe.Offsetof(a.CStride), unsafe.Offsetof(a.SStride), unsafe.Offsetof(a.Panels), unsafe.Offsetof(a.Load),
		unsafe.Offsetof(a.Ahead), unsafe.Offsetof(a.Near), unsafe.Offsetof(a.Far), unsafe.Offsetof(a.Pace), unsafe.Offsetof(a.Turn),
	} {
		require.Equal(t, uintptr(8*i), off)
	}
}

// Those of StateArgs likewise.
func TestStateArgsLieWhereTheGeneratorPutsThem(t *testing.T) {
	var a StateArgs
	for i, off := range []uintptr{
		unsafe.Offsetof(a.S), unsafe.Offsetof(a.Stride), unsafe.Offsetof(a.Rows), unsafe.Offsetof(a.X), unsafe.Offsetof(a.Y), unsafe.Offsetof(a.G),
		unsafe.Offsetof(a.GStep), unsafe.Offsetof(a.K), unsafe.Offsetof(a.Q), unsafe.Offsetof(a.P), unsafe.Offsetof(a.R), unsafe.Offsetof(a.Beta),
	} {
		require.Equal(t, uintptr(8*i), off)
	}
}

// And those of RunArgs.
func TestRunArgsLieWhereTheGeneratorPutsThem(t *testing.T) {
	var a RunArgs
	for i, off := range []uintptr{
		unsafe.Offsetof(a.S), unsafe.Offsetof(a.Stride), unsafe.Offsetof(a.Rows), unsafe.Offsetof(a.N), unsafe.Offsetof(a.X), unsafe.Offsetof(a.XStride),
		unsafe.Offsetof(a.Y), unsafe.Offsetof(a.YStride), unsafe.Offsetof(a.K), unsafe.Offsetof(a.KStride), unsafe.Offsetof(a.Q), unsafe.Offsetof(a.QStride),
		unsafe.Offsetof(a.G), unsafe.Offsetof(a.GStride), unsafe.Offsetof(a.GStep), unsafe.Offsetof(a.Beta), unsafe.Offsetof(a.T),
	} {
		require.Equal(t, uintptr(8*i), off)
	}
}
