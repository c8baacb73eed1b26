package arch

import (
	"math"

	"jns/compiler/internal/gguf"
	"jns/format"
)

var _ = register("gemma3", gemma3)

// gemma3 is Gemma 3: embeddings times √width, norms before and after both parts of a layer, norms of query and key heads, and
// five layers with a sliding window (rotation base 10000, never scaled) for every full one.
func gemma3(b *Builder) {
	b.refuse("expert_count")
	window := b.bounded("attention.sliding_window", 0, 0, 1<<31)
	full := b.Rotation()
	near := full
	near.Base, near.Scaling, near.Factors, near.Magnitude = b.Nonzero("rope.freq_base_swa", 10000), ScaleNone, nil, 1
	swa := b.windowPattern(window, 6)

	// The 27B model, the one with 62 layers, divides by the embedding's share of a head instead of the head's width.
	scale := float32(1 / math.Sqrt(float64(b.HeadDim)))
	if b.NLayer == 62 {
		scale = float32(1 / math.Sqrt(float64(b.NEmbed/max(1, b.heads[0]))))
	}
	x := b.Embed(float32(math.Sqrt(float64(b.NEmbed))))
	b.Layers(func(i int) {
		a := Attn{NeoX: true, QKNorm: true, Scale: scale}
		if swa[i] {
			a.Rope, a.Window = b.RopeTable(near), window
		} else {
			a.Rope = b.RopeTable(full)
		}
		y := b.SelfAttention(b.Norm(x, "attn_norm.weight"), a)
		x = b.Add(b.Norm(y, "post_attention_norm.weight"), x)
		y = b.FFN(b.Norm(x, "ffn_norm.weight"), FFN{Act: format.ActGELU, Width: b.FF(), Unscale: true})
		x = b.Add(b.Norm(y, "post_ffw_norm.weight"), x)
	})
	b.Output(x, 1, float32(b.Float("final_logit_softcapping", 0)))
}

// windowPattern says which layers have a sliding window: an array of the file, or all but every n-th one.
func (b *Builder) windowPattern(window uint32, n uint64) []bool {
	out := make([]bool, b.NLayer)
	if window == 0 {
		return out
	}
	const key = "attention.sliding_window_pattern"
	if v, ok := b.set.Get(b.key(key)); ok {
		if a, isArray := v.(gguf.Array); isArray {
			flags, err := b.flags(a)
			switch {
			case err != nil:
				b.fail(err)
			case len(flags) < b.NLayer:
				b.corrupt("key %q has %d values for %d layers", b.key(key), len(flags), b.NLayer)
			default:
				copy(out, flags)
			}
			return out
		}
		n = b.Uint(key, n)
	}
	for i := range out {
		out[i] = n == 0 || uint64(i)%n < n-1
	}
	return out
}

// flags reads an array of truth values, which files write as bools or as integers.
func (b *Builder) flags(a gguf.Array) ([]bool, error) {
	if a.Elem == gguf.KindBool {
		return a.Bools()
	}
	values, err := a.Int64s()
	out := make([]bool, len(values))
	for i, v := range values {
		out[i] = v != 0
	}
	return out, err
}
