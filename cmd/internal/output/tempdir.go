package output

import (
	"errors"
	"os"
	"path/filepath"
)

// inUse is locked in a temporary directory as long as its process lives.
const inUse = "in-use"

// TempDir makes a directory for files that nobody needs once the process has ended, and removes those of the same prefix that killed processes have left. remove must be called.
func TempDir(prefix string) (dir string, remove func(), err error) {
	old, err := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	if err != nil {
		return "", nil, err
	}
	for _, d := range old {
		// One that has no such file is not from here, or just being made; one of another user cannot be opened.
		f, err := os.OpenFile(filepath.Join(d, inUse), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if locks && lock(f) == nil {
			_ = os.RemoveAll(d) // as far as it goes
		}
		f.Close()
	}
	if dir, err = os.MkdirTemp("", prefix); err != nil {
		return "", nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, inUse), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		if err = lock(f); err != nil { // another process takes it for one that was left
			f.Close()
		}
	}
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, func() {
		os.RemoveAll(dir)
		f.Close()
	}, nil
}
