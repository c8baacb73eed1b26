// Package lower turns an architecture's graph into the program that a container carries: a flat list of operations over
// buffers with addresses.
//
// It is a list of passes (lower.go): each takes the graph in the state the one before left it in. First passes rewrite nodes
// (fold scales, fuse residuals, group matrices that share an input, select output rows early), then operations are emitted
// over virtual buffers, then buffers get addresses by their live ranges.
//
// The package must not know layouts, targets or containers' bytes. It knows one thing about weights: whether their type is
// quantised, because such a matrix takes its input quantised as well.
package lower
