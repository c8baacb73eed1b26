// Package stream assembles the bytes of generated tokens into text that can be shown at once.
//
// A token may end in the middle of a character, and a stop string may begin in one token and end in
// another. An Assembler therefore gives out text as early as it can be sure of it: whole characters
// only, and nothing that a stop string may yet claim.
//
// The nouns: Assembler, stop (a string that ends the text and is not part of it). The package must
// not know tokens or models, and imports nothing of ours.
package stream

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrStop says that a stop string cannot be used.
var ErrStop = errors.New("stop string")

// Bounds of the stop strings. Work per byte of text is proportional to their number only.
const (
	MaxStops      = 64
	MaxStopLength = 4096 // bytes
)

// Assembler turns bytes into text. What it gives out, taken together, is the text that all bytes
// decode to, up to the first stop string. Bytes that are not UTF-8 become U+FFFD, one for each
// maximal part of a character (as the Unicode standard recommends and browsers and Python do), as
// soon as the byte that proves them wrong arrives, or at Flush.
type Assembler struct {
	stops   []matcher
	partial [utf8.UTFMax]byte // the bytes of an unfinished character
	n       int               // how many
	held    []byte            // whole characters that a stop string may claim
	stop    string            // the stop string found
	stopped bool
}

// New returns an Assembler that ends at any of the stop strings. Errors wrap ErrStop.
func New(stops ...string) (*Assembler, error) {
	if len(stops) > MaxStops {
		return nil, fmt.Errorf("%w: %d of them, at most %d are supported", ErrStop, len(stops), MaxStops)
	}
	a := &Assembler{}
	for i, s := range stops {
		switch {
		case s == "":
			return nil, fmt.Errorf("%w %d is empty", ErrStop, i)
		case len(s) > MaxStopLength:
			return nil, fmt.Errorf("%w %d has %d bytes, at most %d are supported", ErrStop, i, len(s), MaxStopLength)
		case !utf8.ValidString(s):
			return nil, fmt.Errorf("%w %d is not valid UTF-8", ErrStop, i)
		}
		a.stops = append(a.stops, newMatcher(s))
	}
	return a, nil
}

// Write takes bytes and returns the text that became certain, and whether a stop string has been
// found; after that, further bytes are ignored.
func (a *Assembler) Write(p []byte) (text string, stopped bool) {
	for _, b := range p {
		if a.stopped {
			break
		}
		a.decode(b)
	}
	return a.release(), a.stopped
}

// Flush ends the input and returns the text still held back.
func (a *Assembler) Flush() string {
	if a.n > 0 && !a.stopped {
		a.n = 0
		a.character(replacement)
	}
	for i := range a.stops {
		a.stops[i].got = 0
	}
	return a.release()
}

// Stop returns the stop string that was found.
func (a *Assembler) Stop() (stop string, found bool) { return a.stop, a.stopped }

// release gives out the characters no stop string can claim any more.
func (a *Assembler) release() string {
	keep := 0
	if !a.stopped {
		for i := range a.stops {
			keep = max(keep, a.stops[i].got)
		}
	}
	n := len(a.held) - keep
	text := string(a.held[:n])
	a.held = append(a.held[:0], a.held[n:]...)
	return text
}

var replacement = []byte("\uFFFD")

// decode takes the next byte.
func (a *Assembler) decode(b byte) {
	if a.n > 0 {
		if a.continues(b) {
			a.partial[a.n] = b
			a.n++
			if a.n == length(a.partial[0]) {
				n := a.n
				a.n = 0
				a.character(a.partial[:n])
			}
			return
		}
		a.n = 0
		a.character(replacement)
		if a.stopped { // by a stop string with U+FFFD in it
			return
		}
	}
	switch length(b) {
	case 0:
		a.character(replacement)
	case 1:
		a.partial[0] = b
		a.character(a.partial[:1])
	default:
		a.partial[0], a.n = b, 1
	}
}

// length returns how many bytes a character that begins with b has; 0: none begins so.
func length(b byte) int {
	switch {
	case b < 0x80:
		return 1
	case b < 0xC2:
		return 0
	case b < 0xE0:
		return 2
	case b < 0xF0:
		return 3
	case b < 0xF5:
		return 4
	}
	return 0
}

// continues reports whether b can follow the partial character (Unicode standard, table 3-7).
func (a *Assembler) continues(b byte) bool {
	lo, hi := byte(0x80), byte(0xBF)
	if a.n == 1 {
		switch a.partial[0] {
		case 0xE0:
			lo = 0xA0 // else overlong
		case 0xED:
			hi = 0x9F // else a surrogate
		case 0xF0:
			lo = 0x90
		case 0xF4:
			hi = 0x8F // else beyond U+10FFFF
		}
	}
	return b >= lo && b <= hi
}

// character takes one whole character. A stop string that ends with it ends the text; of several,
// the longest.
func (a *Assembler) character(c []byte) {
	a.held = append(a.held, c...)
	for i := range a.stops {
		m := &a.stops[i]
		for _, b := range c {
			m.next(b)
		}
		if m.got == len(m.s) && len(m.s) > len(a.stop) {
			a.stop, a.stopped = m.s, true
		}
	}
	if a.stopped {
		a.held = a.held[:len(a.held)-len(a.stop)]
	}
}

// matcher follows one stop string through the text (Knuth, Morris, Pratt 1977).
type matcher struct {
	s    string
	fail []int // fail[k]: the longest proper prefix of s that ends s[:k]
	got  int   // the longest prefix of s that ends the text so far
}

func newMatcher(s string) matcher {
	m := matcher{s: s, fail: make([]int, len(s)+1)}
	for k := 2; k <= len(s); k++ {
		j := m.fail[k-1]
		for j > 0 && s[j] != s[k-1] {
			j = m.fail[j]
		}
		if s[j] == s[k-1] {
			j++
		}
		m.fail[k] = j
	}
	return m
}

func (m *matcher) next(b byte) {
	if m.got == len(m.s) {
		m.got = m.fail[m.got]
	}
	for m.got > 0 && m.s[m.got] != b {
		m.got = m.fail[m.got]
	}
	if m.s[m.got] == b {
		m.got++
	}
}
