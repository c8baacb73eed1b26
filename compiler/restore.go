package compiler

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"jns/compiler/internal/gguf"
	"jns/compiler/internal/restore"
	"jns/format"
)

// ErrMismatch means that a restored file does not have its source's digest: the container is damaged.
var ErrMismatch = restore.ErrMismatch

// ErrExists means that a file of the name is there already.
var ErrExists = errors.New("a file of that name is there already")

// RestoreOptions say what to restore and where to.
type RestoreOptions struct {
	Container string
	// Output is the file to write, for a source of one file; or a directory (it exists, or ends in a separator). In a
	// directory the file is called after the container, and parts of a split source get their numbers. Empty: the
	// container's own directory. No name is taken from inside the container.
	Output    string
	Overwrite bool // files of those names that are there already
	Workers   int
	Progress  func(Progress)
}

// Restored is a file that Restore wrote.
type Restored struct {
	Path   string
	Bytes  uint64
	SHA256 [32]byte
}

// Restore writes the GGUF files back that a container was made from, byte for byte. Each appears under its name only after
// its SHA-256 was found to be that of the source.
func Restore(ctx context.Context, opt RestoreOptions) ([]Restored, error) {
	f, c, err := openContainer(opt.Container)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	paths, err := opt.paths(len(c.TOC.Source))
	if err != nil {
		return nil, err
	}
	for _, p := range paths { // all of them before the first is written
		a, err := f.Stat()
		b, err2 := os.Stat(p)
		switch {
		case err == nil && err2 == nil && os.SameFile(a, b):
			return nil, fmt.Errorf("%w: %s is the container itself; name another output", ErrOutput, p)
		case err2 == nil && !opt.Overwrite:
			return nil, fmt.Errorf("%s: %w", p, ErrExists)
		}
	}
	total := uint64(0)
	for _, s := range c.TOC.Source {
		total += s.Length
	}
	report := newMeter(opt.Progress, "restore", total)
	var done []Restored
	for i, path := range paths {
		if err := restoreFile(ctx, c, i, path, restore.Options{Workers: opt.Workers, Progress: report.add}); err != nil {
			return done, fmt.Errorf("%s: %w", opt.Container, err)
		}
		done = append(done, Restored{path, c.TOC.Source[i].Length, c.TOC.Source[i].SHA256})
	}
	return done, nil
}

func restoreFile(ctx context.Context, c *format.Container, shard int, path string, opt restore.Options) error {
	out, err := createOutput(path, nil)
	if err != nil {
		return err
	}
	defer out.discard()
	if err := out.f.Truncate(int64(c.TOC.Source[shard].Length)); err != nil {
		return err
	}
	if err := restore.File(ctx, c, shard, out.f, opt); err != nil {
		return err
	}
	return out.commit()
}

// paths names the files of a source of n parts.
func (o *RestoreOptions) paths(n int) ([]string, error) {
	out := o.Output
	if out == "" {
		out = filepath.Dir(o.Container)
	}
	st, err := os.Stat(out)
	isDir := err == nil && st.IsDir()
	if !isDir && os.IsPathSeparator(out[len(out)-1]) {
		if err := os.MkdirAll(out, 0o777); err != nil {
			return nil, err
		}
		isDir = true
	}
	if !isDir {
		if n > 1 {
			return nil, fmt.Errorf("%w: %s: the source has %d parts; name a directory to restore them into", ErrOutput, out, n)
		}
		return []string{out}, nil
	}
	name := filepath.Base(o.Container)
	name = name[:len(name)-len(filepath.Ext(name))]
	if n == 1 {
		return []string{filepath.Join(out, name+".gguf")}, nil
	}
	paths := make([]string, n)
	for i := range paths {
		paths[i] = gguf.PartPath(filepath.Join(out, name), i+1, n)
	}
	return paths, nil
}

// openContainer opens a container file. The caller closes it.
func openContainer(path string) (*os.File, *format.Container, error) {
	f, size, err := format.OpenFile(path)
	if err != nil {
		return nil, nil, err
	}
	c, err := format.Open(f, size)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return f, c, nil
}
