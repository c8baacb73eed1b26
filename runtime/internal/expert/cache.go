package expert

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"jns/runtime/internal/store"
)

// Place is where a slot lies in the file, and whether it stays in memory anyhow.
type Place struct {
	Slot
	Off      int64 // a multiple of 4096
	Dense    bool  // part of a dense matrix, used by every token; else an expert
	Resident bool  // not the cache's business
}

// Config says what a cache holds. Frames come from Plan.
type Config struct {
	Places  []Place // consecutive slots of the container
	First   uint32  // the container's number of the first
	Plan    Plan
	Mem     []byte // Plan.Bytes() of store.Frames, registered with the queues
	Policy  string // of experts
	Demand  *store.Reads
	Ahead   *store.Reads
	Pages   *store.Pages                        // may be nil
	Changed func() error                        // tells at each pass whether the file is another one; may be nil
	Verify  func(slot uint32, mem []byte) error // of a slot that has been read; may be nil
	Trace   *TraceWriter                        // may be nil
	Warm    []uint32                            // slots that were used most in an earlier run, likeliest first
}

// Plan is the division of a grant of memory into frames.
type Plan struct {
	dense, experts []pool
	denseOf        []uint8 // by streamed dense slot in order
	expertOf       []uint8
}

// MakePlan divides memory among the slots of places. dense is for slots of dense matrices that are not resident, experts for experts.
func MakePlan(places []Place, dense, experts int64) Plan {
	var d, e []Slot
	for _, p := range places {
		if p.Resident {
			continue
		}
		if p.Dense {
			d = append(d, p.Slot)
		} else {
			e = append(e, p.Slot)
		}
	}
	var plan Plan
	if len(d) > 0 { // one size for all: they come one after the other, whatever their size
		largest, bytes := int64(0), int64(0)
		for _, s := range d {
			largest = max(largest, frameSize(s.Length))
			bytes += frameSize(s.Length)
		}
		plan.dense = []pool{{size: largest, frames: min(max(int(dense/largest), 1), len(d)), slots: len(d), bytes: bytes}}
		plan.denseOf = make([]uint8, len(d))
	}
	if len(e) > 0 {
		plan.experts, plan.expertOf = sizePools(e, experts)
	}
	return plan
}

// Bytes is the memory that the frames take.
func (p *Plan) Bytes() (n int64) {
	for _, l := range [][]pool{p.dense, p.experts} {
		for _, q := range l {
			n += q.size * int64(q.frames)
		}
	}
	return n
}

// Share is the part of the streamed experts that fits.
func (p *Plan) Share() float64 {
	frames, slots := 0, 0
	for _, q := range p.experts {
		frames, slots = frames+q.frames, slots+q.slots
	}
	return float64(frames) / float64(max(slots, 1))
}

// Cache is a table with memory and readers: an exec.Stream.
type Cache struct {
	c       Config
	group   [2]group      // experts, dense
	id      []uint32      // by place: number in its group
	turn    *group        // of the turn under way
	parts   []part[int32] // of it, by pool
	more    []bool
	block   []uint32
	local   []uint32
	soon    []uint32 // what may be wanted after the next turn
	class   []uint8
	rows    int
	starts  []*store.Read
	warm    []uint32
	warming *store.Read

	mu      sync.Mutex
	failed  []uint32 // container's numbers
	waiting int
	since   time.Time
	waited  time.Duration
	verify  sync.Mutex

	wanted, hits []uint64 // by layer, experts
	heat         []uint64 // by expert slot: tokens

	phases [2]Phase // passes over several rows, and over one
	mark   Phase    // what was read and waited for when the pass began
}

// Phase is what passes of one kind did.
type Phase struct {
	Passes   uint64  `json:"passes"`
	Rows     uint64  `json:"rows"` // tokens
	RanMS    float64 `json:"ran_ms"`
	WaitedMS float64 `json:"waited_ms"` // of them: at least one worker had nothing to do but wait for a read
	Bytes    uint64  `json:"bytes"`     // read
}

// group is the slots of one kind.
type group struct {
	places []Place
	number []uint32 // the container's
	of     []uint8
	tables []*Table
	frames [][]frame
	wanted []part[int32] // of a turn, by pool
	likely []part[uint8] // to be wanted after it
}

// frame is memory for one slot.
type frame struct {
	mem   []byte
	read  store.Read
	queue *store.Reads
	asked bool        // its pages are being found
	found atomic.Bool // its pages are there
	ready atomic.Bool // its slot's bytes are there and good
}

// New makes an empty cache.
func New(c Config) (*Cache, error) {
	k := &Cache{c: c, id: make([]uint32, len(c.Places)), warm: c.Warm}
	layers := 0
	for i, p := range c.Places {
		g := &k.group[0]
		if p.Dense {
			g = &k.group[1]
		}
		if p.Off%4096 != 0 || p.Length <= 0 {
			return nil, fmt.Errorf("expert: slot %d: %d bytes at %d", c.First+uint32(i), p.Length, p.Off)
		}
		if p.Resident {
			continue
		}
		k.id[i] = uint32(len(g.places))
		g.places, g.number = append(g.places, p), append(g.number, c.First+uint32(i))
		layers = max(layers, int(p.Layer)+1)
	}
	if int64(len(c.Mem)) < c.Plan.Bytes() {
		return nil, errors.New("expert: less memory than planned")
	}
	k.wanted, k.hits, k.heat = make([]uint64, layers), make([]uint64, layers), make([]uint64, len(k.group[0].places))
	k.group[0].of, k.group[1].of = c.Plan.expertOf, c.Plan.denseOf
	mem := c.Mem
	for i, pools := range [][]pool{c.Plan.experts, c.Plan.dense} {
		g := &k.group[i]
		policy, turns := c.Policy, 0
		if i == 1 {
			policy, turns = PolicyLRU, 16
		}
		for _, p := range pools {
			l := make([]int32, len(g.places))
			for j := range l {
				l[j] = g.places[j].Layer
			}
			q, err := NewPolicy(policy, l)
			if err != nil {
				return nil, err
			}
			g.tables = append(g.tables, NewTable(l, p.frames, turns, q))
			frames := make([]frame, p.frames)
			for j := range frames {
				frames[j].mem, mem = mem[:p.size:p.size], mem[p.size:]
			}
			g.frames = append(g.frames, frames)
		}
		g.wanted, g.likely = make([]part[int32], len(pools)), make([]part[uint8], len(pools))
	}
	for i := range k.group {
		for _, frames := range k.group[i].frames {
			k.find(frames, 0)
		}
	}
	k.more = make([]bool, 8)
	k.warmUp()
	return k, nil
}

// TraceSlots are the slots that a trace of this cache is about: its experts.
func TraceSlots(places []Place) []Slot {
	var out []Slot
	for _, p := range places {
		if !p.Dense && !p.Resident {
			out = append(out, p.Slot)
		}
	}
	return out
}

// place gives the group of a container's slot and its number there.
func (k *Cache) place(slot uint32) (*group, uint32) {
	i := slot - k.c.First
	if k.c.Places[i].Dense {
		return &k.group[1], k.id[i]
	}
	return &k.group[0], k.id[i]
}

// Streamed reports whether the slot is the cache's.
func (k *Cache) Streamed(slot uint32) bool {
	i := slot - k.c.First
	return i < uint32(len(k.c.Places)) && !k.c.Places[i].Resident
}

// Present reports whether the slot has a frame.
func (k *Cache) Present(slot uint32) bool {
	g, id := k.place(slot)
	return g.tables[g.of[id]].Frame(id) >= 0
}

// Pass begins a pass over rows.
func (k *Cache) Pass(rows int) error {
	if k.c.Changed != nil {
		if err := k.c.Changed(); err != nil {
			return err
		}
	}
	k.mu.Lock()
	failed := k.failed
	k.failed = nil
	k.mu.Unlock()
	for _, s := range failed {
		g, id := k.place(s)
		t := g.tables[g.of[id]]
		if f := t.Frame(id); f >= 0 {
			t.Drop(id, g.frames[g.of[id]][f].read.Lost())
		}
	}
	k.rows = rows
	for i := range k.group {
		for _, t := range k.group[i].tables {
			t.Pass(rows)
		}
	}
	if k.c.Trace != nil {
		k.c.Trace.Pass(rows)
	}
	return nil
}

// Ran ends a pass that took so long.
func (k *Cache) Ran(took time.Duration) {
	p := &k.phases[0]
	if k.rows == 1 {
		p = &k.phases[1]
	}
	bytes, waited := k.so()
	p.Passes++
	p.Rows += uint64(k.rows)
	p.RanMS += milliseconds(took)
	p.WaitedMS += waited - k.mark.WaitedMS
	p.Bytes += bytes - k.mark.Bytes
	k.mark.Bytes, k.mark.WaitedMS = bytes, waited
}

// so tells the bytes read and the milliseconds waited so far.
func (k *Cache) so() (bytes uint64, waited float64) {
	k.mu.Lock()
	waited = milliseconds(k.waited)
	k.mu.Unlock()
	return k.c.Demand.Stats().Bytes + k.c.Ahead.Stats().Bytes, waited
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// IgnoreChanges makes passes begin although the file has changed, so that tests can see what reads make of it.
func (k *Cache) IgnoreChanges() { k.c.Changed = nil }

// Turn begins a turn.
func (k *Cache) Turn(slots []uint32, counts []int32, rows int) {
	k.local = k.local[:0]
	k.turn, k.parts = nil, nil
	for _, s := range slots {
		g, id := k.place(s)
		k.turn = g
		k.local = append(k.local, id)
	}
	g := k.turn
	if g == nil {
		return
	}
	if g == &k.group[0] {
		if k.c.Trace != nil {
			k.c.Trace.Turn(k.local, counts)
			k.c.Trace.Soon(k.soon, k.class)
		}
		for i, part := range split(g.likely, k.soon, k.class, g.of) {
			g.tables[i].Soon(part.slots, part.with)
		}
		k.soon, k.class = k.soon[:0], k.class[:0]
		for i, id := range k.local {
			l := g.places[id].Layer
			k.wanted[l]++
			if g.tables[g.of[id]].Frame(id) >= 0 {
				k.hits[l]++
			}
			k.heat[id] += uint64(counts[i])
		}
	}
	k.parts = split(g.wanted, k.local, counts, g.of)
	for i, p := range k.parts {
		if k.more[i] = len(p.slots) > 0; k.more[i] {
			g.tables[i].Turn(int(g.places[p.slots[0]].Layer), p.slots, p.with, rows)
		}
	}
}

// Next gives the next block of the turn and starts the reads that it, and what follows, needs.
func (k *Cache) Next() ([]uint32, bool) {
	k.block = k.block[:0]
	g, more := k.turn, false
	for i := range k.parts {
		if !k.more[i] {
			continue
		}
		block, loads, again := g.tables[i].Next()
		for _, l := range loads {
			k.load(g, i, l, k.c.Demand)
		}
		for _, id := range block {
			k.block = append(k.block, g.number[id])
		}
		k.more[i] = again
		more = more || again
	}
	k.start(k.c.Demand)
	if g == &k.group[0] && !more {
		for i, t := range g.tables {
			for _, l := range t.Early() {
				k.load(g, i, l, k.c.Ahead)
			}
		}
		k.start(k.c.Ahead)
	}
	k.warmUp()
	return k.block, more
}

// load prepares a read into a frame; start starts what was prepared.
func (k *Cache) load(g *group, pool int, l Load, q *store.Reads) {
	f := &g.frames[pool][l.Frame]
	if f.queue != nil {
		f.queue.Wait(&f.read) // of a slot that was read ahead in vain
	}
	p := &g.places[l.Slot]
	f.ready.Store(false)
	if f.queue == nil {
		f.read.Fresh = !f.found.Load()
		k.find(g.frames[pool], int(l.Frame)+1)
	} else {
		f.read.Fresh = false
	}
	f.queue = q
	f.read.Off, f.read.Buf = p.Off, f.mem[:frameSize(p.Length)]
	k.starts = append(k.starts, &f.read)
}

func (k *Cache) start(q *store.Reads) {
	if len(k.starts) > 0 {
		q.Start(k.starts...)
	}
	k.starts = k.starts[:0]
}

// Soon takes note of what may be wanted after the turn that follows.
func (k *Cache) Soon(slots []uint32, class []uint8) {
	k.soon, k.class = k.soon[:0], append(k.class[:0], class...)
	for _, s := range slots {
		_, id := k.place(s)
		k.soon = append(k.soon, id)
	}
}

// Ahead reads what will be wanted next.
func (k *Cache) Ahead(slots []uint32) {
	for _, s := range slots {
		g, id := k.place(s)
		if l, ok := g.tables[g.of[id]].Ahead(id); ok {
			k.load(g, int(g.of[id]), l, k.c.Ahead)
		}
	}
	k.start(k.c.Ahead)
}

// warmUp reads a little of the last run's hot set, where frames are free and nothing else of it is under way.
func (k *Cache) warmUp() {
	const step = 4
	if len(k.warm) == 0 {
		return
	}
	if k.warming != nil {
		if k.c.Ahead.Poll(); !k.warming.Ended() { // nobody else may look at that queue
			return
		}
	}
	for n := 0; n < step && len(k.warm) > 0; {
		s := k.warm[0]
		k.warm = k.warm[1:]
		if !k.Streamed(s) {
			continue
		}
		g, id := k.place(s)
		if l, ok := g.tables[g.of[id]].Warm(id); ok {
			k.load(g, int(g.of[id]), l, k.c.Ahead)
			k.warming = k.starts[len(k.starts)-1]
			n++
		}
	}
	k.start(k.c.Ahead)
}

// frame gives the frame that a slot of the block is in.
func (k *Cache) frame(slot uint32) *frame {
	g, id := k.place(slot)
	i := g.of[id]
	return &g.frames[i][g.tables[i].Frame(id)]
}

// At is where a slot of the block lies.
func (k *Cache) At(slot uint32) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(k.frame(slot).mem))
}

// Wait returns when a slot of the block has been read, and verified if that is wanted. It panics with the error of the read.
func (k *Cache) Wait(slot uint32) {
	f := k.frame(slot)
	k.Keep()
	if f.ready.Load() {
		return
	}
	late := !f.read.Ended()
	if late {
		k.waits(1)
	}
	err := f.queue.Wait(&f.read)
	if late {
		k.waits(-1)
	}
	if err == nil && k.c.Verify != nil {
		k.verify.Lock()
		if !f.ready.Load() {
			err = k.c.Verify(slot, f.read.Buf)
		}
		k.verify.Unlock()
	}
	if err != nil {
		k.mu.Lock()
		if !slices.Contains(k.failed, slot) {
			k.failed = append(k.failed, slot)
		}
		k.mu.Unlock()
		panic(fmt.Errorf("slot %d: %w", slot, err))
	}
	f.ready.Store(true)
}

// foundAhead is how many bytes of frames have their pages found before a slot is read into them. Frames are used one behind the other.
const foundAhead = 64 << 20

// find has pages found of the frames that follow.
func (k *Cache) find(frames []frame, from int) {
	if k.c.Pages == nil || from >= len(frames) {
		return
	}
	for n := from + max(foundAhead/len(frames[from].mem), 1); from < min(n, len(frames)); from++ {
		if f := &frames[from]; !f.asked {
			f.asked = true
			k.c.Pages.Find(f.mem, true, &f.found)
		}
	}
}

// Keep lets reads begin that waited for others to end.
func (k *Cache) Keep() {
	k.c.Pages.Keep()
	k.c.Demand.Keep()
	k.c.Ahead.Keep()
}

// waits keeps account of the time in which at least one worker waits.
func (k *Cache) waits(n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.waiting == 0 {
		k.since = time.Now()
	}
	if k.waiting += n; k.waiting == 0 {
		k.waited += time.Since(k.since)
	}
}

// Hot lists the experts that are in memory, the likeliest to be wanted first.
func (k *Cache) Hot() []uint32 {
	g := &k.group[0]
	var all []candidate
	for _, t := range g.tables {
		for _, s := range t.slot {
			if s >= 0 {
				all = append(all, candidate{uint32(s), t.policy.Distance(uint32(s), -1)})
			}
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.slot, b.slot))
	})
	out := make([]uint32, len(all))
	for i := range all {
		out[i] = g.number[all[i].slot]
	}
	return out
}

// Stats are what a cache did.
type Stats struct {
	Frames      int       `json:"frames"`       // for experts
	FrameBytes  int64     `json:"frame_bytes"`  // all of them, dense ones too
	Slots       int       `json:"slots"`        // experts in the container
	DenseFrames int       `json:"dense_frames"` // for dense matrices that do not fit
	Wanted      uint64    `json:"wanted"`       // experts asked for by turns
	Hits        uint64    `json:"hits"`         // of them, how many were there or on their way
	HitRate     float64   `json:"hit_rate"`
	Layers      []float64 `json:"hit_rate_by_layer"`
	Reads       uint64    `json:"reads"`
	Bytes       uint64    `json:"bytes"`
	AheadReads  uint64    `json:"ahead_reads"` // of the reads: before they were wanted
	AheadBytes  uint64    `json:"ahead_bytes"`
	AheadUsed   uint64    `json:"ahead_used"`
	AheadUnused uint64    `json:"ahead_unused"`
	Short       uint64    `json:"short_reads"`
	Refused     uint64    `json:"refused_reads"`
	WaitedMS    float64   `json:"waited_ms"` // while at least one worker had nothing to do but wait for a read
	Prompts     Phase     `json:"prompts"`   // passes over several tokens
	Tokens      Phase     `json:"tokens"`    // passes over one
	Heat        []uint64  `json:"-"`         // by expert slot: tokens that used it
}

// Stats gives the statistics so far. Not during a pass.
func (k *Cache) Stats() Stats {
	var s Stats
	s.FrameBytes = k.c.Plan.Bytes()
	for i := range k.group {
		for _, t := range k.group[i].tables {
			if i == 1 {
				s.DenseFrames += t.Frames()
				continue
			}
			s.Frames += t.Frames()
			s.AheadUsed += t.EarlyUsed
			s.AheadUnused += t.EarlyUnused
		}
	}
	s.Slots = len(k.group[0].places)
	for l, n := range k.wanted {
		s.Wanted += n
		s.Hits += k.hits[l]
		rate := 0.0
		if n > 0 {
			rate = float64(k.hits[l]) / float64(n)
		}
		s.Layers = append(s.Layers, rate)
	}
	if s.Wanted > 0 {
		s.HitRate = float64(s.Hits) / float64(s.Wanted)
	}
	d, a := k.c.Demand.Stats(), k.c.Ahead.Stats()
	s.Reads, s.Bytes, s.AheadReads, s.AheadBytes = d.Reads+a.Reads, d.Bytes+a.Bytes, a.Reads, a.Bytes
	s.Short, s.Refused = d.Short+a.Short, d.Refused+a.Refused
	_, s.WaitedMS = k.so()
	s.Prompts, s.Tokens = k.phases[0], k.phases[1]
	s.Heat = k.heat
	return s
}
