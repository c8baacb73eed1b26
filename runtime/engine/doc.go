// Package engine is the runtime's face: it opens a container, and runs sessions on it.
//
// Its nouns: an Engine (an open container with its kernels bound; owns the mapping, the workers and the arena), a Session (one conversation: tokens and their KV
// cache), a Request and its Result (one generation), a Receipt (what really ran). An Engine computes one batch at a time; its methods are safe for use by several
// goroutines, a Session's are not.
//
// The package must not know GGUF, nor any architecture's name: the container carries a lowered program. Read engine.go, session.go, generate.go.
package engine
