package gguf

import (
	"fmt"
	"io"
)

// OpenReaders makes a Set of a whole model whose files, in order, are at hand as readers. Close does not close them.
func OpenReaders(readers []io.ReaderAt, sizes []int64) (*Set, error) {
	if len(readers) == 0 || len(readers) > maxParts || len(readers) != len(sizes) {
		return nil, fmt.Errorf("%w: %d files with %d sizes", ErrCorrupt, len(readers), len(sizes))
	}
	s := &Set{}
	for i, r := range readers {
		f, err := Parse(r, sizes[i])
		if err != nil {
			return nil, err
		}
		s.Files = append(s.Files, f)
	}
	return s, s.join()
}
