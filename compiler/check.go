package compiler

import (
	"jns/format"
	"jns/format/check"
	"jns/kernels/tile"
)

// checkProgram proves a program the way a runtime will, so that nothing is written that would be refused.
func checkProgram(p *format.Program, tensors format.Tensors) error {
	if p.VocabularyOnly() && tensors.Len() == 0 {
		return nil
	}
	return check.Program(p, tensors, layoutSize)
}

// layoutSize is the sizes of the layouts this compiler knows, for package check.
func layoutSize(layout uint16, rows, cols uint64) (tileRows, tileRowBytes uint64, float, ok bool) {
	l, ok := tile.ByID(tile.ID(layout))
	if !ok || cols == 0 || cols > 1<<31 || cols%uint64(l.Codec.Elems) != 0 {
		return 0, 0, false, false
	}
	return uint64(l.Rows), uint64(l.RowBytes(int(cols))), l.Codec.Float(), true
}
