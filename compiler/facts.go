package compiler

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"jns/compiler/internal/gguf"
	"jns/compiler/internal/plan"
	"jns/format"
)

const keyTemplate = "tokenizer.chat_template"

// chatTemplate is the model's chat template, empty if it has none. Of a model that ranks texts, which has no chats, it is the one that puts {query} and {document} together.
func chatTemplate(set *gguf.Set, ranks bool) (string, error) {
	key := keyTemplate
	if ranks {
		key += ".rerank"
	}
	s, _, err := set.Str(key)
	switch {
	case err != nil:
		return "", err
	case !utf8.ValidString(s):
		return "", fmt.Errorf("%w: key %q is not UTF-8", ErrCorrupt, key)
	case len(s) > format.MaxTemplate:
		return "", fmt.Errorf("%w: key %q has %d bytes, at most %d", ErrUnsupported, key, len(s), format.MaxTemplate)
	}
	return s, nil
}

// facts are what a listing of models shows about this one.
func (b *build) facts() format.Model {
	m := format.Model{Vocab: b.graph.Vocab, Context: b.graph.Context, Name: text(b.set, "general.name")}
	for _, t := range b.set.Tensors {
		n := uint64(1)
		for _, d := range t.Dims {
			n *= d // the tensor lies in the file, so this fits
		}
		m.Params += n
	}
	add := func(key, value string) {
		if value != "" {
			m.Facts = append(m.Facts, format.Fact{Key: key, Value: value})
		}
	}
	add("architecture", b.graph.Arch)
	for _, k := range []string{"author", "basename", "finetune", "license", "organization", "size_label", "url", "version"} {
		add(k, text(b.set, "general."+k))
	}
	add("tokenizer", strings.TrimSuffix(b.vocab.Model+" "+b.vocab.Pre, " "))
	add("types", b.types())
	slices.SortFunc(m.Facts, func(a, b format.Fact) int { return strings.Compare(a.Key, b.Key) })
	return m
}

// types counts the tensors of each type, in the order of type numbers.
func (b *build) types() string {
	count := map[gguf.Type]int{}
	var seen []gguf.Type
	for _, t := range b.set.Tensors {
		if count[t.Type]++; count[t.Type] == 1 {
			seen = append(seen, t.Type)
		}
	}
	slices.Sort(seen)
	var parts []string
	for _, t := range seen {
		parts = append(parts, fmt.Sprintf("%s %d", t, count[t]))
	}
	return strings.Join(parts, ", ")
}

// text is a string of the metadata made fit for a listing: valid UTF-8 and not long. Other kinds of value count as absent.
func text(set *gguf.Set, key string) string {
	s, _, err := set.Str(key)
	if err != nil {
		return ""
	}
	s = strings.ToValidUTF8(s, "�")
	for len(s) > 256 {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
	}
	return s
}

// tunedFor is a hint for people and schedulers; nothing depends on it.
func tunedFor(t plan.Target) string {
	if len(t.Features) == 0 {
		return ""
	}
	return strings.Join(t.Features, "+")
}
