//go:build amd64 && !linux && !purego

package cpu

import "errors"

func tiles() error { return errors.New("the tile registers are asked for on Linux only") }
