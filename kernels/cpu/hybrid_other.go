//go:build !amd64

package cpu

// hybrid is empty: not an x86.
func hybrid([]int) map[int]Core { return nil }
