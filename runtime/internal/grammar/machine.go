package grammar

import (
	"encoding/binary"
	"slices"
)

// dead is the state from which no text leads to an end.
const dead = -1

// thread is one way to go on: an instruction that takes a byte, and the calls that it is in.
type thread struct{ pc, stack int32 }

// frame is a call: where to go on afterwards, and the call around it. Equal stacks have equal numbers; 0 is the empty one.
type frame struct{ ret, up int32 }

// state is a set of threads.
type state struct {
	threads []thread
	ends    bool // the text may end here
	next    []int32
}

// unknown marks what has not been computed of a state's next ones.
const unknown = -2

// machine is the automaton of a program. Its states are made when they are first reached.
type machine struct {
	code   []inst
	frames []frame
	depth  []int32 // by frame
	number map[frame]int32
	states []state
	byKey  map[string]int32
	seen   map[thread]bool
	todo   []thread
	work   int // instructions looked at so far
	err    error
}

func newMachine(code []inst, start int32) *machine {
	m := &machine{code: code, frames: []frame{{}}, depth: []int32{0}, number: map[frame]int32{}, byKey: map[string]int32{}, seen: map[thread]bool{}}
	m.state([]thread{{start, 0}}) // number 0
	return m
}

// state gives the number of the state that the threads lead to without a byte; dead if there is none.
func (m *machine) state(from []thread) int32 {
	clear(m.seen)
	m.todo = append(m.todo[:0], from...)
	var s state
	for len(m.todo) > 0 {
		t := m.todo[len(m.todo)-1]
		m.todo = m.todo[:len(m.todo)-1]
		if m.seen[t] {
			continue
		}
		m.work++
		if m.seen[t] = true; len(m.seen) > mostThreads || m.work > mostWork {
			m.err = ErrTooLarge
			return dead
		}
		switch i := &m.code[t.pc]; i.op {
		case opByte:
			s.threads = append(s.threads, t)
		case opSplit:
			m.todo = append(m.todo, thread{i.next, t.stack}, thread{i.alt, t.stack})
		case opCall:
			if m.depth[t.stack] < mostDepth {
				m.todo = append(m.todo, thread{i.alt, m.push(frame{i.next, t.stack})})
			}
		case opRet:
			f := m.frames[t.stack]
			m.todo = append(m.todo, thread{f.ret, f.up})
		case opMatch:
			s.ends = true
		}
	}
	if len(s.threads) == 0 && !s.ends {
		return dead
	}
	slices.SortFunc(s.threads, func(a, b thread) int {
		if a.pc != b.pc {
			return int(a.pc) - int(b.pc)
		}
		return int(a.stack) - int(b.stack)
	})
	key := make([]byte, 1, 1+8*len(s.threads))
	if s.ends {
		key[0] = 1
	}
	for _, t := range s.threads {
		key = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(key, uint32(t.pc)), uint32(t.stack))
	}
	if n, ok := m.byKey[string(key)]; ok {
		return n
	}
	if len(m.states) >= mostStates {
		m.err = ErrTooLarge
		return dead
	}
	n := int32(len(m.states))
	m.states, m.byKey[string(key)] = append(m.states, s), n
	return n
}

func (m *machine) push(f frame) int32 {
	n, ok := m.number[f]
	if !ok {
		n = int32(len(m.frames))
		m.frames, m.depth, m.number[f] = append(m.frames, f), append(m.depth, m.depth[f.up]+1), n
	}
	return n
}

// step gives the state after one more byte.
func (m *machine) step(from int32, c byte) int32 {
	s := &m.states[from]
	if s.next == nil {
		s.next = slices.Repeat([]int32{unknown}, 256)
	}
	if n := s.next[c]; n != unknown {
		return n
	}
	var after []thread
	for _, t := range s.threads {
		if i := &m.code[t.pc]; i.set.has(c) {
			after = append(after, thread{i.next, t.stack})
		}
	}
	n := int32(dead)
	if len(after) > 0 {
		n = m.state(after)
	}
	m.states[from].next[c] = n // the states may have moved
	return n
}
