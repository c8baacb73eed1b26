package engine

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"jns/format"
	"jns/kernels"
	"jns/runtime/internal/sched"
)

// Options say how to run a container. The zero value is the default. No option changes a bit of the results, but for KV, Skip, and
// for Context in models with two sets of rotation frequencies: one for sessions up to the original context, one for longer ones.
type Options struct {
	Threads int    // most workers; 0: as many as affinity and the control group's quota allow
	Kernels string // kernel set: "auto" or "", or one of KernelSets; "avx512" is short for "avx512vnni"
	Batch   int    // rows computed at once; 0: 512
	Context int    // positions of a session; 0: min(trained, 4096)

	KV string // how keys and values are kept: "f16" or "", or "q8_0", which takes about half the memory and is another definition of the numbers

	Memory uint64    // bytes that the process may take, weights included; 0: what is available
	IO     string    // how weights that do not fit are read: "auto" or "", "uring", "pread", "mmap"
	Policy string    // which experts stay in memory: "" for the best known, see expert.Policies
	Verify bool      // every slot is compared with its digest when it is read
	Warm   bool      // begin with the experts that were in memory at the end of the last run, and keep them for the next
	Skip   float64   // 0: every expert counts. Else experts that are not in memory and have less than this part of a token's largest weight are left out, where less than a fifth fit: another result
	Record io.Writer // gets a routing trace, whose last part comes with Close; nil: none

	// TokenizerOnly opens the vocabulary alone: nothing can be computed, and a container that holds nothing else is welcome.
	TokenizerOnly bool

	contextAsked   bool // the context is the user's, not the default
	contextShrinks bool // to leastContext, before a run is refused

	Schedule string // which processors work: "auto" or "", "even", "big", "all"; see Schedules
}

// How keys and values are kept.
const (
	KVF16 = "f16"  // IEEE halves
	KVQ8  = "q8_0" // eight bits, 32 elements of a row share a scale
)

// ErrOption is wrapped by errors about options.
var ErrOption = errors.New("bad option")

// Limits and defaults.
const (
	DefaultBatch   = 512
	DefaultContext = 4096
	MaxBatch       = 8192
	MaxThreads     = 1024
	MaxContext     = 1 << 24
)

// resolve fills in defaults.
func (o Options) resolve(trained int) (Options, error) {
	if o.Threads < 0 || o.Threads > MaxThreads {
		return o, fmt.Errorf("%w: --threads %d, 1 to %d can be used", ErrOption, o.Threads, MaxThreads)
	}
	if o.Batch < 0 || o.Batch > MaxBatch {
		return o, fmt.Errorf("%w: --batch %d, 1 to %d can be used", ErrOption, o.Batch, MaxBatch)
	}
	if o.Context < 0 || o.Context > MaxContext {
		return o, fmt.Errorf("%w: --ctx %d, 1 to %d can be used", ErrOption, o.Context, MaxContext)
	}
	if o.Kernels == "" || o.Kernels == "auto" {
		known, err := kernels.Cores(sched.Allowed())
		if err == nil {
			o.Kernels, err = kernels.AutoFor(known)
		}
		if err != nil {
			return o, fmt.Errorf("%w: %w", ErrOption, err)
		}
	}
	if !(o.Skip >= 0 && o.Skip < 1) {
		return o, fmt.Errorf("%w: --skip-experts %v, a part of the largest weight from 0 to less than 1", ErrOption, o.Skip)
	}
	set, err := kernels.Resolve(o.Kernels)
	if err != nil {
		return o, fmt.Errorf("%w: %w", ErrOption, err)
	}
	o.Kernels = set
	if o.Schedule == "" {
		o.Schedule = Schedules()[0]
	}
	if !slices.Contains(Schedules(), o.Schedule) {
		return o, fmt.Errorf("%w: %q is no policy for processors; there are %s", ErrOption, o.Schedule, strings.Join(Schedules(), ", "))
	}
	switch o.KV {
	case "":
		o.KV = KVF16
	case KVF16, KVQ8:
	default:
		return o, fmt.Errorf("%w: --kv %q, there are %s and %s", ErrOption, o.KV, KVF16, KVQ8)
	}
	if o.contextAsked = o.Context != 0; !o.contextAsked {
		o.Context = DefaultContext
		if trained > 0 {
			o.Context = min(trained, o.Context)
		}
	}
	if o.Batch == 0 {
		o.Batch = DefaultBatch
	}
	return o, nil
}

// KernelSets names the kernel sets that this machine can run, best first.
func KernelSets() []string { return kernels.Available() }

// NamedSets are kernel sets of this machine that run only where they are named, and RefusedSets those that cannot run although the processor has them, with the reason.
func NamedSets() []string            { return kernels.Asked() }
func RefusedSets() map[string]string { return kernels.Refused() }

// arenaShare: the arena may take one of so many parts of the available memory, keys and values the others. (The weights' pages are given up where memory is short.)
const arenaShare = 4

// arenaBytes is the size of the arena for batches of so many rows.
func arenaBytes(p *format.Program, o Options, batch int) uint64 {
	perRow := p.PerRow
	for _, r := range p.Ropes { // cosines and sines of every row
		perRow += 8 * uint64(len(r.Freqs))
	}
	return uint64(batch)*perRow + p.Fixed + uint64(o.Threads)*p.PerWorker
}

// fitBatch makes the arena fit the memory: a batch that the user did not ask for is made smaller (which changes no result), one that he did ask for is refused.
// A single row may take more than its share: whether that leaves enough for the rest, and what would, the plan of the memory says (openStream).
func fitBatch(p *format.Program, o Options, asked bool, available uint64) (int, error) {
	if available == 0 {
		return o.Batch, nil
	}
	limit := available / arenaShare
	need := func(batch int) uint64 { return arenaBytes(p, o, batch) }
	if need(o.Batch) <= limit {
		return o.Batch, nil
	}
	if asked {
		return 0, fmt.Errorf("%w: --batch %d needs an arena of %d MiB, %d MiB of memory are available for it; leave it out or make it smaller", ErrOption, o.Batch, need(o.Batch)>>20, limit>>20)
	}
	batch := o.Batch
	for batch > 1 && need(batch) > limit {
		batch /= 2
	}
	return batch, nil
}
