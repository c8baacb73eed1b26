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
	KV         string              `json:"kv"` // how keys and values are kept: part of what the numbers mean
	IO         string              `json:"io"` // how weights are read
	ArenaBytes int                 `json:"arena_bytes"`
	Pools      PoolsReceipt        `json:"pools"`            // which processors worked
	Stream     *StreamReceipt      `json:"stream,omitempty"` // of weights that do not all stay in memory
}

// Receipt gives the receipt so far.
func (e *Engine) Receipt() Receipt {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := Receipt{RootDigest: e.Root(), KernelSet: e.model.Set(), Kernels: e.model.Uses(), Fallbacks: e.model.Fallbacks(),
		Threads: e.opts.Threads, Batch: e.opts.Batch, KV: e.opts.KV, IO: "mmap", ArenaBytes: e.model.ArenaBytes(), Pools: e.crews.receipt()}
	if r.Stream = e.StreamReceipt(); r.Stream != nil {
		r.IO = e.stream.backend.Name
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
