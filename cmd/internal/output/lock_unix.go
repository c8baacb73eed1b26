//go:build unix

package output

import (
	"os"
	"syscall"
)

// locks says whether lock does anything.
const locks = true

// lock takes the file for this process until it is closed, or fails at once.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
