//go:build !unix

package store

// Memory gives n bytes of zeroed memory. Give them back with FreeMemory.
func Memory(n int) ([]byte, error) { return make([]byte, n), nil }

// FreeMemory gives the memory back.
func FreeMemory([]byte) error { return nil }
