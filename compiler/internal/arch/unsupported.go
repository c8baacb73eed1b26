package arch

import (
	"fmt"
	"strings"

	"jns/compiler/internal/gguf"
)

// missing says of architectures that llama.cpp knows and this compiler does not what they would need.
var missing = map[string]string{
	"deepseek4":        "attention over compressed blocks of positions, hyper-connections and experts chosen by the root of a softplus",
	"dflash":           "the hidden states of the model it drafts for; it is no model of its own",
	"dots3note":        "latent attention in layers of two shapes and an indexer that chooses positions",
	"dream":            "diffusion: it fills in a whole text in turns, and does not continue one token by token",
	"eagle3":           "the hidden states of the model it drafts for; it is no model of its own",
	"gemma4-assistant": "the keys, values and hidden states of the model it drafts for; it is no model of its own",
	"glm5-next":        "a delta rule whose decay is a bounded sigmoid, hyper-connections and an indexer over pooled keys",
	"gptj":             "a graph that llama.cpp has not either",
	"graniteswitch":    "adapters that tokens of the text switch on and off",
	"hy_v4":            "hyper-connections and an indexer that chooses positions",
	"llada":            "diffusion: it fills in a whole text in turns, and does not continue one token by token",
	"llada-moe":        "diffusion: it fills in a whole text in turns, and does not continue one token by token",
	"pockettts":        "the flow network that turns its hidden states into speech; it gives no text",
	"qwen3tts":         "a codec that turns its tokens into speech; it gives no text",
	"qwen4exp":         "hyper-connections, embeddings of several tokens at once and an indexer that chooses positions",
	"rnd1":             "diffusion: it fills in a whole text in turns, and does not continue one token by token",
	"t5":               "an encoder beside the decoder, attention from one to the other, and biases of relative positions in buckets",
	"wavtokenizer-dec": "convolutions over audio; it gives no text",
}

// notKnown is the refusal of an architecture.
func notKnown(name string) error {
	if what, ok := missing[name]; ok {
		return fmt.Errorf("%w: architecture %q needs what this compiler does not have: %s", gguf.ErrUnsupported, name, what)
	}
	return fmt.Errorf("%w: architecture %q is not known to this compiler; known are: %s", gguf.ErrUnsupported, clip(name), strings.Join(Names(), ", "))
}
