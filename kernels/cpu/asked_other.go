//go:build !arm64 || purego

package cpu

func asked() []string { return nil }
