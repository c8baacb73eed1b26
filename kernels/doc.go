// Package kernels gives the arithmetic of the runtime: products of weights in tile layouts with activations, vector operations, attention.
//
// Its nouns: a kernel is a function for one operation, one layout and one set of instructions; a set is a name for the instructions that a family of
// kernels needs (package cpu detects them). Kernels are chosen once, at open: BindMatMul and VecFor give plain function values, the best that the machine
// has. Every kernel gives the bits of package scalar, which is the definition; a kernel's name is a sentence, gemm_q4_kx16_q8x_32x6_avx512vnni.
//
// To add one: write its generator under _asm/amd64 or _asm/arm64, run make asm, and enter it in the table of its set; the tests of kerneltest walk the tables. The
// package must not know files, models or programs.
package kernels
