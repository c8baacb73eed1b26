package engine

import "jns/runtime/internal/exec"

// Receipt says what really ran since the engine was opened.
type Receipt struct {
	RootDigest string              `json:"root_digest"`
	KernelSet  string              `json:"kernel_set"` // of vector operations
	Kernels    map[string]exec.Use `json:"kernels"`    // what each matrix kernel did, counted where it is called
	Fallbacks  []exec.Fallback     `json:"fallbacks"`  // tensors that the chosen set does not compute
	Threads    int                 `json:"threads"`
	Batch      int                 `json:"batch"`
	KV         string              `json:"kv"`               // how keys and values are kept: part of what the numbers mean
	IO         string              `json:"io"`               // how weights are read
	Mapped     *MappedReceipt      `json:"mapped,omitempty"` // nil: the system does not tell
	ArenaBytes int                 `json:"arena_bytes"`
	Pools      PoolsReceipt        `json:"pools"`              // which processors worked
	Stream     *StreamReceipt      `json:"stream,omitempty"`   // of weights that do not all stay in memory
	Decoding   *BoundReceipt       `json:"decoding,omitempty"` // what bounds tokens one by one where weights are read
}

// MappedReceipt is how much of the container is in the process's memory now. Weights in large pages (2 MiB) are read faster, since small ones need a translation for every 4 KiB. jnsc writes
// a file so that Linux keeps it in large pages; a copy by small writes, or a file system without them, does not.
type MappedReceipt struct {
	Bytes uint64 `json:"bytes"`
	Large uint64 `json:"large_page_bytes"`
}

// BoundReceipt compares the time that tokens took, one by one, with the longer of the two that it is made of. Reads go on while something is computed: where nothing is lost between the
// two, the ratio is 1. The first tokens, which find little in memory, are in it too.
type BoundReceipt struct {
	By       string  `json:"by"`        // BoundComputing or BoundReading: the longer one
	Took     float64 `json:"took_s"`    // all passes over one token
	Waited   float64 `json:"waited_s"`  // of it: at least one worker had nothing to do but wait for a read
	Computed float64 `json:"compute_s"` // the rest
	Read     float64 `json:"read_s"`    // the bytes that were read at the rate that the way of reading was measured with
	Ratio    float64 `json:"ratio"`     // took ÷ the longer one
}

// What bounds the rate of tokens.
const (
	BoundComputing = "compute"
	BoundReading   = "read"
)

// boundOf is nil where there is nothing to compare: no token came alone, or the rate of reading is not known.
func boundOf(p StreamPhase, rate float64) *BoundReceipt {
	if p.Passes == 0 || p.RanMS <= 0 || rate <= 0 {
		return nil
	}
	b := &BoundReceipt{By: BoundComputing, Took: p.RanMS / 1000, Waited: min(p.WaitedMS, p.RanMS) / 1000, Read: float64(p.Bytes) / rate}
	b.Computed = b.Took - b.Waited
	if b.Read > b.Computed {
		b.By = BoundReading
	}
	if longer := max(b.Read, b.Computed); longer > 0 {
		b.Ratio = b.Took / longer
	}
	return b
}

// Receipt gives the receipt so far.
func (e *Engine) Receipt() Receipt {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := Receipt{RootDigest: e.Root(), KernelSet: e.model.Set(), Kernels: e.model.Uses(), Fallbacks: e.model.Fallbacks(),
		Threads: e.opts.Threads, Batch: e.opts.Batch, KV: e.opts.KV, IO: "mmap", ArenaBytes: e.model.ArenaBytes(), Pools: e.crews.receipt()}
	if resident, large, ok := e.file.Mapped(); ok {
		r.Mapped = &MappedReceipt{resident, large}
	}
	if r.Stream = e.StreamReceipt(); r.Stream != nil {
		r.IO = e.stream.backend.Name
		r.Decoding = boundOf(r.Stream.Cache.Tokens, r.Stream.Rate)
	}
	if r.Fallbacks == nil {
		r.Fallbacks = []exec.Fallback{}
	}
	for k, u := range r.Kernels {
		if u.Calls == 0 {
			delete(r.Kernels, k)
		}
	}
	return r
}
