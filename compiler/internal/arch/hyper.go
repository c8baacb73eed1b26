package arch

import (
	"fmt"
	"math"
	"slices"

	"jns/compiler/internal/gguf"
)

// Hyper are the hyperparameters that every architecture here has. NVocab is the number of rows of token_embd.
type Hyper struct {
	NLayer  int
	NEmbed  uint32
	NVocab  uint32
	Context uint32
	Eps     float32 // of RMS norms, 0 if the file gives none

	LayerEps float32 // of layer norms

	heads, kvHeads, ff []uint32 // per layer
	used, expertFF     []uint32 // the same: chosen experts, and their hidden width or 0
	HeadDim            uint32
	ValDim             uint32
	NExpert, NUsed     uint32 // NUsed: the most of any layer
}

// Bounds that no model reaches, so that sizes derived from hyperparameters cannot overflow.
const (
	maxLayers = 4096
	maxWidth  = 1 << 24
	maxHeads  = 1 << 14
	maxExpert = 1 << 14
)

// key is a hyperparameter's name in the file.
func (b *Builder) key(s string) string {
	b.asked[s] = true
	return b.g.Arch + "." + s
}

// Uint is a hyperparameter of an integer kind, def if it is absent.
func (b *Builder) Uint(key string, def uint64) uint64 {
	v, ok, err := b.set.Uint(b.key(key))
	if err != nil {
		b.fail(err)
	}
	if !ok || err != nil {
		return def
	}
	return v
}

// Float is a hyperparameter of a float kind, def if it is absent. Infinities and NaN are refused.
func (b *Builder) Float(key string, def float64) float64 {
	v, ok, err := b.set.Float(b.key(key))
	if err != nil {
		b.fail(err)
	}
	if !ok || err != nil {
		return def
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		b.corrupt("key %q is %v", b.key(key), v)
		return def
	}
	return v
}

// Nonzero is Float where files also write 0 for "not used".
func (b *Builder) Nonzero(key string, def float64) float64 {
	if v := b.Float(key, def); v != 0 {
		return v
	}
	return def
}

// Bool is a hyperparameter that is true or false, def if it is absent.
func (b *Builder) Bool(key string, def bool) bool {
	v, ok, err := b.set.Bool(b.key(key))
	if err != nil {
		b.fail(err)
	}
	if !ok || err != nil {
		return def
	}
	return v
}

// Str is a hyperparameter of kind string, def if it is absent.
func (b *Builder) Str(key, def string) string {
	v, ok, err := b.set.Str(b.key(key))
	if err != nil {
		b.fail(err)
	}
	if !ok || err != nil {
		return def
	}
	return v
}

// bounded is a hyperparameter in [least, most].
func (b *Builder) bounded(key string, def, least, most uint64) uint32 {
	v := b.Uint(key, def)
	if v < least || v > most {
		b.corrupt("key %q is %d, outside %d … %d", b.key(key), v, least, most)
		return uint32(least)
	}
	return uint32(v)
}

// perLayer is a hyperparameter given once, or as an array with one value per layer.
func (b *Builder) perLayer(key string, def []uint32, most uint64) []uint32 {
	check := func(v uint64) uint32 {
		if v > most {
			b.corrupt("key %q is %d, more than %d", b.key(key), v, most)
			return 0
		}
		return uint32(v)
	}
	out := make([]uint32, b.NLayer)
	v, ok := b.set.Get(b.key(key))
	if !ok {
		copy(out, def)
		return out
	}
	if _, isArray := v.(gguf.Array); !isArray {
		one := check(b.Uint(key, 0))
		for i := range out {
			out[i] = one
		}
		return out
	}
	a, _, err := b.set.Array(b.key(key))
	if err != nil {
		b.fail(err)
		return out
	}
	if a.Len < b.NLayer || a.Len > maxLayers {
		b.corrupt("key %q has %d values for %d layers", b.key(key), a.Len, b.NLayer)
		return out
	}
	values, err := a.Uint64s()
	if err != nil {
		b.fail(err)
		return out
	}
	for i := range out {
		out[i] = check(values[i])
	}
	return out
}

func (b *Builder) readHyper() {
	defer b.recoverStop()
	b.NLayer = int(b.bounded("block_count", 0, 1, maxLayers))
	b.NEmbed = b.bounded("embedding_length", 0, 1, maxWidth)
	b.Context = b.bounded("context_length", 0, 0, math.MaxUint32)
	b.Eps = float32(b.Float("attention.layer_norm_rms_epsilon", 0))
	b.LayerEps = float32(b.Float("attention.layer_norm_epsilon", 0))
	b.NVocab = 1
	if t := b.set.Tensor("token_embd.weight"); t != nil && len(t.Dims) == 2 && t.Dims[1] <= maxWidth {
		b.NVocab = uint32(t.Dims[1])
	}
	b.heads = b.perLayer("attention.head_count", nil, maxHeads)
	b.kvHeads = b.perLayer("attention.head_count_kv", b.heads, maxHeads)
	b.ff = b.perLayer("feed_forward_length", nil, maxWidth)
	b.HeadDim = b.headDim("attention.key_length")
	b.ValDim = b.headDim("attention.value_length")
	b.NExpert = b.bounded("expert_count", 0, 0, maxExpert)
	b.used = b.perLayer("expert_used_count", nil, maxExpert)
	b.expertFF = b.perLayer("expert_feed_forward_length", nil, maxWidth)
	b.NUsed = slices.Max(b.used)
	if b.NUsed > b.NExpert || b.NExpert > 0 && b.NUsed == 0 {
		b.corrupt("key %q is %d of %d experts", b.key("expert_used_count"), b.NUsed, b.NExpert)
	}
	b.g.Vocab, b.g.Context, b.g.Embed = b.NVocab, b.Context, b.NEmbed
}

// headDim is the width of a head: a key, or the embedding divided among the heads.
func (b *Builder) headDim(key string) uint32 {
	if v := b.bounded(key, 0, 0, 1<<14); v != 0 {
		return v
	}
	return max(1, b.NEmbed/b.someHeads())
}

// someHeads is the number of heads of the first layer that has any, 1 if none has: layers without attention have none.
func (b *Builder) someHeads() uint32 {
	for _, n := range b.heads {
		if n > 0 {
			return n
		}
	}
	return 1
}

// Heads and KVHeads are the query and key-value heads of the current layer.
func (b *Builder) Heads() uint32 { return b.heads[max(b.layer, 0)] }

// KVHeads is the number of key-value heads of the current layer.
func (b *Builder) KVHeads() uint32 { return b.kvHeads[max(b.layer, 0)] }

// Used is the number of experts that the current layer chooses.
func (b *Builder) Used() uint32 { return b.used[max(b.layer, 0)] }

// FF is the width of the feed-forward part of the current layer.
func (b *Builder) FF() uint32 { return b.ff[max(b.layer, 0)] }

// refuse reports hyperparameters whose effect this architecture's file does not implement, unless they are absent or 0.
func (b *Builder) refuse(keys ...string) {
	for _, k := range keys {
		v, ok := b.set.Get(b.key(k))
		if !ok {
			continue
		}
		switch x := v.(type) {
		case float32:
			ok = x != 0
		case float64:
			ok = x != 0
		case bool:
			ok = x
		case gguf.Array:
			ok = anySet(x)
		case string:
			ok = x != ""
		default:
			n, _, err := b.set.Int(b.key(k))
			ok = err != nil || n != 0
		}
		if ok {
			b.unsupported("key %q is set (%s); architecture %s is known here without it", b.key(k), describe(v), b.g.Arch)
		}
	}
}

// anySet says whether an array has a value that is not one of the usual ways to say "not used": 0, −1, false.
func anySet(a gguf.Array) bool {
	if ints, err := a.Int64s(); err == nil {
		return slices.ContainsFunc(ints, func(v int64) bool { return v != 0 && v != -1 })
	}
	if floats, err := a.Float32s(); err == nil {
		return slices.ContainsFunc(floats, func(v float32) bool { return v != 0 })
	}
	return a.Len > 0
}

func describe(v gguf.Value) string {
	if a, ok := v.(gguf.Array); ok {
		return fmt.Sprintf("array of %d", a.Len)
	}
	return clip(fmt.Sprint(v))
}
