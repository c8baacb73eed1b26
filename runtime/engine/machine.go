package engine

import (
	"time"
	"unsafe"

	"jns/kernels"
	"jns/runtime/internal/sched"
	"jns/runtime/internal/store"
)

// Ceiling is what a number of workers can do at most on this machine, measured with loops of the instructions that kernels use.
type Ceiling struct {
	Threads int     `json:"threads"`
	Set     string  `json:"set"`                        // whose instructions; "scalar" has no int8 peak, and its reads are those of Go's compiler
	Memory  float64 `json:"memory_gbps"`                // plain reads of memory, 10⁹ bytes a second
	Weights float64 `json:"weights_gbps,omitempty"`     // the same over this container's weights, where they stay in memory: less than the caches may hold all of them
	Int8    float64 `json:"int8_peak_gops,omitempty"`   // two operations a product, 10⁹ a second
	Bytes   int     `json:"memory_bytes_read_per_pass"` // must exceed the last cache for Memory to mean memory
}

// What is read at a time: calls of assembly stay short. A measurement is the best of a few passes, since other programs only take away.
const (
	probePiece  = 1 << 20
	probePasses = 7
	probeRounds = 2000
	dotPasses   = 80 // short ones, so that one at least is not interrupted
	dotTime     = 4 * time.Millisecond
)

// Ceilings measures the machine for one worker and for as many as the engine has. bytes is how much memory is read in a pass, in large pages where the system has them; it is given back
// afterwards. Without that much memory the rate of reading it is 0.
func (e *Engine) Ceilings(bytes int) []Ceiling {
	e.mu.Lock()
	defer e.mu.Unlock()
	memory, err := store.Frames(max(bytes, probePiece))
	if err == nil {
		defer store.FreeFrames(memory)
	}
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = 1 // pages never written to are all the same page
	}
	var weights [][]byte
	if e.stream == nil {
		for i := range e.c.Slots.Len() {
			s := e.c.Slots.At(i)
			if b, err := e.file.Range(s.Offset, s.Length); err == nil {
				weights = append(weights, b)
			}
		}
	}
	p := kernels.ProbeFor(e.opts.Kernels)
	one := sched.NewPool(1)
	defer one.Close()
	pools := []*sched.Pool{one}
	if all := e.crews.one(); all.Workers() > 1 {
		pools = append(pools, all)
	}
	var all []Ceiling
	for _, pool := range pools {
		c := Ceiling{Threads: pool.Workers(), Set: p.Set, Memory: readRate(pool, p, [][]byte{memory}), Weights: readRate(pool, p, weights), Bytes: len(memory)}
		if p.Products != nil {
			c.Int8 = dotRate(pool, p)
		}
		all = append(all, c)
	}
	return all
}

// readRate reads all of the areas with all workers, some times over.
func readRate(pool *sched.Pool, p kernels.Probe, areas [][]byte) float64 {
	var pieces [][]byte
	total := 0
	for _, b := range areas {
		skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & 63)
		for b = b[min(skip, len(b)):]; len(b) >= kernels.ProbeBytes; {
			n := min(len(b)&^(kernels.ProbeBytes-1), probePiece)
			pieces = append(pieces, b[:n])
			total += n
			b = b[n:]
		}
	}
	if total == 0 {
		return 0
	}
	best := 0.0
	sums := make([]uint64, 16*pool.Workers())
	for range probePasses {
		var next sched.Counter
		start := time.Now()
		err := pool.Run(func(w int) {
			for {
				i := next.Next()
				if i >= len(pieces) {
					return
				}
				sums[16*w] ^= p.Read(pieces[i])
			}
		})
		if err != nil {
			return 0 // the file was cut: the run itself will say so
		}
		best = max(best, float64(total)/time.Since(start).Seconds()/1e9)
	}
	return best
}

// dotRate lets all workers multiply.
func dotRate(pool *sched.Pool, p kernels.Probe) float64 {
	best := 0.0
	counts := make([]int, 16*pool.Workers())
	for range dotPasses {
		clear(counts)
		start := time.Now()
		_ = pool.Run(func(w int) { // registers only: nothing can fail
			for time.Since(start) < dotTime {
				counts[16*w] += p.Products(probeRounds)
			}
		})
		took := time.Since(start).Seconds()
		n := 0
		for _, c := range counts {
			n += c
		}
		best = max(best, 2*float64(n)/took/1e9)
	}
	return best
}
