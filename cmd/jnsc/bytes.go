package main

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"jns/format"
)

// named is what is read, and the file's name for errors.
type named struct {
	name string
	io.ReaderAt
}

// unequal is the first byte in which two files differ.
type unequal struct {
	at   int64
	a, b byte
}

// firstDifference compares the first n bytes of two files; nil if they are equal.
func firstDifference(ctx context.Context, f, g named, n int64) (*unequal, error) {
	a, b := make([]byte, format.ChunkSize), make([]byte, format.ChunkSize)
	for at := int64(0); at < n; at += format.ChunkSize {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m := min(format.ChunkSize, n-at)
		if _, err := f.ReadAt(a[:m], at); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if _, err := g.ReadAt(b[:m], at); err != nil {
			return nil, fmt.Errorf("%s: %w", g.name, err)
		}
		if bytes.Equal(a[:m], b[:m]) {
			continue
		}
		for i := range a[:m] {
			if a[i] != b[i] {
				return &unequal{at + int64(i), a[i], b[i]}, nil
			}
		}
	}
	return nil, nil
}

// region names what lies at an offset of a container.
func region(k *format.Container, off uint64) string {
	switch {
	case off < format.HeaderSize:
		return "header"
	case off < format.HeaderSize+uint64(k.Header.TOCLength):
		return "table of contents"
	}
	for _, s := range k.TOC.Sections {
		if off >= s.Offset && off < s.End() {
			return "section " + s.Kind.String()
		}
	}
	return "padding"
}

// place is region, with the slot and the tensor where weights lie.
func place(k *format.Container, off uint64) string {
	for i := range k.Slots.Len() {
		s := k.Slots.At(i)
		if off < s.Offset || off >= s.Offset+s.Length {
			continue
		}
		text := fmt.Sprintf("%s, slot %d", region(k, off), i)
		for j := range k.Tensors.Len() {
			t := k.Tensors.At(j)
			part := uint32(i) - t.FirstSlot
			if uint32(i) < t.FirstSlot || part >= t.Slots {
				continue
			}
			if from := s.Offset + t.SlotOffset; off >= from && off < from+t.PartBytes(part) {
				return text + ", tensor " + t.Name
			}
		}
		return text
	}
	return region(k, off)
}
