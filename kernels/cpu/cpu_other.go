//go:build !amd64 || purego

package cpu

func detect() []string { return nil }
