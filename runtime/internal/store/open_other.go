//go:build !linux

package store

import (
	"errors"
	"os"
	"runtime"
)

func openDirect(string) (*os.File, int, error) { return nil, 0, errors.ErrUnsupported }

func openRing(*os.File) (device, error) { return nil, errors.ErrUnsupported }

func openPages() *Pages { return nil }

func dropCached(*os.File) func(off, n int64) { return nil }

func cached([]byte) bool { return false }

func place(string) string { return runtime.GOOS }
