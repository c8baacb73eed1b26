package kv

import "slices"

// MarkEvery is the least distance of the positions at which a cache should be marked while it grows.
const MarkEvery = 512

// MarkDistance is the distance of marks where so many positions are computed at a time.
func MarkDistance(positions int) int { return max(positions, MarkEvery) }

// maxMarks bounds what a cache keeps: each mark holds as much as all recurrent states and windows take.
const maxMarks = 4

// mark is what the states that forget were after n positions. Its pages are shared with the cache until that writes to them.
type mark struct {
	n     int
	pages [][]*Page // per state; nil for states that keep everything
	low   []int
}

// UntilMark is the number of positions to compute before the cache should be marked; very many where nothing is ever forgotten.
func (c *Cache) UntilMark() int {
	if !c.store.passing {
		return int(^uint(0) >> 1)
	}
	return c.store.every - c.n%c.store.every
}

// Due says that the cache has come to a position at which it should be marked.
func (c *Cache) Due() bool { return c.store.passing && c.n%c.store.every == 0 }

// Mark makes it possible to come back to the present position later, at the price of a copy of what changes. Marks are given up where they become many or memory scarce: those
// whose loss costs least first, that is those near to the one before and far from the end.
func (c *Cache) Mark() {
	s := c.store
	if !s.passing || c.n == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := len(c.marks); k > 0 && c.marks[k-1].n == c.n {
		return
	}
	m := mark{n: c.n, pages: make([][]*Page, len(c.pages)), low: slices.Clone(c.low)}
	for state, l := range c.pages {
		if s.shapes[state].passing() {
			m.pages[state] = hold(l)
		}
	}
	c.add(m)
}

// add appends a mark, and gives up another if they are too many; store.mu is held.
func (c *Cache) add(m mark) {
	if len(c.marks) == maxMarks {
		least, before := 0, 0
		cost := func(i, before int) float64 { return float64(c.marks[i].n-before) / float64(m.n-c.marks[i].n) }
		best := cost(0, 0)
		for i := range c.marks {
			if v := cost(i, before); v < best {
				least, best = i, v
			}
			before = c.marks[i].n
		}
		c.drop(least)
	}
	c.marks = append(c.marks, m)
	s := c.store
	if i := slices.Index(s.marked, c); i >= 0 {
		s.marked = slices.Delete(s.marked, i, i+1)
	}
	s.marked = append(s.marked, c)
}

// hold gives a copy of a list of pages that shares them.
func hold(l []*Page) []*Page {
	for _, p := range l {
		if p != nil {
			p.refs.Add(1)
		}
	}
	return slices.Clone(l)
}

// drop gives up a mark; store.mu is held.
func (c *Cache) drop(i int) {
	s := c.store
	for state, l := range c.marks[i].pages {
		for _, p := range l {
			s.release(state, p)
		}
	}
	c.marks = slices.Delete(c.marks, i, i+1)
	if len(c.marks) == 0 {
		if i := slices.Index(s.marked, c); i >= 0 {
			s.marked = slices.Delete(s.marked, i, i+1)
		}
	}
}

// unmark gives up the marks beyond position n; those at n stay, unless it is 0.
func (c *Cache) unmark(n int) {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	for k := len(c.marks); k > 0 && c.marks[k-1].n > n; k = len(c.marks) {
		c.drop(k - 1)
	}
}

// lastMark is the position of the last mark at or before n, 0 if there is none.
func (c *Cache) lastMark(n int) int {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	for i := len(c.marks) - 1; i >= 0; i-- {
		if c.marks[i].n <= n {
			return c.marks[i].n
		}
	}
	return 0
}

// back makes the states that forget what they were at the mark at n, and says whether there is one.
func (c *Cache) back(n int) bool {
	s := c.store
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(c.marks, func(m mark) bool { return m.n == n })
	if i < 0 {
		return false
	}
	for state, l := range c.marks[i].pages {
		if !s.shapes[state].passing() {
			continue
		}
		now := hold(l)
		for _, p := range c.pages[state] {
			s.release(state, p)
		}
		c.pages[state], c.low[state] = now, c.marks[i].low[state]
	}
	return true
}

// holdMarks gives copies of the marks that share their pages, for letMarks: the cache's own may be given up at any time.
func (c *Cache) holdMarks() []mark {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	var out []mark
	for _, m := range c.marks {
		g := mark{n: m.n, pages: make([][]*Page, len(m.pages)), low: slices.Clone(m.low)}
		for state, l := range m.pages {
			g.pages[state] = hold(l)
		}
		out = append(out, g)
	}
	return out
}

// letMarks gives the pages of marks back.
func (c *Cache) letMarks(marks []mark) {
	for _, m := range marks {
		for state, l := range m.pages {
			for _, p := range l {
				c.store.put(state, p)
			}
		}
	}
}

// takeMarks makes held marks, in order of position, the cache's own.
func (c *Cache) takeMarks(marks []mark) {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	for _, m := range marks {
		c.add(m)
	}
}
