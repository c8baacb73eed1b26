package format

import (
	"errors"
	"fmt"
	"strings"
)

// Sentinels. Every error of this package wraps one of them (or an error of the reader it was given).
var (
	// ErrMagic: the file is not a JNS container.
	ErrMagic = errors.New("not a JNS container")
	// ErrVersion: the container was written in a version of the format that this program does not read.
	ErrVersion = errors.New("unknown version of the container format")
	// ErrCorrupt: the container breaks a rule of SPEC.md, or is cut short.
	ErrCorrupt = errors.New("corrupt container")
	// ErrDigest: bytes do not have the digest that the container says they have. It is a kind of ErrCorrupt: errors.Is finds both.
	ErrDigest = fmt.Errorf("digest mismatch: %w", ErrCorrupt)
	// ErrUnsupported: the container is sound but needs something that this program does not have.
	ErrUnsupported = errors.New("not supported by this version")
)

// Error is an error at a place in a container.
type Error struct {
	Section string // "header", "toc", or the name of a section
	Offset  int64  // absolute offset in the file of the first byte concerned; -1 when there is no file
	Err     error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Section)
	if e.Offset >= 0 {
		fmt.Fprintf(&b, " at offset %d", e.Offset)
	}
	b.WriteString(": ")
	b.WriteString(e.Err.Error())
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// fault makes an *Error that wraps sentinel and says what is wrong.
func fault(section string, offset int64, sentinel error, text string, args ...any) error {
	return &Error{Section: section, Offset: offset, Err: fmt.Errorf("%s: %w", fmt.Sprintf(text, args...), sentinel)}
}
