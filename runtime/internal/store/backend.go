package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Ways of reading slots. Auto is the fastest that works, measured once for each machine and file system.
const (
	Auto  = "auto"
	Uring = "uring"
	Pread = "pread"
	Mmap  = "mmap"
)

// ErrBackend is returned for a way of reading that has no such name.
var ErrBackend = errors.New("unknown way of reading")

// backend is a way of reading slots.
type backend struct {
	name   string // as the receipt has it
	kind   string // as the user has it
	direct bool
}

// backends in the order in which they are tried.
var backends = []backend{
	{"io_uring direct", Uring, true},
	{"io_uring buffered", Uring, false},
	{"pread direct", Pread, true},
	{"pread buffered", Pread, false},
	{"mmap", Mmap, false},
}

// readers is the number of goroutines of the backends that have no queue of their own.
const readers = 4

// What the system may refuse, as variables for tests.
var (
	ringFor   = openRing
	directFor = openDirect
)

// Backend is an open way of reading one file: a queue for what is wanted now, and one for what will be, so that the one never waits behind the other.
type Backend struct {
	Name   string  // "io_uring direct", …
	Why    string  // how it was chosen
	Rate   float64 // bytes per second that were measured with it; 0: nothing was
	Demand *Reads
	Ahead  *Reads
	Pages  *Pages // nil: they are found as they are touched

	files []*os.File
}

// Probe is a range of the file that slots lie in, for trying and measuring.
type Probe struct {
	Off, Length int64  // multiples of 4096
	Slot        int64  // bytes of a usual slot
	Choices     string // file that keeps what was measured; empty: none
}

// OpenBackend opens the file for reads into mem. Each way is tried with a real read; what the system refuses (io_uring under seccomp, O_DIRECT on tmpfs) falls back to the next.
func (s *File) OpenBackend(kind string, mem []byte, p Probe) (*Backend, error) {
	var list []backend
	for _, b := range backends {
		if kind == b.kind || kind == Auto || kind == "" {
			list = append(list, b)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: %q; there are auto, uring, pread, mmap", ErrBackend, kind)
	}
	why, rates := "asked for", map[string]float64(nil)
	if kind == Auto || kind == "" {
		list, rates, why = s.preferred(list, p)
	} else if kind == Uring {
		list = append(list, backends[2], backends[3]) // what is refused falls back
	}
	var refused []string
	for _, b := range list {
		o, err := s.try(b, mem, p)
		if err == nil {
			o.Why, o.Rate = why, 1e6*rates[b.name]
			if len(refused) > 0 {
				o.Why += "; refused: " + strings.Join(refused, "; ")
			}
			return o, nil
		}
		if errors.Is(err, ErrTruncated) {
			return nil, err
		}
		refused = append(refused, fmt.Sprintf("%s (%v)", b.name, cause(err)))
	}
	return nil, fmt.Errorf("%w: %s: %s", ErrRead, s.path, strings.Join(refused, "; "))
}

// cause is the innermost error, for lists.
func cause(err error) error {
	for {
		u := errors.Unwrap(err)
		if u == nil {
			return err
		}
		err = u
	}
}

// open opens a backend without trying it.
func (s *File) open(b backend) (*Backend, error) {
	o := &Backend{Name: b.name}
	f, align := s.f, 1
	if b.direct {
		var err error
		if f, align, err = directFor(s.path); err != nil {
			return nil, err
		}
		o.files = append(o.files, f)
		if err := same(f, s.f); err != nil {
			return nil, errors.Join(err, o.Close())
		}
	}
	for _, q := range []**Reads{&o.Demand, &o.Ahead} {
		var dev device
		var err error
		switch {
		case b.kind == Uring:
			if dev, err = ringFor(f); err != nil {
				return nil, errors.Join(err, o.Close())
			}
		case b.kind == Mmap:
			dev = newPool(readers, copyFrom(s.data))
		default:
			dev = newPool(readers, f.ReadAt)
		}
		*q = newReads(s.path, dev, s.f, align)
		if b.kind == Uring {
			(*q).spin = ringSpin
		}
		if !b.direct {
			(*q).drop = dropCached(s.f)
		}
	}
	o.Ahead.follow(o.Demand)
	if b.kind == Uring {
		o.Pages = openPages()
	}
	return o, nil
}

// same proves that two open files are one: the path may have got a new file since.
func same(a, b *os.File) error {
	x, err := a.Stat()
	if err != nil {
		return err
	}
	y, err := b.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(x, y) {
		return errors.New("another file has taken the name")
	}
	return nil
}

// try opens a backend and does one real read with it.
func (s *File) try(b backend, mem []byte, p Probe) (*Backend, error) {
	o, err := s.open(b)
	if err != nil || p.Length == 0 {
		return o, err
	}
	r := &Read{Off: p.Off, Buf: mem[:4096]}
	o.Demand.Start(r)
	if err = o.Demand.Wait(r); err == nil && o.Demand.Stats().Refused > 0 {
		err = errors.New("refused at the first read")
	}
	if err != nil {
		return nil, errors.Join(err, o.Close())
	}
	o.Demand.stats = ReadStats{}
	return o, nil
}

// preferred sorts backends by what was measured on this machine and file system (MB/s), measuring if need be.
func (s *File) preferred(list []backend, p Probe) ([]backend, map[string]float64, string) {
	at := place(s.path)
	kept := map[string]map[string]float64{}
	if p.Choices != "" {
		if b, err := os.ReadFile(p.Choices); err == nil {
			json.Unmarshal(b, &kept)
		}
	}
	rates, found := kept[at], true
	if len(rates) == 0 {
		rates, found = s.measure(list, p), false
		if p.Choices != "" && len(rates) > 0 {
			if kept == nil {
				kept = map[string]map[string]float64{}
			}
			kept[at] = rates
			keep(p.Choices, kept)
		}
	}
	best, top := 0, 0.0
	for i, b := range list {
		r := rates[b.name]
		if top == 0 && r > 0 || r > 1.5*top { // an earlier one costs the workers less and leaves nothing in the system's cache
			best, top = i, r
		}
	}
	why := "the file is too small to measure with"
	if top > 0 {
		var all []string
		for _, b := range list {
			if r := rates[b.name]; r > 0 {
				all = append(all, fmt.Sprintf("%s %.0f", b.name, r))
			}
		}
		why = "measured MB/s: " + strings.Join(all, ", ")
		if found {
			why += " (kept from an earlier run)"
		}
	}
	out := append([]backend{list[best]}, list[:best]...)
	return append(out, list[best+1:]...), rates, why
}

// measure reads a few slots in each way and gives MB/s.
func (s *File) measure(list []backend, p Probe) map[string]float64 {
	const depth, most = 4, 16
	n := min(p.Slot, 4<<20) &^ 4095
	if n < 64<<10 || p.Length < 256<<20 {
		return nil // too small to tell anything
	}
	mem, err := Frames(int(depth * n))
	if err != nil {
		return nil
	}
	defer FreeFrames(mem)
	if drop := dropCached(s.f); drop != nil {
		drop(p.Off, p.Length) // what lies in the system's cache would tell its speed
	}
	out := map[string]float64{}
	for turn := range 3 * len(list) { // in turns, the best of three: other processes come and go
		b := list[turn%len(list)]
		o, err := s.open(b)
		if err != nil {
			continue
		}
		var rs [depth]Read
		slots, good, start := p.Length/n, true, time.Now()
		for i := range most + depth {
			r := &rs[i%depth]
			if i >= depth && o.Demand.Wait(r) != nil {
				good = false
				break
			}
			if i < most {
				at := p.Off + (int64(i)*7919+int64(turn)*104729)%slots*n // far apart, and other ones every time
				if !b.direct && cached(s.data[at:at+n]) {
					good = false // dirty pages and those that another process maps stay
					break
				}
				*r = Read{Off: at, Buf: mem[int64(i%depth)*n:][:n]}
				o.Demand.Start(r)
			}
		}
		took := time.Since(start).Seconds()
		good = good && o.Demand.Stats().Refused == 0
		if o.Close() == nil && good {
			out[b.name] = max(out[b.name], float64(int64(float64(most*n)/took/1e6)))
		}
	}
	return out
}

// keep writes what was measured; a failure only means that it is measured again.
func keep(name string, v any) {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil || os.MkdirAll(filepath.Dir(name), 0o755) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".io*")
	if err != nil {
		return
	}
	_, err = f.Write(b)
	if errors.Join(err, f.Close()) != nil || os.Rename(f.Name(), name) != nil {
		os.Remove(f.Name())
	}
}

// Close waits for reads under way and closes the backend.
func (b *Backend) Close() error {
	var errs []error
	for _, q := range []*Reads{b.Demand, b.Ahead} {
		if q != nil {
			errs = append(errs, q.Close())
		}
	}
	errs = append(errs, b.Pages.Close())
	for _, f := range b.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// Changed tells whether the file has another size or time of change than when it was opened.
func (s *File) Changed() error {
	size, changed, err := sizeAndTime(s.f)
	if err != nil {
		return err
	}
	if size < s.Size() {
		return fmt.Errorf("%w: %s: it has %d bytes, it had %d when it was opened: %w", ErrRead, s.path, size, s.Size(), ErrTruncated)
	}
	if size != s.Size() || !changed.Equal(s.changed) {
		return fmt.Errorf("%w: %s: the file has been written to since it was opened", ErrRead, s.path)
	}
	return nil
}
