package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"jns/format"
)

// open opens a container. The caller closes the file.
func open(path string) (*os.File, *format.Container, error) {
	f, size, err := format.OpenFile(path)
	if err != nil {
		return nil, nil, err
	}
	c, err := format.Open(f, size)
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, c, nil
}

// isContainer reports whether a file begins as a container does. A file that cannot be read does not; opening it again says why.
func isContainer(path string) bool {
	f, _, err := format.OpenFile(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var b [len(format.Magic)]byte
	_, err = io.ReadFull(f, b[:])
	return err == nil && b == format.Magic
}

func hexOf(d [32]byte) string { return hex.EncodeToString(d[:]) }
