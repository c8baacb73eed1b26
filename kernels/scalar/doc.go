// Package scalar defines the result of every operation, to the last bit: plain Go, obvious and slow, rounding included.
//
// A product of weights and activations is one chain of fused multiply-adds per output, block after block in order; a reduction over a vector runs in 16
// fixed lanes and a fixed tree; transcendental functions are polynomials in float32 given here, because those of package math differ between platforms
// (lint_test.go refuses them). Any layout works through its codec. Read matmul.go, then vec_reduce.go, vec_math.go, attend.go.
//
// The package must not know instruction sets, files or models.
package scalar
