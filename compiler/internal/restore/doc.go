// Package restore writes the GGUF files back that a container was made from, byte for byte.
//
// The source section holds headers and what lay between tensors; the slots hold the tensors in tile order, which Unpack puts
// back. A file is written beside its final name and renamed only after its SHA-256 is that of the source.
//
// The package must not know architectures or programs, and takes no file name from the container.
package restore
