package expert

import (
	"fmt"
	"io"

	"jns/format/routing"
)

// ErrTrace is wrapped by errors about traces that cannot be used.
var ErrTrace = routing.ErrTrace

// What a trace consists of; package routing has the file.
type (
	Slot        = routing.Slot
	Turn        = routing.Turn
	TraceWriter = routing.Writer
)

// Trace is a trace that can be replayed.
type Trace struct{ routing.Trace }

// ReadTrace reads a trace. Errors wrap ErrTrace or routing.ErrVersion.
func ReadTrace(r io.Reader) (*Trace, error) {
	t, err := routing.Read(r)
	if err != nil {
		return nil, err
	}
	for i := range t.Turns {
		for _, class := range t.Turns[i].Class {
			if class >= aheadClasses {
				return nil, fmt.Errorf("%w: turn %d says class %d of what is likely to follow, there are %d; record it anew", ErrTrace, i, class, aheadClasses)
			}
		}
	}
	return &Trace{*t}, nil
}
