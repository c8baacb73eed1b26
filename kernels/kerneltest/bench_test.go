package kerneltest

import (
	"fmt"
	"strings"
	"testing"

	"jns/kernels"
	"jns/kernels/tile"
)

// benchShape is the largest matrix of the layout's type in the lists of real models, cut to 64 MiB; where none has the type, 4096 × 4096.
func benchShape(l *tile.Layout, shapes []Shape) (rows, cols int) {
	rows, cols = 4096, 4096
	best := 0
	for _, s := range shapes {
		if strings.EqualFold(s.Type, l.Codec.Name) && s.Rows*s.Cols > best {
			rows, cols, best = s.Rows, s.Cols, s.Rows*s.Cols
		}
	}
	for l.Bytes(rows, cols) > 64<<20 {
		rows /= 2
	}
	return rows, cols
}

// BenchmarkMatMul measures every layout in every set. MB/s counts bytes of weights, GOPS two operations per multiply-add.
func BenchmarkMatMul(b *testing.B) {
	shapes, err := ReadShapes("../testdata/shapes/models.txt")
	if err != nil {
		b.Fatal(err)
	}
	for _, l := range x16Layouts() {
		rows, cols := benchShape(l, shapes)
		for _, n := range []int{1, 4, 16, 192} {
			r := rows
			if n > 1 {
				r = min(rows, 1024)
			}
			var c *Case
			for _, set := range kernels.Available() {
				m, err := kernels.BindMatMul(l, set)
				if err != nil || m.Set != set || set == "scalar" {
					continue
				}
				b.Run(fmt.Sprintf("%s/m=%d/%s", l.Name, n, set), func(b *testing.B) {
					if c == nil {
						c = New(l, r, cols, n, Model, 1)
					}
					y := make([]float32, n*c.RowFloats)
					a := c.Args(y)
					b.SetBytes(int64(l.Bytes(r, cols)))
					for b.Loop() {
						m.Func(a)
					}
					b.ReportMetric(2*float64(r)*float64(cols)*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GOPS")
				})
			}
		}
	}
}
