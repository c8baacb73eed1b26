package vocab

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"jns/compiler/internal/gguf"
	"jns/format"
)

func unknownPre(name string) error {
	return fmt.Errorf("%w: this compiler does not know the pre-tokenizer %q; tokens would come out wrong, so it is refused "+
		"(known: %s)", gguf.ErrUnsupported, clip(name), strings.Join(PreNames(), " "))
}

// findByText lists, for special ids that metadata may leave out, the texts they are known by, most telling first.
var findByText = []struct {
	id    format.TokSpecial
	texts []string
}{
	{format.SpecialEOT, []string{"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>", "<EOT>",
		"_<EOT>", "[EOT]", "<｜end▁of▁sentence｜>", "<end_of_utterance>"}},
	{format.SpecialEOM, []string{"<|eom_id|>"}},
	{format.SpecialFIMPre, []string{"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>",
		"<|code_prefix|>", "<|prefix|>"}},
	{format.SpecialFIMSuf, []string{"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>",
		"<|code_suffix|>", "<|suffix|>"}},
	{format.SpecialFIMMid, []string{"<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>",
		"<|code_middle|>", "<|middle|>"}},
	{format.SpecialFIMPad, []string{"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"}},
	{format.SpecialFIMRep, []string{"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"}},
	{format.SpecialFIMSep, []string{"<|file_sep|>"}},
}

// endTexts are the texts of tokens that end generation wherever they occur.
var endTexts = []string{
	"<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "<end_of_turn>", "<|endoftext|>",
	"</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>", "<end_of_utterance>", "<eos>", "<turn|>",
	"<|tool_response>", "<｜end▁of▁sentence｜>", "[e~[",
}

// amend settles what each token is: special ids known by text only, tokens that end generation, tokens that text is searched
// for, and the few attributes that metadata cannot express.
func (b *builder) amend() {
	for _, f := range findByText {
		for _, text := range f.texts {
			if id, ok := b.tokenOf(text); ok && b.tok.Special[f.id] < 0 {
				b.tok.Special[f.id] = id
				b.tok.Attrs[id] |= format.AttrControl
			}
		}
	}
	for id, a := range b.tok.Attrs {
		if a&format.AttrControl != 0 && strings.Contains(b.tok.Texts[id], "unused") {
			b.tok.Attrs[id] |= format.AttrUnused
		}
	}
	b.endTokens()
	b.searched()
	b.strips()
}

func (b *builder) tokenOf(text string) (int32, bool) {
	id, ok := b.ids[text]
	return id, ok && int(id) < b.tok.Tokens
}

// endTokens collects the tokens that end generation.
func (b *builder) endTokens() {
	ends := map[int32]bool{}
	for _, s := range []format.TokSpecial{format.SpecialFIMPad, format.SpecialFIMRep, format.SpecialFIMSep} {
		ends[b.tok.Special[s]] = true
	}
	for _, text := range endTexts {
		if id, ok := b.tokenOf(text); ok {
			ends[id] = true
			b.tok.Attrs[id] |= format.AttrControl
		}
	}
	// gpt-oss marks the parts of a message with these; they must show in the text.
	for _, text := range []string{"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"} {
		if id, ok := b.tokenOf(text); ok {
			b.tok.Attrs[id] = format.AttrUser
		}
	}
	for _, s := range []format.TokSpecial{format.SpecialEOS, format.SpecialEOT, format.SpecialEOM} {
		ends[b.tok.Special[s]] = true
	}
	delete(ends, -1)
	has := func(text string) bool { id, ok := b.tokenOf(text); return ok && ends[id] }
	call := has("<|call|>") || has("<|calls|>")
	if has("<|end|>") && call && (has("<|return|>") || has("<|flush|>")) {
		b.notAnEnd(ends, "<|end|>", format.AttrUser) // ends a part of a message, not the turn
	}
	if has("</s>") && (has("<|tool_response>") || has("<|plamo:eos|>")) {
		b.notAnEnd(ends, "</s>", format.AttrNormal) // plain text of these vocabularies
	}
	for id := range ends {
		b.tok.EOG = append(b.tok.EOG, uint32(id))
	}
	slices.Sort(b.tok.EOG)
}

func (b *builder) notAnEnd(ends map[int32]bool, text string, attr format.TokAttr) {
	id := b.ids[text]
	delete(ends, id)
	b.tok.Attrs[id] = attr
	b.note("token %d %q does not end generation in this vocabulary", id, text)
}

// searched lists the tokens that are found in text before anything else, longest first.
func (b *builder) searched() {
	const kinds = format.AttrControl | format.AttrUser | format.AttrUnknown
	for id, a := range b.tok.Attrs {
		if a&kinds != 0 {
			b.tok.Specials = append(b.tok.Specials, uint32(id))
		}
	}
	sort.SliceStable(b.tok.Specials, func(i, j int) bool {
		return len(b.tok.Texts[b.tok.Specials[i]]) > len(b.tok.Texts[b.tok.Specials[j]])
	})
}

// strips sets which special tokens swallow the white space beside them. No metadata says so; it goes by names.
func (b *builder) strips() {
	set := func(text string, attr format.TokAttr, on bool) {
		if id, ok := b.tokenOf(text); ok {
			b.tok.Attrs[id] &^= attr
			if on {
				b.tok.Attrs[id] |= attr
			}
		}
	}
	// A name of the wrong kind is reported by whoever needs it; here it only fails to match.
	name, _, _ := b.set.Str("general.name")
	arch, _, _ := b.set.Str("general.architecture")
	pre, _, _ := b.set.Str(keyPre)
	name = strings.ToLower(name)
	switch {
	case containsAny(pre, "jina-v2-de", "jina-v2-es", "jina-v2-code"), containsAny(arch, "nomic-bert-moe", "jina-bert-v3"):
		set("<mask>", format.AttrLStrip, true)
	case containsAny(name, "phi-3", "phi3"):
		for _, id := range b.tok.Specials {
			b.tok.Attrs[id] |= format.AttrRStrip
		}
		set("</s>", format.AttrRStrip, true)
		for _, text := range []string{"<unk>", "<s>", "<|endoftext|>"} {
			set(text, format.AttrRStrip, false)
		}
	case containsAny(name, "modern-bert"):
		set("[MASK]", format.AttrLStrip, true)
	}
}
