// Package plan decides, for every tensor of a source, what it becomes in the container: layout, slot, offset, and the reason.
//
// Its nouns: an Item is a tensor with what the program does with it; a Target is a row of facts about a kind of machine; a
// Plan is the container's tensor and slot tables before any byte is packed. Make is a pure function: the same items and
// target give the same plan on any machine, and nothing later in compiling decides anything. Read plan.go first.
//
// The package must not know architectures, programs or files' contents: it sees names, types, shapes and uses.
package plan
