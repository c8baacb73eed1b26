//go:build !darwin || purego

package sched

// This system has no classes of service.
const served = false

func serve() {}
