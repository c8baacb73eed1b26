// Package vocab turns the tokenizer metadata of a GGUF into the tokenizer section of a container.
//
// Its nouns: the source vocabulary (texts, scores, types and special ids as the metadata gives them), the rules that the name of
// a pre-tokenizer stands for (pre.go), and the tables of package format that it fills. Everything that can be decided from
// the vocabulary is decided here: which tokens end generation, which are searched for in text, what every merge produces.
// It must not know how text is cut into tokens; that is runtime/internal/token. Read build.go first.
package vocab
