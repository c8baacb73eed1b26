// Package gguf reads GGUF files, versions 2 and 3, one file or a split set, and checks them before anyone relies on them.
//
// Its nouns: a File is one parsed header, a Set is the files that make one model, a Tensor is a row of a tensor table whose
// bytes are known to lie inside its file, a KV is a metadata entry, an Array is a view of an array value that still lies in
// the file. Start with parse.go (one file), then split.go (a set).
//
// What Parse returns has been checked: every count against the bytes left, every product for overflow, every tensor inside
// the file, on its alignment and clear of the others, keys and names unique. Array values are not copied at parse time: they
// are read when asked for, so parsing needs memory only for names and scalars.
//
// The package must not know what a model is: no architectures, no tokenizers, no meaning of keys beyond general.alignment
// and split.*. It imports nothing of this module.
package gguf
