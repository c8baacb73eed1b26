package compiler

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"jns/compiler/internal/gguf"
)

// partialSuffix marks a file under construction. A process that is killed leaves only such a file; the next one that writes
// the same output removes it.
const partialSuffix = ".partial"

// output is a file that gets its name when it is complete.
type output struct {
	path string
	f    *os.File
	done bool
}

// createOutput opens path's partial file. It refuses to write over one of the source's files (set may be nil), and through a link that somebody put in the partial file's place.
func createOutput(path string, set *gguf.Set) (*output, error) {
	name := path + partialSuffix
	for _, p := range []string{path, name} {
		st, err := os.Lstat(p) // a link counts as what it is: /dev/stdout is one, and would be replaced
		if err != nil {
			continue
		}
		if !st.Mode().IsRegular() {
			return nil, fmt.Errorf("%w: %s exists and is no regular file; remove it or name another output", ErrOutput, p)
		}
		if set == nil {
			continue
		}
		for _, f := range set.Files {
			if src, err := os.Stat(f.Path); err == nil && os.SameFile(st, src) {
				return nil, fmt.Errorf("%w: %s is the source; name another output", ErrOutput, p)
			}
		}
	}
	for range 8 {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, notCreated(path, err)
		}
		if err := lock(f); err != nil {
			return nil, errors.Join(fmt.Errorf("%w: %s", ErrBusy, name), f.Close())
		}
		// Whoever held the lock before may have removed or renamed the file meanwhile; then this is not the one under the name.
		if same(f, name) {
			if err := f.Truncate(0); err != nil {
				return nil, errors.Join(err, f.Close())
			}
			return &output{path: path, f: f}, nil
		}
		f.Close()
	}
	return nil, fmt.Errorf("%w: %s", ErrBusy, name)
}

// notCreated says of the file that was asked for what happened to its partial file.
func notCreated(path string, err error) error {
	if dir := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s: there is no directory %s; make it first", ErrOutput, path, dir)
	}
	if p, ok := err.(*fs.PathError); ok {
		return &fs.PathError{Op: "create", Path: path, Err: p.Err}
	}
	return err
}

func same(f *os.File, name string) bool {
	a, err1 := f.Stat()
	b, err2 := os.Lstat(name)
	return err1 == nil && err2 == nil && os.SameFile(a, b)
}

// commit makes the file durable and gives it its name.
func (o *output) commit() error {
	if err := o.f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(o.path+partialSuffix, o.path); err != nil {
		return err
	}
	o.done = true
	return errors.Join(o.f.Close(), syncDir(filepath.Dir(o.path)))
}

// discard removes what was written, unless it was committed.
func (o *output) discard() {
	if o.done {
		return
	}
	o.done = true
	os.Remove(o.path + partialSuffix)
	o.f.Close()
}

// syncDir makes a rename durable. Some file systems cannot sync a directory; their renames are as durable as they get.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	_ = d.Sync()
	return d.Close()
}
