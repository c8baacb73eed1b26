//go:build unix && !linux

package store

func largePages([]byte) {}
