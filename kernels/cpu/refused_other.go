//go:build !amd64 || purego

package cpu

func refused() map[string]string { return nil }
