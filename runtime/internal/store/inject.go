package store

import "time"

// Fault makes the reads of a backend go wrong, so that tests can see what a run makes of it.
type Fault struct {
	Result  func(n, bytes int) int // of the n-th read that ends with so many bytes: fewer of them, or a negative errno; nil: as it is
	Reorder bool                   // reads end one at a time, the last one first
	Delay   time.Duration          // before reads end
}

// Inject makes reads that end from now on go wrong.
func (b *Backend) Inject(f Fault) {
	for _, q := range []*Reads{b.Demand, b.Ahead} {
		q.mu.Lock()
		if d, ok := q.dev.(*faulty); ok {
			d.f, d.n = f, 0
		} else {
			d = &faulty{device: q.dev, f: f, buf: make([][]byte, q.dev.depth())}
			for tag, r := range q.under {
				if r != nil {
					d.buf[tag] = r.Buf[r.got:]
				}
			}
			q.dev = d
		}
		q.mu.Unlock()
	}
}

// faulty is a device whose reads go wrong.
type faulty struct {
	device
	f    Fault
	n    int
	buf  [][]byte // by tag
	held []poolEnd
}

func (d *faulty) start(tag int, buf []byte, off int64, fresh bool) error {
	d.buf[tag] = buf
	return d.device.start(tag, buf, off, fresh)
}

func (d *faulty) reap(wait bool, f func(tag, res int)) error {
	err := d.device.reap(wait && len(d.held) == 0, func(tag, res int) {
		if d.f.Result != nil && res > 0 {
			got := res
			res = min(d.f.Result(d.n, got), got)
			for i := max(res, 0); i < got; i++ { // what is not said to have come must not be used
				d.buf[tag][i] = 0xA5
			}
		}
		d.n++
		d.held = append(d.held, poolEnd{tag, res})
	})
	if len(d.held) > 0 {
		time.Sleep(d.f.Delay)
	}
	for len(d.held) > 0 {
		e := d.held[len(d.held)-1]
		d.held = d.held[:len(d.held)-1]
		f(e.tag, e.res)
		if d.f.Reorder {
			break
		}
	}
	return err
}
