// Package compiler turns a GGUF model into a JNS container, and back.
//
// Compile goes from inventory (what the file has) over lowering (the program), planning (what every tensor becomes and where
// it lies) and packing (rearranged weights) to sealing (digests, table of contents). The same source, options and
// OutputRevision give the same bytes on every machine. Explain stops after planning. Restore gives the source back byte for
// byte; Verify proves a container, against its source if that is at hand.
//
// Read compiler.go first; each stage is a package under internal. The package must not know kernels or how programs run.
package compiler
