//go:build !unix

package store

import "unsafe"

// Frames gives n bytes of zeroed memory at a page border. Give them back with FreeFrames.
func Frames(n int) ([]byte, error) {
	b := make([]byte, n+4096)
	skip := int(-uintptr(unsafe.Pointer(&b[0])) & 4095)
	return b[skip : skip+n : skip+n], nil
}

func unmapPages([]byte) {}

// FreeFrames gives the memory back. Nothing may be reading into it.
func FreeFrames([]byte) error { return nil }
