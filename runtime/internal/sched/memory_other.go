//go:build !darwin

package sched

func systemMemory() uint64 { return 0 }
