// Package tile defines how weights and activations lie in memory: it is the one place that the packer, the kernel
// generators, the scalar reference and the tests take every offset and size from.
//
// Its nouns: a Codec describes a source quantisation type (what one block of a GGUF tensor means); a Layout is an arrangement
// of a matrix in a container (portable: the source blocks as they are; x16: groups of 16 rows, interleaved so that one vector
// lane is one row); a tile row is the smallest piece of a layout that stands alone: Layout.Rows matrix rows, all columns.
// Q8X is the format of quantised activations.
//
// The package must not know files, models, CPUs or kernels. Read codec.go, layout.go, q8x.go first.
package tile
