package engine

import "jns/kernels"

// Cores sums up the kinds of cores of this machine, and Features their instructions beyond the common ones; "" where nothing is known (they are on arm64).
func Cores() string { return kernels.Cores() }

// Features: see Cores.
func Features() string { return kernels.Features() }
