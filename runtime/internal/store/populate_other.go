//go:build !linux

package store

import "errors"

func populate([]byte) error { return errors.ErrUnsupported }
