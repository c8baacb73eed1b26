// Package exec runs a lowered program: it binds every operation to kernels once, at open, and then executes the list for one batch after another.
//
// Its nouns: a Model (a program with its weights and kernels bound), a step (one operation, or one phase of an operation, that all workers run together), a Batch (rows of
// tokens, each with its own session cache and position). All workers walk the same list of steps with a barrier after each; the pieces of a step are handed
// out by a counter, which changes who computes but never what.
//
// The package must not know files, text or any architecture's name. The program has been proved by format/check before it comes here. Read model.go, then run.go,
// then the op_*.go files.
package exec
