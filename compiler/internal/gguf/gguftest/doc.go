// Package gguftest writes GGUF files for tests: valid ones from a seed, split ones, and ones that lie.
//
// Its nouns: a File describes what is written, true or not; a Case is a hostile file with the error it must bring.
// It is for tests only and must not be imported by anything else. It shares the reader's type table and nothing else of it,
// so that a test of the reader is not the reader tested against itself.
package gguftest
