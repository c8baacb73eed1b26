//go:build !darwin

package cpu

// Levels is empty: this system numbers processors, not kinds of them.
func Levels() []Level { return nil }

// Model is empty: see /proc/cpuinfo.
func Model() string { return "" }
