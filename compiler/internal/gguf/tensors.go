package gguf

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
)

// tensorTable reads the rows; Offset is still relative to the data section and Size unset.
func (p *parser) tensorTable(n uint64) error {
	c := p.c
	p.f.Tensors = make([]Tensor, 0, min(n, 4096))
	seen := make(map[string]struct{}, min(n, 4096))
	for i := range n {
		start := c.pos
		name, err := c.str("name of a tensor", maxNameLen)
		if err == nil {
			err = checkName("name of a tensor", name)
		}
		if err != nil {
			return at(fmt.Errorf("tensor %d of %d: %w", i, n, err), "", "", start)
		}
		if _, dup := seen[name]; dup {
			return at(corruptf("tensor name occurs twice"), "", name, start)
		}
		seen[name] = struct{}{}
		start = c.pos
		t := Tensor{Name: name}
		if err := p.tensorRow(&t); err != nil {
			return at(err, "", name, start)
		}
		p.f.Tensors = append(p.f.Tensors, t)
	}
	return nil
}

// tensorRow reads what follows the name: dimensions, type, offset.
func (p *parser) tensorRow(t *Tensor) error {
	c := p.c
	nDims, err := c.u32("number of dimensions")
	if err != nil {
		return err
	}
	if nDims < 1 || nDims > 4 {
		return corruptf("%d dimensions, must be 1 to 4", nDims)
	}
	t.Dims = make([]uint64, nDims)
	for d := range t.Dims {
		if t.Dims[d], err = c.u64("dimension"); err != nil {
			return err
		}
		if t.Dims[d] == 0 || t.Dims[d] > math.MaxInt64 {
			return corruptf("dimension %d is %d", d, t.Dims[d])
		}
	}
	typ, err := c.u32("tensor type")
	if err != nil {
		return err
	}
	t.Type = Type(typ)
	t.Offset, err = c.u64("tensor offset")
	return err
}

// placeTensors computes sizes and absolute offsets, and checks that every tensor lies aligned inside the file.
// Types without a layout are collected first, so that the user learns of all of them at once.
func (p *parser) placeTensors() error {
	f := p.f
	f.HeaderLen = uint64(p.c.pos)
	f.DataOffset = min((f.HeaderLen+f.Alignment-1)/f.Alignment*f.Alignment, f.Size)
	f.DataEnd = f.DataOffset
	var unknown UnsupportedTypesError
	for i := range f.Tensors {
		if _, _, ok := f.Tensors[i].Type.Block(); !ok {
			unknown.Tensors = append(unknown.Tensors, UnsupportedTensor{f.Tensors[i].Name, f.Tensors[i].Type})
		}
	}
	if len(unknown.Tensors) > 0 {
		return &Error{Offset: -1, Err: &unknown}
	}
	for i := range f.Tensors {
		t := &f.Tensors[i]
		if err := f.place(t); err != nil {
			return at(err, "", t.Name, -1)
		}
		f.DataEnd = max(f.DataEnd, t.Offset+t.Size)
	}
	return nil
}

func (f *File) place(t *Tensor) error {
	size, err := tensorBytes(t.Type, t.Dims)
	if err != nil {
		return err
	}
	if t.Offset%f.Alignment != 0 {
		return corruptf("data offset %d is no multiple of the alignment %d; the tool that wrote the file must be told to align",
			t.Offset, f.Alignment)
	}
	room := f.Size - f.DataOffset
	if t.Offset > room || size > room-t.Offset {
		return corruptf("%d bytes at data offset %d, but the file has only %d bytes of data; it may be an incomplete download",
			size, t.Offset, room)
	}
	t.Offset += f.DataOffset
	t.Size = size
	return nil
}

func (p *parser) checkOverlap() error {
	order := make([]*Tensor, len(p.f.Tensors))
	for i := range order {
		order[i] = &p.f.Tensors[i]
	}
	slices.SortFunc(order, func(a, b *Tensor) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Name, b.Name))
	})
	for i := 1; i < len(order); i++ {
		prev, t := order[i-1], order[i]
		if t.Offset < prev.Offset+prev.Size {
			return at(corruptf("overlaps tensor %q (bytes %d to %d)", clip(prev.Name), prev.Offset, prev.Offset+prev.Size),
				"", t.Name, int64(t.Offset))
		}
	}
	return nil
}

// checkTail refuses a second GGUF file after the first: parts of a split set joined byte by byte are not a model.
// Other bytes after the last tensor are let be; DataEnd tells where they begin.
func (p *parser) checkTail() error {
	f := p.f
	ends := []uint64{f.DataEnd, (f.DataEnd + f.Alignment - 1) / f.Alignment * f.Alignment}
	if len(f.Tensors) == 0 { // a first part with metadata only may end without padding
		ends = append(ends, f.HeaderLen)
	}
	for _, off := range ends {
		var magic [4]byte
		if off > f.Size || f.Size-off < uint64(len(magic)) {
			continue
		}
		if err := readFull(f.r, magic[:], int64(off)); err != nil {
			return at(err, "", "", int64(off))
		}
		if bytes.Equal(magic[:], []byte("GGUF")) {
			return at(corruptf("a second GGUF file follows the first; keep split parts as separate files, or merge them with a GGUF split tool"),
				"", "", int64(off))
		}
	}
	return nil
}
