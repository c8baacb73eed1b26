//go:build arm64 && !purego

package cpu

import "runtime"

// detect lists the sets besides Scalar.
func detect() []string {
	f := Arm()
	var sets []string
	if streams(f) && runtime.GOOS == "linux" {
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
