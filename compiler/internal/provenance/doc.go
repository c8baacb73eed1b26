// Package provenance gathers the facts by which a container can be traced to its source: lengths and digests of the source's
// files, and what lay in them besides tensors.
//
// The package must not know programs, layouts or targets.
package provenance
