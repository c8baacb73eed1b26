package engine

import "jns/runtime/internal/exec"

// OpTime is where the time of the workers went, by operation.
type OpTime = exec.OpTime

// Times runs f and gives what the operations that ran meanwhile took, the longest first.
func (e *Engine) Times(f func() error) ([]OpTime, error) {
	e.mu.Lock()
	e.model.Time(true)
	e.mu.Unlock()
	err := f()
	e.mu.Lock()
	defer e.mu.Unlock()
	times := e.model.Times()
	e.model.Time(false)
	return times, err
}
