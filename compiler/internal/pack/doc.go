// Package pack executes a plan: it reads the source's tensors in strips of tile rows, rearranges them, and writes them at the
// places that plan and layout of the file give.
//
// It decides nothing. Work is cut into jobs that each own their bytes of the output (a matrix, the experts of a layer, all
// vectors), so that they run in parallel in any order and give the same file. Memory is bounded by workers × two strips,
// whatever the model.
//
// The package must not know programs, architectures or targets.
package pack
