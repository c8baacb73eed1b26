package exec

import (
	"fmt"
	"io"
	"time"
	"unsafe"

	"jns/format"
	"jns/kernels"
	"jns/kernels/tile"
)

// Bytes gives the mapped bytes of the container; the range has been checked against the file's length.
type Bytes interface {
	Range(off, length uint64) ([]byte, error)
}

// weight is a bound tensor.
type weight struct {
	format.Tensor
	stream  Stream      // of the parts without a base
	reader  io.ReaderAt // of rows of the parts without a base
	layout  *tile.Layout
	stride  int    // bytes of a tile row
	parts   []part // of a dense matrix: consecutive rows; of an expert tensor: one per expert
	mm      *kernels.MatMul
	counter []int     // of mm's variants in the receipt
	vec     []float32 // of a vector
}

// part is a run of tile rows in one slot.
type part struct {
	base  unsafe.Pointer // nil: see weight.at
	slot  uint32
	row0  int // first matrix row
	tiles int

	offset uint64 // in the file
}

// bindWeight resolves a tensor's parts. Rows of a table (rowsOnly: nothing else is done with the tensor) are read from the file where that can be done, so that the table never
// becomes resident.
func bindWeight(t format.Tensor, slots format.SlotTable, mem Bytes, stream Stream, rowsOnly bool) (*weight, error) {
	w := &weight{Tensor: t, stream: stream}
	fail := func(err error) (*weight, error) { return nil, fmt.Errorf("tensor %s: %w", t.Name, err) }
	at := func(slot uint32, n uint64) (unsafe.Pointer, error) {
		b, err := mem.Range(slots.At(int(slot)).Offset+t.SlotOffset, n)
		if err != nil {
			return nil, err
		}
		return unsafe.Pointer(unsafe.SliceData(b)), nil
	}
	if t.Layout == 0 {
		p, err := at(t.FirstSlot, 4*t.Rows*t.Cols*t.Count)
		if err != nil {
			return fail(err)
		}
		w.vec = unsafe.Slice((*float32)(p), int(t.Rows*t.Cols*t.Count))
		return w, nil
	}
	l, ok := tile.ByID(tile.ID(t.Layout))
	if !ok {
		return fail(fmt.Errorf("%w: layout %d", format.ErrUnsupported, t.Layout))
	}
	w.layout, w.stride = l, l.RowBytes(int(t.Cols))
	w.reader, _ = mem.(io.ReaderAt)
	perSlot := int(t.RowsPerSlot)
	for i := 0; i < int(t.Slots); i++ {
		p := part{slot: t.FirstSlot + uint32(i)}
		rows := int(t.Rows)
		if t.Count == 1 {
			p.row0 = i * perSlot
			rows = min(perSlot, int(t.Rows)-p.row0)
		}
		p.tiles = l.TileRows(rows)
		p.offset = slots.At(int(p.slot)).Offset + t.SlotOffset
		if w.reader != nil && (rowsOnly && t.Class == format.ClassRows || stream != nil && stream.Streamed(p.slot)) {
			w.parts = append(w.parts, p)
			continue
		}
		var err error
		if p.base, err = at(t.FirstSlot+uint32(i), uint64(p.tiles)*uint64(w.stride)); err != nil {
			return fail(err)
		}
		w.parts = append(w.parts, p)
	}
	return w, nil
}

// multiply runs the product and counts the kernel that ran.
func (w *weight) multiply(k *worker, a *kernels.MatMulArgs) {
	u := &k.uses[w.counter[w.mm.Variant(a.N)]]
	u.Calls++
	u.Rows += uint64(a.Tiles * w.layout.Rows * a.N)
	u.Bytes += uint64(a.Tiles) * uint64(a.WStride)
	a.Prefetch = k.ahead
	if !k.m.timed && k.times == nil {
		w.mm.Func(a)
		return
	}
	start := time.Now()
	w.mm.Func(a)
	k.busy += time.Since(start)
	k.did += float64(a.Tiles) * float64(a.WStride) * float64(a.N)
}

// wholeGroups rounds a number of tile rows up to what the kernels take at a time.
func (w *weight) wholeGroups(tiles int) int {
	g := max(w.mm.Group, 1)
	return (tiles + g - 1) / g * g
}

// sourceRow gives row r of a matrix in source form, in the memory of worker k at most until its next row.
func (w *weight) sourceRow(k *worker, r int) []byte {
	i := 0
	if len(w.parts) > 1 {
		i = r / int(w.RowsPerSlot)
		r -= i * int(w.RowsPerSlot)
	}
	var tileRow []byte
	if base := w.parts[i].base; base != nil {
		tileRow = unsafe.Slice((*byte)(unsafe.Add(base, uintptr(r/w.layout.Rows)*uintptr(w.stride))), w.stride)
	} else {
		tileRow = w.readTile(k, i, r/w.layout.Rows)
	}
	if w.layout.Rows == 1 {
		return tileRow
	}
	scratch := k.source[:w.layout.Codec.RowBytes(int(w.Cols))]
	w.layout.Row(scratch, tileRow, r%w.layout.Rows, int(w.Cols))
	return scratch
}
