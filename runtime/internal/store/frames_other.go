//go:build !linux

package store

func hugePages([]byte) {}
