// Package routing is the file in which a run records which experts its routers chose: a routing trace. jns-run --record-routing writes one; cache-sim and heatmap of jns-run
// and jnsc compile --profile read it.
//
// Its nouns: a Trace is the experts of a model, its Slots, and the Turns of a run over them; a Writer writes one as the run goes on; Read reads one and trusts nothing in it.
// The package must not know containers, caches or what a slot holds.
//
// # The file, version 3
//
// Numbers are unsigned LEB128 in the fewest bytes. In this order:
//
//	"jns-routing 3\n"
//	root digest of the container that ran, 32 bytes
//	number of layers that have experts, 1 … 2¹⁴; for each:
//	    its number, greater than the one before, at most 2²⁰
//	    number of its experts, 1 … 2¹⁶
//	    length in bytes of the slot of each of them, 1 … 2⁴⁶
//	records
//	SHA-256 of everything before, 32 bytes; nothing follows
//
// Slots are numbered through, layer by layer and expert by expert, from 0; there are at most 2²⁰. A record is a number that says what it is, and what follows from it:
//
//	1 rows               a pass over so many tokens begins, 1 … 2²⁰
//	2 n, n × slot count  a turn of the pass: one layer wants n ≥ 1 of its slots, each once, each for count ≥ 1 of the tokens
//	3 n, n × slot class  when that turn ended, these n ≥ 1 slots seemed likely to be wanted next, the likeliest first; class 0 … 255 says how likely. At most once for a turn
//	0                    the end
//
// The first record is a pass. A file has at most 2²³ records and 2²⁸ bytes; a run that is longer is recorded as far as that goes. There is one way to write a given content.
//
// Versions 1 and 2 had neither root digest, nor end, nor SHA-256, so that a file cut short passed for a shorter run. They are refused by name.
package routing
