// Package grammar says which tokens may follow in a text that must be JSON of a given shape.
//
// Its nouns: a Schema is a shape, compiled from a JSON schema into a program over bytes that can call itself; a Vocab is the bytes of all tokens in order; a Mask is one text under
// way: which tokens Allow, and what Accept has taken. The package must not know models or requests.
//
// Read program.go first, then json.go (what JSON looks like), schema.go (what a schema asks for), machine.go (the program as an automaton that is made as it is needed) and mask.go.
//
// What is generated is always valid JSON of the shape, written in one of the ways that the shape allows: members come in the order in which the schema lists them, no member is
// added where members are listed, and between tokens stands at most a space, or a line end and an indentation.
package grammar
