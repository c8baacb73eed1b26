// Package expert keeps those slots in memory that are likely to be wanted, for models that do not fit.
//
// Its nouns: a Policy says how soon a slot will be wanted again; a Table says which slot is in which frame, and is pure: the same turns give the same loads, in a run and in a
// replay; a Trace is the turns of a run; a Cache is a Table with memory and readers. Start with policy.go and table.go; cache.go is the mechanism.
// It must not know models, operations, or what the bytes of a slot mean.
package expert
