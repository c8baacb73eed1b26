//go:build !(amd64 || arm64) || purego

package sched

func pause() {}
