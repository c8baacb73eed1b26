package store

import (
	"os"
	"sync"
	"sync/atomic"
)

// Extent is a range of a file.
type Extent struct{ Off, Length uint64 }

// populateStep is what is mapped in one call, so that nobody waits long for its end.
const populateStep = 4 << 20

// Populating maps pages of a file beside other work, so that whoever touches them finds them there.
type Populating struct {
	stop atomic.Bool
	done sync.WaitGroup
}

// Populate begins to map the extents in their order. It is an advice: what lies outside the file is left out, and where the system refuses pages are mapped as they are touched.
// Stop must be called before the file is closed.
func (s *File) Populate(extents []Extent) *Populating {
	p := &Populating{}
	p.done.Go(func() {
		page := uint64(os.Getpagesize())
		for _, e := range extents {
			for at := e.Off &^ (page - 1); at < e.Off+e.Length; at += populateStep {
				b, err := s.Range(at, min(populateStep, e.Off+e.Length-at))
				if err != nil || p.stop.Load() || populate(b) != nil {
					return
				}
			}
		}
	})
	return p
}

// Stop ends it, if it has not ended, and waits until it has. The nil Populating is one that has ended.
func (p *Populating) Stop() {
	if p == nil {
		return
	}
	p.stop.Store(true)
	p.done.Wait()
}
