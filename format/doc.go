// Package format reads and writes JNS containers: one file with a model's weights in the order kernels read them, the program that runs them, its
// tokenizer and chat template, and where it all came from.
//
//	0        4096             64 KiB·k                                                        end
//	├ header ┼ contents (CBOR) ┼ source ┼ tokenizer ┼ template ┼ program ┼ names ┼ tensors ┼ slots ┼ provenance ┤…
//	…┼ resident ┼ layers ┼ experts ┼ rows ┼ aside ┼ chunks ┤
//	  └──────────── slots, each at 4096·k ────────┘   └ BLAKE3 per MiB
//
// The nouns: a section is a range of the file of one kind; a tensor is what the source called so, stored as tile rows in parts; a slot is a range that
// is read as one and holds parts that are used together; the program is a list of operations over buffers; the root digest names the container and
// covers every byte of it.
//
// A compiler makes a Draft, lays it (Lay), writes the slots' bytes, and seals the file (Seal). A reader opens it (Open: small parts only, weights untouched),
// has the program proved (package check) and maps the slots. Verify reads everything.
//
// Files are untrusted: every length is compared with a limit and with the file before anything is allocated, every decoder refuses what its encoder would
// not have written, nothing panics. Errors are *Error with section and offset, and wrap ErrMagic, ErrVersion, ErrCorrupt, ErrDigest or ErrUnsupported.
//
// SPEC.md holds the rules, JNS-1 and on. The package must not know GGUF, tile layouts or kernels: layouts are numbers to it, and arithmetic happens
// elsewhere. It imports nothing of this module.
//
// Read in this order: header.go, section.go, toc.go, tensor.go, slot.go, program.go, program_cbor.go, source.go, provenance.go, tokenizer.go; then
// lay.go, scan.go, seal.go for writing, open.go, verify.go, unclaimed.go for reading; dump.go, program_text.go and diff.go show.
package format
