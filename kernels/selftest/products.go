package selftest

import (
	"context"

	"jns/kernels"
	"jns/kernels/cases"
	"jns/kernels/tile"
)

func layouts() (all []*tile.Layout) {
	for _, l := range tile.Layouts() {
		if l.Rows == tile.Rows16 {
			all = append(all, l)
		}
	}
	return all
}

// columns are counts around the borders that kernels have: one block, an odd few, and where codes are of 32, more than a chunk of 32 blocks.
func columns(l *tile.Layout) []int {
	switch {
	case l.Codec.Elems == 256:
		return []int{256, 3 * 256}
	case l.Codec.Float():
		return []int{1, 31, 64}
	}
	return []int{l.Codec.Elems, 3 * l.Codec.Elems, 33 * l.Codec.Elems}
}

// counts are those of activation rows: each that a kernel may have code of its own for, a panel, a panel and some, several.
var counts = []int{1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 17, 33}

// products compares the products of a layout. What scalar makes of a case is computed once for all sets.
func products(ctx context.Context, l *tile.Layout, bound []*kernels.MatMul, each func(Result) error) error {
	results := make([]Result, len(bound))
	for i, m := range bound {
		results[i] = Result{Set: m.Set, Kernel: m.Name}
	}
	seed := uint64(0)
	for _, cols := range columns(l) {
		for _, rows := range []int{16, 17, 80} {
			for _, n := range counts {
				if rows == 80 && n > 8 && n != 33 {
					continue
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				if len(bound) == 0 {
					continue
				}
				seed++
				c := cases.New(l, rows, cols, n, cases.Style(seed%2), seed)
				want := c.Run(c.Scalar())
				for i, m := range bound {
					results[i].Cases++
					if d := c.Diff(want, c.Run(m)); d != "" && results[i].Difference == "" {
						results[i].Kernel, results[i].Difference = kernelOf(m, n), d
					}
				}
			}
		}
	}
	for _, r := range results {
		if err := each(r); err != nil {
			return err
		}
	}
	return nil
}

// kernelOf names the kernel that computes n activation rows.
func kernelOf(m *kernels.MatMul, n int) string {
	if len(m.Variants) == 0 {
		return m.Name
	}
	return m.Variants[m.Variant(n)].Name
}
