// Package arch knows model architectures: it turns a GGUF's metadata and tensor names into a graph of operations.
//
// Its nouns: a Graph is the model as a list of nodes in the order they may run; a Node is one operation on values that
// earlier nodes made; a Use says what the graph does with one tensor of the file; a Builder is what an architecture's file
// writes with. Each architecture is one file that registers a function; the parts that many share (attention, gated
// feed-forward, experts) are in blocks.go. Read graph.go, then llama.go.
//
// The graph says what is computed, in the simplest form: nothing is fused, every value is float32, nothing has an address.
// The package must not know layouts, kernels, targets or containers; which activations are quantised, what shares an input
// and where buffers lie is decided by package lower.
package arch
