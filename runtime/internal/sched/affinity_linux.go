package sched

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Allowed lists the processors that this process may run on, by number; nil where that is not known. The kernel has taken control groups' cpusets off it already.
func Allowed() []int {
	var s unix.CPUSet
	if unix.SchedGetaffinity(0, &s) != nil {
		return nil
	}
	return members(&s)
}

func members(s *unix.CPUSet) (ids []int) {
	left := s.Count()
	for id := 0; left > 0; id++ {
		if s.IsSet(id) {
			ids, left = append(ids, id), left-1
		}
	}
	return ids
}

// place is a set of processors as the kernel takes it.
type place struct{ set unix.CPUSet }

// placeOf makes a place; false for numbers that the kernel's call cannot name.
func placeOf(ids []int) (p place, ok bool) {
	for _, id := range ids {
		p.set.Set(id)
	}
	return p, len(ids) > 0 && slices.Equal(members(&p.set), ids)
}

// here is where the calling thread may run.
func here() (p place, ok bool) { return p, unix.SchedGetaffinity(0, &p.set) == nil }

// move lets the calling thread run on the place only. False: the system does not let it; the thread runs where it may, only slower.
func (p *place) move() bool { return unix.SchedSetaffinity(0, &p.set) == nil }
