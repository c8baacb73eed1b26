package vocab

import (
	"sort"
	"strings"

	"jns/compiler/internal/gguf"
	"jns/format"
)

const (
	keepSpaces = format.TokCleanSpaces // flag that a rule clears: decoding leaves spaces as they are
	whole      = format.TokIgnoreMerges
	bos        = format.TokAddBOS
)

// preNames gives, for every name of a pre-tokenizer, the rule that cuts text into words and the flags that come with the name.
// Byte-pair vocabularies begin with TokCleanSpaces | TokByteAlphabet; clear is taken from that, set is added.
var preNames = map[string]struct {
	rule       format.PreRule
	set, clear format.TokFlags
	noBOS      bool // the default BOS id does not apply
}{}

// preTable is the readable form of preNames: the names that share a row share everything.
var preTable = []struct {
	names      string
	rule       format.PreRule
	set, clear format.TokFlags
	noBOS      bool
}{
	{"default", format.PreDefault, 0, 0, false},
	{"minicpm5", format.PreMiniCPM5, whole, 0, false},
	{"llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano", format.PreLlama3, whole | bos, 0, false},
	{"deepseek-llm", format.PreDeepSeekLLM, 0, keepSpaces, false},
	{"deepseek-coder", format.PreDeepSeekCoder, 0, keepSpaces, false},
	{"deepseek-v3 hunyuan-dense hy_v4 joyai-llm", format.PreDeepSeekV3, 0, keepSpaces, false},
	{"spark2_5", format.PreSpark, 0, keepSpaces, false},
	{"youtu", format.PreYoutu, whole, keepSpaces, false},
	{"falcon", format.PreFalcon, 0, 0, false},
	{"mpt olmo jais gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert exaone4", format.PreGPT2, 0, 0, false},
	{"trillion granite-docling", format.PreGPT2, 0, keepSpaces, false},
	{"jina-v1-en jina-v2-code roberta-bpe", format.PreGPT2, format.TokAddSEP, 0, false},
	{"starcoder refact codeshell exaone minerva-7b mellum2", format.PreDigitsGPT2, 0, 0, false},
	{"command-r smollm", format.PreDigitsGPT2, 0, keepSpaces, false},
	{"jais-2", format.PreJais2, 0, 0, false},
	{"gemma4 granite-embed-multi-311m", format.PreNewlines, format.TokEscapeSpaces | format.TokNewlineRuns, format.TokByteAlphabet, false},
	{"sarvam-moe", format.PreNewlines, format.TokEscapeSpaces, format.TokByteAlphabet | keepSpaces, false},
	{"whitespace", format.PreWhitespace, 0, format.TokByteAlphabet, false},
	{"qwen2 deepseek-r1-qwen kormo f2llmv2 hunyuan grok-2 solar-open bailingmoe bailingmoe2 llada-moe", format.PreQwen2, 0, keepSpaces, false},
	{"stablelm2 megrez", format.PreQwen2, 0, 0, false},
	{"qwen35", format.PreQwen35, 0, keepSpaces, false},
	{"dbrx smaug-bpe", format.PreLlama3, 0, 0, false},
	{"poro-chat", format.PreBloom, 0, keepSpaces, false},
	{"bloom gpt3-finnish", format.PreBloom, 0, 0, false},
	{"chatglm-bpe", format.PreLlama3, 0, 0, true},
	{"glm4 glm5", format.PreLlama3, whole, 0, true},
	{"viking", format.PreViking, 0, keepSpaces, false},
	{"tekken", format.PreTekken, whole | bos, keepSpaces, false},
	{"chameleon", format.PreChameleon, bos, keepSpaces, false},
	{"gpt-4o llama4 kanana2 talkie minimax-m2", format.PreGPT4o, 0, keepSpaces, false},
	{"granite-embed-multi-97m", format.PreGraniteEmbed, whole, keepSpaces, false},
	{"tiny_aya cohere2moe", format.PreTinyAya, 0, keepSpaces, false},
	{"superbpe", format.PreSuperBPE, 0, keepSpaces, false},
	{"seed-coder", format.PreSeedCoder, 0, keepSpaces, false},
	{"kimi-k2", format.PreKimiK2, 0, keepSpaces, false},
	{"ufakzeka", format.PreUfakzeka, 0, keepSpaces, false},
	{"afmoe", format.PreAFMoE, 0, keepSpaces, false},
	{"laguna", format.PreLaguna, 0, keepSpaces, false},
	{"exaone-moe", format.PreExaoneMoE, 0, 0, false},
	{"sophia", format.PreNone, 0, keepSpaces, false},
}

var _ = func() bool {
	for _, row := range preTable {
		for _, name := range strings.Fields(row.names) {
			if _, twice := preNames[name]; twice {
				panic("vocab: pre-tokenizer " + name + " stands in two rows")
			}
			p := preNames[name]
			p.rule, p.set, p.clear, p.noBOS = row.rule, row.set, row.clear, row.noBOS
			preNames[name] = p
		}
	}
	return true
}()

// PreNames lists the pre-tokenizers that are known, sorted.
func PreNames() []string {
	var names []string
	for n := range preNames {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// pre reads the name of the pre-tokenizer. Only byte-pair vocabularies have one; the key is checked for its type in all.
func (b *builder) pre() error {
	name, ok, err := b.set.Str(keyPre)
	if err != nil {
		return err
	}
	b.facts.Pre, b.tok.Pre = name, name
	if b.tok.Kind != format.TokBPE {
		return nil
	}
	switch {
	case b.tok.Model == "gemma4":
		name = "gemma4"
	case !ok || name == "":
		name = "default"
		b.note("%s is missing: text is cut by the default rule, which may not be what the model was trained with", keyPre)
	}
	p, known := preNames[name]
	if !known {
		return &gguf.Error{Key: keyPre, Offset: -1, Err: unknownPre(name)}
	}
	b.facts.Pre, b.tok.Pre = name, name
	b.tok.Rule = p.rule
	b.tok.Flags |= format.TokCleanSpaces | format.TokByteAlphabet
	b.tok.Flags = b.tok.Flags&^p.clear | p.set
	if p.noBOS {
		b.tok.Special[format.SpecialBOS] = -1
	}
	return nil
}
