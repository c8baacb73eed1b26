package exec

import (
	"fmt"
	"math"
	"sort"
	"time"
	"unsafe"

	"jns/format"
	"jns/kernels"
	"jns/runtime/internal/kv"
	"jns/runtime/internal/sched"
)

// Config says how a program is to be run; none of it changes a bit of the results, but for KV8, and Context where a rope has long frequencies.
type Config struct {
	Set     string // kernel set, "" for the best
	Teams   Teams  // workers
	Batch   int    // rows of the arena, ≥ 1
	Context int    // most positions of a session
	KV8     bool   // keys and values are kept in eight bits: this does change the results
	Program *format.Program
	Tensors format.TensorTable
	Slots   format.SlotTable
	Bytes   Bytes
	Stream  Stream // nil: every slot is resident

	Memory func(n int) ([]byte, error) // where the arena and pages come from: zeroed, at a border of 64 bytes; nil: the heap
	Skip   float32                     // experts that are not in memory and have less than this part of a row's largest weight are left out: this does change the results; 0: none
}

// Teams gives the workers of each run.
type Teams interface {
	// Workers is the size of the largest team.
	Workers() int
	// Team is the one for a batch of so many rows; timed asks for Took after the run.
	Team(rows int) (t *sched.Team, timed bool)
	Took(rows int, t time.Duration)
}

// Model is a program with weights and kernels bound. One Run at a time.
type Model struct {
	prog     *format.Program
	teams    Teams
	pool     *sched.Team // of this run
	vec      *kernels.Vec
	store    *kv.Store
	weights  []*weight
	bufs     []buffer
	ropes    []ropeTable
	steps    []step
	next     []sched.Counter // one per step
	work     []worker
	names    []string // kernels by counter
	kernels  map[string]int
	timed    bool      // workers measure how long they are in kernels
	did      []float64 // scratch of learn
	busy     []float64
	batch    Batch
	rows     int             // capacity
	chosen   []int           // rows of the batch that survive Select
	n        int             // rows of the batch
	chains   chains          // of attention over few rows, see op_attention_span.go
	picks    picks           // grouping of expert choices, see op_experts.go
	until    <-chan struct{} // see Until
	stopped  bool            // set between two steps
	stream   Stream
	inLoop   bool              // more blocks of a turn follow
	more     [2]bool           // the same, by parity of worker.turn
	dense    []uint32          // streamed slots of dense matrices in the program's order
	soon     []uint32          // scratch of ahead and readAhead
	class    []uint8           // the same
	guessed  map[uint32]*guess // by the route's buffer, until its experts are bound
	mixtures []mixture
	skip     float32
	skipped  Skipped
	arena    int // bytes

	context   int // most positions of a session
	positions int // below which positions must lie: rows of the smallest table that is read by position
	set       string
	entry     func(id int)      // region, made a value once
	between   func(id int)      // meeting, likewise
	waiting   func(id int) bool // fetch
	deal      *sched.Deal
	hands     int // workers that products are parted among for few rows, 0: pieces are handed out one by one
}

// step is a piece of the program between two barriers. Every worker calls run; pieces are handed out by next.
type step struct {
	run      func(w *worker, next *sched.Counter)
	row      func(w *worker, row int) // the same for one row, where that is too little to be shared; nil elsewhere
	selected bool                     // runs over the selected rows
	name     string                   // for Times
	back     int                      // last step of a loop: how many steps to go back while blocks follow
	runs     *runs                    // pieces for few rows; nil: none
	then     int                      // the next step with runs, noStep: there is none
}

// worker is what one worker has to itself.
type worker struct {
	id      int
	m       *Model
	source  []byte             // one source row
	tile    []byte             // one tile row read from the file
	turn    int                // blocks begun in this run, see stream.go
	done    int                // the step just done
	upto    int                // the step that all workers do next, see region
	asked   int                // the step whose weights were asked for while waiting, and
	piece   int                // the piece of it,
	from    int                // the byte of that and
	room    int                // the bytes that may still be asked for
	cuts    []int              // of the step under way: where the workers' runs of pieces begin, see homes.go
	scratch []float32          // outputs of a chunk before the epilogue
	run     kernels.StateRun   // of a recurrent layer
	args    kernels.MatMulArgs // of the call under way: kernels are called through variables, so that a block on the stack would go to the heap
	attend  attendScratch
	ahead   uintptr       // how far the processor prefetches weights, see kernels.MatMulArgs
	uses    []Use         // per kernel
	did     float64       // since the region began: bytes of weights times activation rows
	busy    time.Duration // in kernels, if timed
	times   []opTimes     // of steps; nil: not measured
	since   time.Time     // when the lap began, and
	before  time.Duration // busy then
	_       [64]byte
}

// Fallback says that a tensor is not computed by a kernel of the chosen set.
type Fallback struct {
	Tensor string `json:"tensor"`
	Reason string `json:"reason"`
}

// New binds a proved program.
func New(c Config) (*Model, error) {
	m := &Model{prog: c.Program, teams: c.Teams, rows: c.Batch, kernels: map[string]int{}, set: c.Set, positions: math.MaxInt, context: c.Context, stream: c.Stream, skip: c.Skip}
	m.vec = kernels.VecFor(c.Set)
	shapes := make([]kv.Shape, len(c.Program.States))
	for i, s := range c.Program.States {
		if s.Kind == format.StateRecurrent {
			shapes[i] = kv.Shape{Recurrent: int(s.KVHeads) * int(s.KeyDim) * int(s.ValDim)}
			continue
		}
		if s.Kind != format.StateKV {
			return nil, fmt.Errorf("%w: state kind %d", format.ErrUnsupported, s.Kind)
		}
		shapes[i] = kv.Shape{KVHeads: int(s.KVHeads), KeyDim: int(s.KeyDim), ValDim: int(s.ValDim), Window: int(s.Window), Eight: c.KV8 && !keyPositions(c.Program)}
	}
	m.store = kv.NewStore(shapes)
	m.store.SetMemory(c.Memory)
	m.store.SetBatch(c.Batch)
	used, whole := map[uint32]bool{}, map[uint32]bool{}
	for i := range c.Program.Ops {
		_, rows := c.Program.Ops[i].Params.(*format.RowsParams)
		for _, t := range weightsOf(c.Program.Ops[i].Params) {
			used[t] = true
			whole[t] = whole[t] || !rows
		}
	}
	m.weights = make([]*weight, c.Tensors.Len())
	for i := range m.weights {
		if !used[uint32(i)] {
			continue
		}
		w, err := bindWeight(c.Tensors.At(i), c.Slots, c.Bytes, c.Stream, !whole[uint32(i)])
		if err != nil {
			return nil, err
		}
		m.weights[i] = w
	}
	m.pool, _ = c.Teams.Team(c.Batch)
	m.work = make([]worker, c.Teams.Workers())
	m.did, m.busy = make([]float64, len(m.work)), make([]float64, len(m.work))
	for i := range m.work {
		m.work[i].id, m.work[i].m = i, m
	}
	if n := m.pool.Workers(); n > 1 && n <= handsMost && m.pool.Alike() {
		m.hands = n
	}
	if err := m.bindBuffers(c.Memory); err != nil {
		return nil, err
	}
	if err := m.bindOps(); err != nil {
		return nil, err
	}
	m.next = make([]sched.Counter, len(m.steps))
	m.entry, m.between, m.waiting = m.region, m.meeting, m.fetch
	m.deal = sched.NewDeal(len(m.work))
	for i := range m.work {
		m.work[i].cuts = make([]int, m.hands+1)
	}
	m.nextRuns()
	for i := range m.work {
		m.work[i].uses = make([]Use, len(m.names)+8)
	}
	return m, nil
}

func (m *Model) bindBuffers(memory func(n int) ([]byte, error)) error {
	p := m.prog
	per, fixed, worker := uint64(m.rows)*p.PerRow, p.Fixed, uint64(len(m.work))*p.PerWorker
	m.arena = int(per + fixed + worker)
	mem, err := []byte(nil), error(nil)
	if size := max(m.arena, 64); memory != nil {
		mem, err = memory(size)
	} else {
		mem = aligned(size)
	}
	if err != nil {
		return fmt.Errorf("an arena of %d MiB: %w", m.arena>>20, err)
	}
	m.bufs = make([]buffer, len(p.Buffers))
	for i := range p.Buffers {
		b := &p.Buffers[i]
		o := buffer{len: int(b.Len), typ: b.Type, stride: uintptr(rowSize(b))}
		switch b.Region {
		case format.RegionPerRow:
			o.base = unsafe.Pointer(&mem[uint64(m.rows)*b.Offset])
		case format.RegionFixed:
			o.base = unsafe.Pointer(&mem[per+b.Offset])
		case format.RegionPerWorker:
			o.base = unsafe.Pointer(&mem[per+fixed+uint64(len(m.work))*b.Offset])
		}
		m.bufs[i] = o
	}
	m.chosen = make([]int, 0, m.rows)
	return nil
}

func (m *Model) buf(i uint32) *buffer {
	if i == format.None {
		return nil
	}
	return &m.bufs[i]
}

func (m *Model) weight(i uint32) *weight {
	if i == format.None {
		return nil
	}
	return m.weights[i]
}

func (m *Model) vector(i uint32) []float32 {
	if i == format.None {
		return nil
	}
	return m.weights[i].vec
}

// counter gives the receipt's number of a kernel name.
func (m *Model) counter(name string) int {
	if i, ok := m.kernels[name]; ok {
		return i
	}
	m.kernels[name] = len(m.names)
	m.names = append(m.names, name)
	return len(m.names) - 1
}

// bindMatMul chooses the kernel of a matrix.
func (m *Model) bindMatMul(w *weight) error {
	if w.mm != nil {
		return nil
	}
	mm, err := kernels.BindMatMul(w.layout, m.set)
	if err != nil {
		return fmt.Errorf("tensor %s: %w", w.Name, err)
	}
	w.mm = mm
	for _, v := range mm.Variants {
		w.counter = append(w.counter, m.counter(v.Name))
	}
	if len(w.counter) == 0 {
		w.counter = []int{m.counter(mm.Name)}
	}
	return nil
}

// Store is where sessions get their pages.
func (m *Model) Store() *kv.Store { return m.store }

// ArenaBytes is the size of the arena.
func (m *Model) ArenaBytes() int { return m.arena }

// Rows is the largest batch.
func (m *Model) Rows() int { return m.rows }

// Positions is the number of positions that the program can compute, math.MaxInt if it has no limit.
func (m *Model) Positions() int { return m.positions }

// Set is the name of the kernel set of vector operations.
func (m *Model) Set() string { return m.vec.Set }

// Use is what a matrix kernel did, counted where it is called.
type Use struct {
	Calls uint64 `json:"calls"`
	Rows  uint64 `json:"rows"`  // of the output: rows of the matrix times vectors that they were multiplied with
	Bytes uint64 `json:"bytes"` // of weights, as often as they were read for a call
}

// Uses sums what each kernel did since the model was made, by the name of the kernel that ran.
func (m *Model) Uses() map[string]Use {
	out := map[string]Use{}
	for i, n := range m.names {
		sum := out[n]
		for w := range m.work {
			u := &m.work[w].uses[i]
			sum.Calls, sum.Rows, sum.Bytes = sum.Calls+u.Calls, sum.Rows+u.Rows, sum.Bytes+u.Bytes
		}
		out[n] = sum
	}
	return out
}

// Fallbacks lists the matrices that scalar kernels compute although a faster set was asked for, with the compiler's reason for their layout, and those of which a set leaves a
// part to another.
func (m *Model) Fallbacks() []Fallback {
	var out []Fallback
	for _, w := range m.weights {
		if w == nil || w.mm == nil {
			continue
		}
		if w.mm.Reason != "" {
			out = append(out, Fallback{Tensor: w.Name, Reason: fmt.Sprintf("layout %s has no %s kernel for few rows (%s)", w.layout.Name, m.set, w.mm.Reason)})
		}
		if w.mm.Set != "scalar" || m.set == "scalar" {
			continue
		}
		out = append(out, Fallback{Tensor: w.Name, Reason: fmt.Sprintf("layout %s has no %s kernel (%s)", w.layout.Name, m.set, format.ReasonText(w.Tensor.Reason))})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Tensor < out[j].Tensor })
	return out
}
