//go:build arm64 && !purego

package cpu

// detect lists the sets besides Scalar.
func detect() []string {
	f := Arm()
	var sets []string
	if f.DotProd && f.I8MM {
		sets = append(sets, I8MM)
	}
	if f.DotProd {
		sets = append(sets, DotProd)
	}
	return sets
}
