package arch

import (
	"jns/compiler/internal/gguf"
	"jns/format"
)

// Value is the result of a node: its index in Graph.Nodes.
type Value int32

// NoValue stands for an absent input.
const NoValue Value = -1

// Node is one operation. Params carries the constants of the operation; its operand indices are zero here and belong to
// package lower. What In and W hold depends on the kind of Params:
//
//	Rows        W: table
//	Norm        In: x                       W: weight, bias or nil
//	MatMul      In: x                       W: matrix, bias or nil (one part, its Scale set)
//	Rope        In: x
//	KVAppend    In: keys, values            (no result)
//	Attention   In: queries                 W: sinks or nil
//	Activation  In: gate, up or NoValue
//	Element     In: a, b or NoValue
//	Route       In: router logits           W: bias or nil
//	Experts     In: x, route                W: gate, up, down
//	SoftCap     In: x
type Node struct {
	Params format.Params
	In     []Value
	W      []*gguf.Tensor
	Name   string // of the result, for people
	Width  uint32 // elements per row of the result; chosen experts for Route; 0 if there is none
}

// Role is what the graph does with a tensor; a tied embedding has two.
type Role uint8

// Roles, to be combined.
const (
	RoleRows    Role = 1 << iota // looked up row by row
	RoleMatrix                   // multiplied with activations
	RoleVector                   // small float vector: norm weight, bias
	RoleExperts                  // one matrix per expert
	RoleAside                    // not used by the program, or folded into it; kept for restore
)

// Use is what the graph does with one tensor of the file.
type Use struct {
	Roles   Role
	Layer   int    // layer that uses it first, -1 outside layers
	Order   int    // order of first use
	Part    int    // RoleExperts: 0 gate, 1 up, 2 down
	Reason  string // RoleAside: why
	Unknown bool   // RoleAside: the architecture does not know the tensor
}

// Graph is a model before lowering.
type Graph struct {
	Arch    string
	Vocab   uint32
	Context uint32
	Embed   uint32
	Nodes   []Node
	States  []format.State
	Ropes   []format.Rope
	Logits  Value                 // or hidden states, as Output says
	Output  uint8                 // format.Output…
	Uses    map[*gguf.Tensor]*Use // one for every tensor of the set
}
