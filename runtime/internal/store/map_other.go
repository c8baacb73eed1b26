//go:build !unix

package store

import (
	"io"
	"os"
)

// mapFile reads the file where the system has no mmap that we know.
func mapFile(f *os.File, size int64) ([]byte, error) {
	b := make([]byte, size)
	_, err := io.ReadFull(io.NewSectionReader(f, 0, size), b)
	return b, err
}

func unmapFile([]byte) error { return nil }

func offsetOf([]byte, uintptr) (int64, bool) { return 0, false }
