package arch

import (
	"math"

	"jns/compiler/internal/gguf"
	"jns/format"
)

var _ = register("gemma4", gemma4)

// gemma4 is Gemma 4: as gemma3, with attention that is not scaled and norms the values, wider heads in full layers than in those with a sliding window, keys and
// values that the last layers share with earlier ones, a factor on each layer's output, and embeddings of the token for each layer, which gate what is added at the
// layer's end. A layer may have experts beside its feed-forward part.
func gemma4(b *Builder) {
	expertFF := b.perLayer("expert_feed_forward_length", nil, maxWidth/2)
	window := b.bounded("attention.sliding_window", 0, 1, 1<<31)
	swa := b.windowPattern(window, 0)
	full := b.Rotation()
	near := full
	near.Base, near.Scaling, near.Factors = b.Nonzero("rope.freq_base_swa", 10000), ScaleNone, nil
	nearDim := b.bounded("attention.key_length_swa", uint64(b.HeadDim), 1, 1<<14)
	if v := b.bounded("attention.value_length_swa", uint64(nearDim), 1, 1<<14); v != nearDim {
		b.unsupported("key %q is %d beside %d for keys; known are heads with both alike", b.key("attention.value_length_swa"), v, nearDim)
	}
	near.Dims = b.bounded("rope.dimension_count_swa", uint64(full.Dims), 2, uint64(nearDim)) &^ 1
	own := b.NLayer - int(b.bounded("attention.shared_kv_layers", 0, 0, uint64(b.NLayer)))
	if own < b.NLayer && own < 2 {
		b.corrupt("key %q leaves %d layers with keys and values", b.key("attention.shared_kv_layers"), own)
		own = b.NLayer
	}

	x := b.Embed(float32(math.Sqrt(float64(b.NEmbed))))
	width := b.bounded("embedding_length_per_layer_input", 0, 0, maxWidth/maxLayers)
	var perLayer Value
	if width > 0 {
		perLayer = b.perLayerInputs(x, width)
	}
	b.Layers(func(i int) {
		a := Attn{NeoX: true, QKNorm: true, ValNorm: true, ValueK: true, Scale: 1, Dim: b.HeadDim}
		if swa[i] {
			a.Rope, a.Window, a.Dim = b.RopeTable(near), window, nearDim
		} else {
			a.Rope = b.RopeTable(full)
		}
		if i >= own {
			a.Shared, a.From = true, own-1
			if swa[i] {
				a.From = own - 2
			}
		}
		y := b.SelfAttention(b.Norm(x, "attn_norm.weight"), a)
		x = b.Add(b.Norm(y, "post_attention_norm.weight"), x)
		y = b.FeedForward(b.Norm(x, "ffn_norm.weight"), format.ActGELU, "", b.FF())
		if b.Has("ffn_gate_inp.weight") {
			y = b.Add(b.Norm(b.gemma4Experts(x, expertFF[i]), "post_ffw_norm_2.weight"), b.Norm(y, "post_ffw_norm_1.weight"))
		}
		x = b.Add(b.Norm(y, "post_ffw_norm.weight"), x)
		if width > 0 {
			gate := b.Linear(x, "inp_gate", width)
			in := b.Slice(perLayer, uint32(i)*width, width, width, width)
			h := b.add(Node{Params: &format.ActivationParams{Act: format.ActGELU}, In: []Value{gate, in}, Name: "per_layer_hidden", Width: width})
			x = b.Add(b.Norm(b.Linear(h, "proj", b.NEmbed), "post_norm.weight"), x)
		}
		if b.Has("layer_output_scale.weight") {
			x = b.Scale(x, b.folded("layer_output_scale.weight", 1, "folded into the program as the layer's factor")[0])
			b.g.Nodes[x].Name = "x"
		}
	})
	b.Output(x, 1, float32(b.Float("final_logit_softcapping", 0)))
}

// gemma4Experts are a layer's experts. Their router has a norm of its own, whose weight is called a scale.
func (b *Builder) gemma4Experts(x Value, width uint32) Value {
	n := b.norm(x, format.NormRMS, b.Vector("ffn_gate_inp.scale", b.NEmbed), nil, 1, false, b.Eps)
	w := b.Matrix("ffn_gate_inp.weight", b.NEmbed, b.NExpert)
	router := b.matmul(n, w, nil, "ffn_gate_inp", float32(1/math.Sqrt(float64(b.NEmbed))))
	return b.Experts(b.Norm(x, "pre_ffw_norm_2.weight"), Moe{Act: format.ActGELU, Func: format.RouteSoftmax, Renormalise: true, Width: width, Scaled: true, Router: router})
}

// perLayerInputs are the inputs of all layers, width elements each: of a table, and of a projection of the embedding x.
func (b *Builder) perLayerInputs(x Value, width uint32) Value {
	n := uint32(b.NLayer) * width
	t := b.tensor(RoleRows, "per_layer_token_embd.weight", uint64(n), uint64(b.NVocab))
	b.checkWeight(t)
	y := b.Scale(b.Linear(x, "per_layer_model_proj", n), float32(1/math.Sqrt(float64(b.NEmbed))))
	y = b.HeadNorm(y, "per_layer_proj_norm.weight", uint32(b.NLayer))
	rows := b.add(Node{Params: &format.RowsParams{Scale: float32(math.Sqrt(float64(width)))}, W: []*gguf.Tensor{t}, Name: "per_layer_embd", Width: n})
	return b.Scale(b.Add(y, rows), float32(1/math.Sqrt2))
}
