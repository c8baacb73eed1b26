//go:build !linux

package kerneltest

func largePages([]byte) {}
