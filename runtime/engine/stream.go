package engine

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"jns/format"
	"jns/format/routing"
	"jns/runtime/internal/exec"
	"jns/runtime/internal/expert"
	"jns/runtime/internal/kv"
	"jns/runtime/internal/store"
)

// streaming is what an engine has when its weights do not all stay in memory.
type streaming struct {
	cache   *expert.Cache
	backend *store.Backend
	mem     []byte
	trace   *expert.TraceWriter
	hot     string // where the hot set is kept; empty: nowhere
	limit   int64  // the collector's before
	plan    memoryPlan
	share   float64 // of the experts that the frames hold
}

// memoryPlan says what a grant of memory is used for, in bytes.
type memoryPlan struct {
	Granted  uint64 `json:"granted"`
	Arena    uint64 `json:"arena"`
	KV       uint64 `json:"kv"` // of one full session
	Resident uint64 `json:"resident"`
	Streamed uint64 `json:"streamed"` // bytes of slots that take turns in the frames
	Frames   uint64 `json:"frames"`
	Base     uint64 `json:"base"` // program, tables, collector
}

// baseMemory is what a process takes that has read no weights.
var baseMemory uint64 = 28 << 20 // a variable for tests of small models

// sparePart: one of so many parts of the memory stays free. What the kernel counts beside the process's pages (tables, read-ahead of the mapping) would make it take mapped weights
// away where a control group's limit is the grant, and they would be read again and again.
const sparePart = 64

// kvShare: keys and values take at most one of so many parts of the memory where the user named no context.
const kvShare = 4

// Where a run would be refused, a batch that the user did not ask for shrinks to narrowBatch rows first, which changes no result; then a context that the user did not ask for shrinks to
// leastContext positions, which are enough for a question and its answer; then the batch again, to one row.
const (
	narrowBatch  = 16
	leastContext = 256
)

// streamRoom is the number of largest dense slots that have frames when dense matrices do not fit: one in use, the others being read.
const streamRoom = 4

// A prompt reads nearly every expert once for each batch, so that large batches read less. One that the user did not ask for grows to streamBatch rows, as long as its arena takes
// no more than one of streamArena parts of the memory: what it takes is missing for experts when tokens are generated.
const (
	streamBatch = 2048
	streamArena = 5
)

// errTooLittle is planMemory's answer where not even one token's needs fit.
var errTooLittle = errors.New("too little memory")

// leastMemory is the least memory, in whole MiB, that a plan can be made for. What was not enough is given: what sessions may take grows with the memory.
func leastMemory(c *format.Container, o Options, memory uint64, asked bool) uint64 {
	const most = 1 << 26 // MiB
	return uint64(sort.Search(most, func(n int) bool {
		_, _, _, _, err := planMemory(c, o, uint64(n)<<20, asked)
		return uint64(n)<<20 > memory && err == nil
	})) << 20
}

// planMemory decides what of a container stays in memory. places is nil if everything does. asked: the user granted exactly that much.
func planMemory(c *format.Container, o Options, memory uint64, asked bool) (memoryPlan, []expert.Place, expert.Plan, uint32, error) {
	p := memoryPlan{Granted: memory, Arena: arenaBytes(c.Program, o, o.Batch), KV: kvBytes(c.Program, o, o.Context), Base: baseMemory + memory/sparePart}
	if memory == 0 {
		return p, nil, expert.Plan{}, 0, nil
	}
	if !asked {
		p.Granted -= memory / 16
	}
	if !o.contextAsked {
		p.KV = min(p.KV, p.Granted/kvShare) // a session gets as many positions as fit, see fitContext
	}
	var dense, experts, largest, largestExpert uint64
	first := -1
	for i := range c.Slots.Len() {
		s := c.Slots.At(i)
		n := (s.Length + format.SlotAlign - 1) &^ (format.SlotAlign - 1)
		switch s.Class {
		case format.ClassPinned:
			p.Resident += n
			continue
		case format.ClassLayer:
			dense += n
			largest = max(largest, n)
		case format.ClassExpert:
			experts += n
			largestExpert = max(largestExpert, n)
		default:
			continue
		}
		if first < 0 {
			first = i
		}
	}
	for _, s := range c.TOC.Sections {
		switch s.Kind {
		case format.SectionTokenizer, format.SectionTemplate, format.SectionProgram, format.SectionNames, format.SectionTensors, format.SectionSlots:
			p.Base += s.Length
		}
	}
	used := p.Arena + p.KV + p.Base + p.Resident
	left := p.Granted - min(used, p.Granted)
	if first < 0 || dense+experts <= left {
		p.Resident += dense
		return p, nil, expert.Plan{}, 0, nil
	}
	need := 2 * largestExpert
	fits := dense + need
	if dense > 0 {
		fits = min(fits, min(dense, 2*largest)+need)
	}
	if left < fits && o.contextShrinks && !o.contextAsked {
		rest := p.Granted - min(used-p.KV, p.Granted) // for keys and values, and frames
		p.KV = min(p.KV, max(kvBytes(c.Program, o, min(leastContext, o.Context)), rest-min(fits, rest)))
		left = rest - min(p.KV, rest)
	}
	if left < fits {
		return p, nil, expert.Plan{}, 0, errTooLittle
	}
	// Dense matrices are wanted by every token: they come first, as long as experts keep an eighth of the room, or what they need.
	keep := left
	ring := uint64(0)
	if experts > 0 {
		keep -= min(max(left/8, need), left-min(dense, 2*largest))
	}
	if dense > keep {
		ring = min(streamRoom*largest, keep)
		keep -= ring
	}
	var places []expert.Place
	var inside uint64
	for i := first; i < c.Slots.Len(); i++ {
		s := c.Slots.At(i)
		if s.Class != format.ClassLayer && s.Class != format.ClassExpert {
			break
		}
		n := (s.Length + format.SlotAlign - 1) &^ (format.SlotAlign - 1)
		q := expert.Place{Slot: expert.Slot{Length: int64(s.Length)}, Off: int64(s.Offset), Dense: s.Class == format.ClassLayer}
		if s.Layer != format.None {
			q.Layer = int32(min(s.Layer, 1<<16))
		}
		if s.Expert != format.None {
			q.Expert = int32(min(s.Expert, 1<<22))
		}
		// Slots of equal standing: the first ones stay. That is the best that can be done with what is wanted round and round.
		if q.Dense && (ring == 0 || inside+n <= keep) {
			q.Resident = true
			inside += n
		} else {
			p.Streamed += n
		}
		places = append(places, q)
	}
	p.Resident += inside
	plan := expert.MakePlan(places, int64(ring), int64(left-inside-ring))
	p.Frames = uint64(plan.Bytes())
	return p, places, plan, uint32(first), nil
}

// kvBytes is what the keys and values of a session of so many positions take, and its recurrent states. A window holds a batch beside its own positions, and batches end at marks.
func kvBytes(p *format.Program, o Options, context int) (n uint64) {
	for _, s := range p.States {
		if s.Kind == format.StateRecurrent {
			n += 4 * uint64(s.KVHeads) * uint64(s.KeyDim) * uint64(s.ValDim)
			continue
		}
		positions := uint64(context)
		if s.Window > 0 {
			positions = min(positions, uint64(s.Window)+uint64(kv.MarkDistance(o.Batch)))
		}
		page := kv.Shape{KVHeads: int(s.KVHeads), KeyDim: int(s.KeyDim), ValDim: int(s.ValDim), Eight: o.KV == KVQ8}.PageBytes()
		n += (positions + kv.Chunk - 1) / kv.Chunk * uint64(page)
	}
	return n
}

// fitContext is the number of positions, at most the context, whose keys and values fit the memory for them; at least one page of them.
func fitContext(p *format.Program, o Options, limit uint64) int {
	pages := sort.Search((o.Context+kv.Chunk-1)/kv.Chunk, func(n int) bool { return kvBytes(p, o, min((n+1)*kv.Chunk, o.Context)) > limit })
	return min(max(pages, 1)*kv.Chunk, o.Context)
}

// openStream prepares what is needed to run in the memory there is: nothing if the container fits.
func (e *Engine) openStream(o Options, memory uint64) (_ exec.Stream, err error) {
	plan, places, frames, first, err := planMemory(e.c, e.opts, memory, o.Memory != 0)
	for err != nil {
		switch narrows := o.Batch == 0 && !e.Embeds(); {
		case narrows && e.opts.Batch > narrowBatch, narrows && e.opts.Batch > 1 && e.opts.contextShrinks:
			e.opts.Batch /= 2
		case !e.opts.contextShrinks:
			e.opts.contextShrinks = true
		default:
			least := leastMemory(e.c, e.opts, memory, o.Memory != 0)
			smaller := "a smaller --ctx"
			if o.Batch > 1 {
				smaller = "a smaller --batch or --ctx"
			}
			return nil, fmt.Errorf("%w: %.1f MiB of memory are too little for this model: it needs %d MiB, of which its arena takes %.1f and keys and values %.1f; grant that with --memory, or use %s",
				ErrOption, float64(memory)/(1<<20), least>>20, float64(plan.Arena)/(1<<20), float64(plan.KV)/(1<<20), smaller)
		}
		plan, places, frames, first, err = planMemory(e.c, e.opts, memory, o.Memory != 0)
	}
	if places == nil {
		return nil, nil
	}
	if o.Batch == 0 && !e.opts.contextShrinks && slices.ContainsFunc(places, func(p expert.Place) bool { return !p.Dense }) {
		for {
			wide := e.opts
			wide.Batch *= 2
			if wide.Batch > min(streamBatch, e.opts.Context) || arenaBytes(e.c.Program, wide, wide.Batch) > plan.Granted/streamArena {
				break
			}
			p, l, f, n, err := planMemory(e.c, wide, memory, o.Memory != 0)
			if err != nil || l == nil {
				break
			}
			e.opts, plan, places, frames, first = wide, p, l, f, n
		}
	}
	s := &streaming{plan: plan, share: frames.Share()}
	e.stream = s
	if s.mem, err = store.Frames(int(frames.Bytes())); err != nil {
		return nil, fmt.Errorf("%d MiB of frames: %w", plan.Frames>>20, err)
	}
	last := places[len(places)-1]
	probe := store.Probe{Off: places[0].Off}
	end := probe.Off
	for _, p := range places { // experts may lie in an order of their own
		probe.Off, end = min(probe.Off, p.Off), max(end, p.Off+p.Length)
	}
	probe.Length = end - probe.Off
	probe.Length -= probe.Length % 4096
	probe.Slot = (last.Length + 4095) &^ 4095
	cacheDir, err := os.UserCacheDir()
	if err == nil {
		probe.Choices = filepath.Join(cacheDir, "jns", "io.json")
		if o.Warm {
			s.hot = filepath.Join(cacheDir, "jns", "hot", e.Root()[:32])
		}
	}
	if s.backend, err = e.file.OpenBackend(o.IO, s.mem, probe); err != nil {
		if errors.Is(err, store.ErrBackend) {
			err = fmt.Errorf("%w: --io: %w", ErrOption, err)
		}
		return nil, err
	}
	c := expert.Config{Places: places, First: first, Plan: frames, Mem: s.mem, Policy: o.Policy, Demand: s.backend.Demand, Ahead: s.backend.Ahead, Pages: s.backend.Pages,
		Changed: e.file.Changed, Warm: readHot(s.hot, e.c.Root())}
	if o.Verify {
		c.Verify = e.checkSlot
	}
	if o.Record != nil {
		s.trace = routing.NewWriter(o.Record, e.c.Root(), expert.TraceSlots(places))
		c.Trace = s.trace
	}
	if s.cache, err = expert.New(c); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOption, err)
	}
	// What the collector leaves lying must fit too.
	s.limit = debug.SetMemoryLimit(int64(max(plan.KV+plan.Base, 32<<20)))
	return s.cache, nil
}

// checkSlot proves a slot's bytes.
func (e *Engine) checkSlot(slot uint32, mem []byte) error {
	s := e.c.Slots.At(int(slot))
	return s.Check(slot, mem)
}

// verifyResident proves the slots that stay in memory, reading them.
func (e *Engine) verifyResident(stream exec.Stream) error {
	var next atomic.Int64
	var first error
	var mu sync.Mutex
	var group sync.WaitGroup
	for range e.opts.Threads {
		group.Go(func() {
			err := e.guard(func() error {
				for {
					i := int(next.Add(1) - 1)
					if i >= e.c.Slots.Len() {
						return nil
					}
					s := e.c.Slots.At(i)
					if s.Class == format.ClassAside || stream != nil && stream.Streamed(uint32(i)) {
						continue
					}
					b, err := e.file.Range(s.Offset, s.Length)
					if err == nil {
						err = s.Check(uint32(i), b)
					}
					if err != nil {
						next.Store(1 << 40)
						return err
					}
				}
			})
			if err != nil {
				mu.Lock()
				first = errors.Join(first, err)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return first
}

// close ends reads and gives memory back; the workers have ended.
func (s *streaming) close(root [32]byte) error {
	if s == nil {
		return nil
	}
	var errs []error
	if s.limit != 0 {
		debug.SetMemoryLimit(s.limit)
	}
	if s.cache != nil && s.hot != "" {
		writeHot(s.hot, root, s.cache.Hot())
	}
	if s.trace != nil {
		errs = append(errs, s.trace.Close())
	}
	if s.backend != nil {
		errs = append(errs, s.backend.Close())
	}
	if s.mem != nil {
		errs = append(errs, store.FreeFrames(s.mem))
	}
	return errors.Join(errs...)
}

// readError recognises a panic that a failed read caused.
func readError(v any) error {
	err, ok := v.(error)
	if !ok {
		return nil
	}
	switch {
	case errors.Is(err, store.ErrTruncated) || errors.Is(err, io.EOF) && errors.Is(err, exec.ErrRow):
		return fmt.Errorf("%w: fetch it again or check it with: jnsc verify: %w", err, format.ErrCorrupt)
	case errors.Is(err, store.ErrRead), errors.Is(err, format.ErrDigest), errors.Is(err, exec.ErrRow):
		return err
	}
	return nil
}

const hotHead = "jns-hot 1\n"

// readHot gives the slots that were in memory at the end of an earlier run; none if there is nothing, or it is another container's.
func readHot(name string, root [32]byte) []uint32 {
	if name == "" {
		return nil
	}
	b, err := os.ReadFile(name)
	head := hotHead + hex.EncodeToString(root[:]) + "\n"
	if err != nil || len(b) < len(head) || string(b[:len(head)]) != head || len(b) > 64<<20 {
		return nil
	}
	var out []uint32
	for b = b[len(head):]; len(b) >= 4; b = b[4:] {
		out = append(out, binary.LittleEndian.Uint32(b))
	}
	return out
}

// writeHot keeps them; a failure only means a cold start.
func writeHot(name string, root [32]byte, slots []uint32) {
	b := []byte(hotHead + hex.EncodeToString(root[:]) + "\n")
	for _, s := range slots {
		b = binary.LittleEndian.AppendUint32(b, s)
	}
	if os.MkdirAll(filepath.Dir(name), 0o755) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".hot*")
	if err != nil {
		return
	}
	_, err = f.Write(b)
	if errors.Join(err, f.Close()) != nil || os.Rename(f.Name(), name) != nil {
		os.Remove(f.Name())
	}
}

// skipShare: experts are left out only where the cache holds less than this part of them.
const skipShare = 0.2

// skip is the part of the largest weight below which an absent expert is left out.
func (s *streaming) skip(asked float64) float32 {
	if s == nil || s.share >= skipShare {
		return 0
	}
	return float32(asked)
}

// SkipReceipt says what was left out although the router chose it, where the user allowed that.
type SkipReceipt struct {
	Below   float64 `json:"below"` // part of a token's largest weight; 0: nothing is left out, because a fifth of the experts or more fit
	Chosen  uint64  `json:"chosen"`
	Skipped uint64  `json:"skipped"`
	Part    float64 `json:"skipped_part"`   // of the choices
	Weight  float64 `json:"skipped_weight"` // part of the routers' weight
}

// StreamPhase is what passes of one kind did.
type StreamPhase = expert.Phase

// StreamReceipt says how weights that did not fit were read.
type StreamReceipt struct {
	Memory memoryPlan   `json:"memory"`
	Why    string       `json:"io_why"`
	Rate   float64      `json:"io_bytes_per_s"` // that this way of reading was measured with; 0: it was not
	Policy string       `json:"policy"`
	Verify bool         `json:"verify"`
	Cache  expert.Stats `json:"cache"`
	Skip   *SkipReceipt `json:"skip,omitempty"` // nil: not asked for, every result is exact
}

// StreamReceipt says how weights that did not fit were read so far; nil if all fit. Not while something is computed.
func (e *Engine) StreamReceipt() *StreamReceipt {
	s := e.stream
	if s == nil || s.cache == nil {
		return nil
	}
	r := &StreamReceipt{Memory: s.plan, Why: s.backend.Why, Rate: s.backend.Rate, Policy: e.opts.Policy, Verify: e.opts.Verify, Cache: s.cache.Stats()}
	if r.Policy == "" {
		r.Policy = expert.DefaultPolicy
	}
	if e.opts.Skip > 0 {
		q := e.model.Skipped()
		r.Skip = &SkipReceipt{Below: float64(s.skip(e.opts.Skip)), Chosen: q.Chosen, Skipped: q.Skipped}
		if q.Chosen > 0 && q.Weight > 0 {
			r.Skip.Part, r.Skip.Weight = float64(q.Skipped)/float64(q.Chosen), q.Lost/q.Weight
		}
	}
	return r
}

// Policies names the policies by which experts stay in memory.
func Policies() []string { return expert.Policies() }
