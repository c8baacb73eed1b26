//go:build !amd64 || purego

package kernels

import "jns/kernels/tile"

func fillProbe(string, *Probe) {}

func peak(*tile.Layout, string) func(int) int { return nil }

func promptKernel(*tile.Layout, string) string { return "" }
