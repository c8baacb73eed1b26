// Package output writes files that get their names when they are whole.
//
// Its one noun is File: it is written beside its place, under its name and Suffix, and renamed when it is on the disk. A process that is killed leaves only that, and the next
// one that writes the same file takes it over, so that there is never more than one. TempDir does the same for directories. The package must not know what is written.
package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Suffix marks a file under construction.
const Suffix = ".partial"

// Errors of this package.
var (
	ErrBusy        = errors.New("another process writes it") // as long as that process lives
	ErrNoDirectory = errors.New("its directory is not there; make it first")
	ErrInWay       = errors.New("no regular file") // at the place of the file under construction: a link, say, through which nothing is written
)

// File is a file under construction, locked for this process where the system can.
type File struct {
	*os.File
	path string
	done bool
}

// Create begins a file. Discard must be called, at the latest after Commit. Errors wrap ErrBusy, ErrNoDirectory, ErrInWay or the system's.
func Create(path string, mode os.FileMode) (*File, error) {
	name := path + Suffix
	for range 8 {
		if st, err := os.Lstat(name); err == nil && !st.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is in the way; remove it: %w", name, ErrInWay)
		}
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, mode)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w", path, ErrNoDirectory)
		}
		if err != nil {
			return nil, err
		}
		if lock(f) != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", path, ErrBusy), f.Close())
		}
		// Whoever had the lock before may have renamed or removed the file meanwhile; then this is not the one under the name.
		if same(f, name) {
			if err := f.Truncate(0); err != nil {
				return nil, errors.Join(err, f.Close())
			}
			return &File{File: f, path: path}, nil
		}
		f.Close()
	}
	return nil, fmt.Errorf("%s: %w", path, ErrBusy)
}

func same(f *os.File, name string) bool {
	a, err1 := f.Stat()
	b, err2 := os.Lstat(name)
	return err1 == nil && err2 == nil && os.SameFile(a, b)
}

// Commit makes the file durable and gives it its name.
func (f *File) Commit() error {
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), f.path); err != nil {
		return err
	}
	f.done = true
	err := f.Close()
	if d, e := os.Open(filepath.Dir(f.path)); e == nil {
		_ = d.Sync() // some file systems cannot; their renames are as durable as they get
		d.Close()
	}
	return err
}

// Discard removes what was written, unless it was committed.
func (f *File) Discard() {
	if !f.done {
		f.done = true
		os.Remove(f.Name()) // while it is locked: afterwards it may be another process's
		f.Close()
	}
}

// Write writes a file as a whole or not at all. What is there already and no regular file, such as a device, a pipe or a link, is written to and stays what it is.
func Write(path string, mode os.FileMode, write func(f *os.File) error) error {
	if st, err := os.Lstat(path); err == nil && !st.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	f, err := Create(path, mode)
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := write(f.File); err != nil {
		return err
	}
	return f.Commit()
}

// WriteBytes is Write of what is at hand.
func WriteBytes(path string, mode os.FileMode, b []byte) error {
	return Write(path, mode, func(f *os.File) error {
		_, err := f.Write(b)
		return err
	})
}
