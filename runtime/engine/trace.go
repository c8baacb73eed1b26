package engine

import (
	"io"

	"jns/format/routing"
	"jns/runtime/internal/expert"
)

// Errors about routing traces wrap one of these.
var (
	ErrTrace        = routing.ErrTrace
	ErrTraceVersion = routing.ErrVersion
)

// Trace is a recorded routing: which experts each pass used.
type Trace struct{ t *expert.Trace }

// Replayed is what a policy would have read.
type Replayed = expert.Replayed

// ReadTrace reads what --record-routing wrote. Errors wrap ErrTrace or ErrTraceVersion.
func ReadTrace(r io.Reader) (*Trace, error) {
	t, err := expert.ReadTrace(r)
	if err != nil {
		return nil, err
	}
	return &Trace{t}, nil
}

// TraceFull reports whether the run was longer than a trace can be, so that Options.Record got its beginning alone. After Close, or between runs.
func (e *Engine) TraceFull() bool {
	return e.stream != nil && e.stream.trace != nil && e.stream.trace.Full()
}

// Slots is the number of expert slots of the recorded model, Bytes their size, Passes the number of passes.
func (t *Trace) Slots() (slots int, bytes uint64, passes int) {
	for _, s := range t.t.Slots {
		bytes += uint64(s.Length)
	}
	for _, u := range t.t.Turns {
		if u.Slots == nil {
			passes++
		}
	}
	return len(t.t.Slots), bytes, passes
}

// Simulate says what each policy would have read with so many bytes for experts, without reading ahead and with it, and last what the optimum would that knows the future.
func (t *Trace) Simulate(memory uint64) ([]Replayed, error) {
	var out []Replayed
	for _, ahead := range []bool{false, true} {
		for _, p := range expert.Policies() {
			r, err := t.t.Replay(p, int64(memory), ahead)
			if err != nil {
				return nil, err
			}
			out = append(out, r)
		}
	}
	return append(out, t.t.Belady(int64(memory))), nil
}

// HeatMap draws the use of experts as SVG.
func (t *Trace) HeatMap(w io.Writer, title string) error { return t.t.Heat().SVG(w, title) }
