//go:build !linux && !darwin

package store

import (
	"os"
	"time"
)

func sizeAndTime(f *os.File) (int64, time.Time, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, time.Time{}, err
	}
	return st.Size(), st.ModTime(), nil
}
