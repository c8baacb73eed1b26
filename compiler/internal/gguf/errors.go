package gguf

import (
	"errors"
	"fmt"
	"strings"
)

// What can be wrong with a file. Every error of this package that blames the input wraps exactly one of them;
// an error of the disk or the file system wraps none.
var (
	// ErrNotGGUF means the file is something else: a web page, a Git LFS pointer, another model format, or empty.
	ErrNotGGUF = errors.New("not a GGUF file")
	// ErrCorrupt means the file claims to be GGUF and contradicts itself, or ends too early.
	ErrCorrupt = errors.New("corrupt GGUF file")
	// ErrUnsupported means the file may well be sound, but this reader does not read its kind.
	ErrUnsupported = errors.New("unsupported GGUF file")
	// ErrMissingPart means a split set is incomplete.
	ErrMissingPart = errors.New("missing part of a split GGUF model")
	// ErrChanged means somebody wrote to a file while it was being read: what was read is neither the old model nor the new one. It blames no input.
	ErrChanged = errors.New("the file changed while it was read; try again when nobody writes to it")
)

// Error is a problem and its place. Key and Tensor are empty where they do not apply.
type Error struct {
	File   string // path, empty when parsed from memory
	Key    string
	Tensor string
	Offset int64 // byte offset in the file, -1 if the problem has no single place
	Err    error
}

// Error gives file, place and cause, in this order.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		fmt.Fprintf(&b, "%s: ", e.File)
	}
	if e.Key != "" {
		fmt.Fprintf(&b, "key %q: ", clip(e.Key))
	}
	if e.Tensor != "" {
		fmt.Fprintf(&b, "tensor %q: ", clip(e.Tensor))
	}
	if e.Offset >= 0 {
		fmt.Fprintf(&b, "offset %d: ", e.Offset)
	}
	b.WriteString(e.Err.Error())
	return b.String()
}

// Unwrap gives the cause, which wraps one of the sentinels.
func (e *Error) Unwrap() error { return e.Err }

// clip keeps a name from flooding a message; names can be as long as the file.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

// UnsupportedTypesError lists every tensor whose type this reader has no layout for, in table order.
// It wraps ErrUnsupported.
type UnsupportedTypesError struct {
	Tensors []UnsupportedTensor
}

// UnsupportedTensor names a tensor and its type number.
type UnsupportedTensor struct {
	Name string
	Type Type
}

// Error names the tensors, at most twenty of them.
func (e *UnsupportedTypesError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %d tensors of types that cannot be read:", ErrUnsupported, len(e.Tensors))
	for i, t := range e.Tensors {
		if i == 20 {
			fmt.Fprintf(&b, " and %d more", len(e.Tensors)-i)
			break
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " %q %s", clip(t.Name), describeType(t.Type))
	}
	return b.String()
}

// Unwrap gives ErrUnsupported.
func (e *UnsupportedTypesError) Unwrap() error { return ErrUnsupported }
