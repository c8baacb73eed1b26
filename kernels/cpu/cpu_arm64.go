//go:build arm64 && !purego

package cpu

import "runtime"

// detect lists the sets besides Scalar.
func detect() []string {
	f := Arm()
	var sets []string
	// The x16 layouts make a vector of sixteen rows, which is a streaming vector of exactly 512 bits. macOS may run a signal handler in streaming mode and return with the upper
	// parts of its registers cleared; signals would have to be masked around every call, which the standard library has no way to do.
	if f.DotProd && f.I8MM && f.SME2 && f.SVL == 64 && runtime.GOOS == "linux" {
		sets = append(sets, SME2)
	}
	if f.DotProd && f.I8MM {
		sets = append(sets, I8MM)
	}
	if f.DotProd {
		sets = append(sets, DotProd)
	}
	return sets
}
