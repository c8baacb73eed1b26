package format

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrNotRegular: a path names a directory, a pipe or a device, which hold no container and no model.
var ErrNotRegular = errors.New("not a regular file")

// OpenFile opens a regular file and gives its size. Anything else is refused before it is opened: a pipe would block until somebody writes to it, and nothing could
// interrupt that. Errors are the system's or wrap ErrNotRegular; both name the file.
func OpenFile(path string) (*os.File, int64, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if err := regular(path, st); err != nil {
		return nil, 0, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	if st, err = f.Stat(); err == nil {
		err = regular(path, st) // it may be another one by now
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, st.Size(), nil
}

func regular(path string, st fs.FileInfo) error {
	what := "something else"
	switch m := st.Mode(); {
	case m.IsRegular():
		return nil
	case m.IsDir():
		what = "a directory"
	case m&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case m&fs.ModeDevice != 0:
		what = "a device"
	case m&fs.ModeSocket != 0:
		what = "a socket"
	}
	return fmt.Errorf("%s: %w: it is %s", path, ErrNotRegular, what)
}
