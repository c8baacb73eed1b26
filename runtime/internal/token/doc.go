// Package token turns text into token ids and back, over the tables of a container's tokenizer section.
//
// Its nouns: a Tokenizer (a vocabulary with its algorithm), fragments (pieces of the text between special tokens, special.go), words
// (what a fragment is cut into before byte-pair merging, split*.go) and pieces (the bytes a token stands for, piece.go). There
// is one file per family: spm.go, bpe.go, wordpiece.go, unigram.go, trie.go. Results are those of llama.cpp for the same
// vocabulary and flags. The tables are untrusted and stay in place; nothing is built from them.
//
// It must not know where the tables came from, nor anything about models. Read tokenizer.go first.
package token
