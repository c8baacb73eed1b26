// Package store gives read access to a container's bytes: it maps the file and hands out ranges that have been checked against its length, and it reads ranges into memory of
// the caller, several at once.
//
// Its nouns: a File, mapped; a Read of a range; Reads, a queue of them over a device (io_uring, a pool of preads, a mapping); a Backend, the device that was chosen and why.
// It must not know what the bytes mean.
package store

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrRange is returned for a range that does not lie inside the file.
var ErrRange = errors.New("range outside the file")

// ErrNotRegular is wrapped by errors about directories, pipes and devices where a file is wanted.
var ErrNotRegular = errors.New("not a regular file")

// OpenRegular opens a file for reading, and nothing else: opening a pipe that nobody writes to would wait for ever, and opening a device may do something. Errors name the file.
func OpenRegular(path string) (*os.File, os.FileInfo, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s: %w", path, ErrNotRegular)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	if st, err = f.Stat(); err == nil && !st.Mode().IsRegular() { // the name may have gone to something else
		err = fmt.Errorf("%s: %w", path, ErrNotRegular)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, st, nil
}

// File is a mapped file. Safe for use by many goroutines; Close once, after the last use of any range.
type File struct {
	f    *os.File
	data []byte
	path string

	changed time.Time // when it was opened
}

// Open maps a file for reading. Errors name the file; they wrap ErrNotRegular or the system's.
func Open(path string) (*File, error) {
	f, st, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	s := &File{f: f, path: path, changed: st.ModTime()}
	if st.Size() > 0 {
		if s.data, err = mapFile(f, st.Size()); err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: map: %w", path, err)
		}
	}
	return s, nil
}

// Path is the name that the file was opened by.
func (s *File) Path() string { return s.path }

// Size is the file's length in bytes when it was opened.
func (s *File) Size() int64 { return int64(len(s.data)) }

// ReadAt reads with pread, so that a file that has shrunk gives an error and no fault.
func (s *File) ReadAt(p []byte, off int64) (int, error) { return s.f.ReadAt(p, off) }

// Range gives mapped bytes.
func (s *File) Range(off, length uint64) ([]byte, error) {
	n := uint64(len(s.data))
	if off > n || length > n-off {
		return nil, fmt.Errorf("%w: %d bytes at offset %d, the file has %d", ErrRange, length, off, n)
	}
	return s.data[off : off+length : off+length], nil
}

// Bytes is Range for format.Open: nil if the range is not inside the file.
func (s *File) Bytes(off, n int64) []byte {
	if off < 0 || n < 0 {
		return nil
	}
	b, err := s.Range(uint64(off), uint64(n))
	if err != nil {
		return nil
	}
	return b
}

// Offset says which byte of the file a faulting address belongs to.
func (s *File) Offset(addr uintptr) (int64, bool) { return offsetOf(s.data, addr) }

// Close unmaps and closes the file.
func (s *File) Close() error {
	var err error
	if s.data != nil {
		err = unmapFile(s.data)
		s.data = nil
	}
	return errors.Join(err, s.f.Close())
}
