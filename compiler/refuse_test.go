package compiler

import (
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler/internal/gguf"
	"jns/compiler/internal/gguf/gguftest"
	"jns/format"
)

func TestWhatCannotBeCompiledIsRefusedByName(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(f *gguftest.File)
		want   error
		texts  []string
	}{
		{"unknown architecture", func(f *gguftest.File) { f.Set("general.architecture", "hal9000") }, ErrUnsupported, []string{"hal9000", "qwen3moe"}},
		{"no architecture", func(f *gguftest.File) { f.KVs = f.KVs[1:] }, ErrCorrupt, []string{"general.architecture"}},
		{"adapter", func(f *gguftest.File) { f.Set("general.type", "adapter") }, ErrUnsupported, []string{"LoRA"}},
		{"projector by type", func(f *gguftest.File) { f.Set("general.type", "mmproj") }, ErrUnsupported, []string{"mmproj"}},
		{"projector by architecture", func(f *gguftest.File) { f.Set("general.architecture", "clip") }, ErrUnsupported, []string{"mmproj"}},
		{"unknown tensors", func(f *gguftest.File) {
			f.Tensors = append(f.Tensors, gguftest.Tensor{Name: "blk.0.flux.weight", Dims: []uint64{8}}, gguftest.Tensor{Name: "extra", Dims: []uint64{8, 2}})
		}, ErrUnsupported, []string{"blk.0.flux.weight", "extra", "--keep-unknown"}},
		{"missing tensors", func(f *gguftest.File) { f.Tensors = f.Tensors[:4] }, ErrCorrupt, []string{"blk.0.attn_v.weight", "blk.1.ffn_down.weight"}},
		{"wrong shape", func(f *gguftest.File) { f.Tensors[2].Dims[1]++ }, ErrCorrupt, []string{"blk.0.attn_q.weight", "dimensions"}},
		{"integer weights", func(f *gguftest.File) { f.Tensors[2].Type = gguf.TypeI8 }, ErrUnsupported, []string{"blk.0.attn_q.weight", "I8"}},
		{"quantised norm", func(f *gguftest.File) { f.Tensors[1].Type = gguf.TypeQ8_0 }, ErrUnsupported, []string{"blk.0.attn_norm.weight"}},
		{"no layers", func(f *gguftest.File) { f.Set("llama.block_count", uint32(0)) }, ErrCorrupt, []string{"llama.block_count"}},
		{"a billion layers", func(f *gguftest.File) { f.Set("llama.block_count", uint32(1e9)) }, ErrCorrupt, []string{"llama.block_count"}},
		{"heads that do not divide", func(f *gguftest.File) { f.Set("llama.attention.head_count_kv", uint32(3)) }, ErrCorrupt, []string{"heads"}},
		{"key of a wrong kind", func(f *gguftest.File) { f.Set("llama.block_count", "two") }, ErrCorrupt, []string{"llama.block_count"}},
		{"NaN", func(f *gguftest.File) { f.Set("llama.rope.freq_base", nan()) }, ErrCorrupt, []string{"llama.rope.freq_base"}},
		{"negative norm epsilon", func(f *gguftest.File) { f.Set("llama.attention.layer_norm_rms_epsilon", float32(-1)) }, ErrCorrupt, []string{"epsilon"}},
		{"odd rotation", func(f *gguftest.File) { f.Set("llama.rope.dimension_count", uint32(31)) }, ErrCorrupt, []string{"rotation"}},
		{"unknown scaling", func(f *gguftest.File) { f.Set("llama.rope.scaling.type", "longer") }, ErrUnsupported, []string{"longer"}},
		{"unknown tokenizer", func(f *gguftest.File) { f.Set("tokenizer.ggml.model", "runes") }, ErrUnsupported, []string{"runes"}},
		{"more experts used than there are", func(f *gguftest.File) {
			f.Set("llama.expert_count", uint32(2))
			f.Set("llama.expert_used_count", uint32(3))
		}, ErrCorrupt, []string{"expert_used_count"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := small("llama").file()
			c.change(&f)
			_, err := Explain(Options{Source: write(t, f)})
			require.ErrorIs(t, err, c.want)
			for _, text := range c.texts {
				require.ErrorContains(t, err, text)
			}
		})
	}
}

func nan() float32 { z := float32(0); return z / z }

func TestUnknownTensorsAreKeptWhenAsked(t *testing.T) {
	f := small("llama").file()
	f.Tensors = append(f.Tensors, gguftest.Tensor{Name: "blk.0.flux.weight", Type: gguf.TypeQ4_K, Dims: []uint64{256, 3, 2}, Seed: 4})
	rep := roundTrip(t, Options{Source: write(t, f), KeepUnknown: true})
	line := rep.Tensors[len(rep.Tensors)-1]
	require.Equal(t, "aside", line.Class)
	require.Contains(t, line.Reason, "kept by request")
}

func TestRotationFactorsAreFoldedAndKept(t *testing.T) {
	f := small("llama").file()
	factors := make([]byte, 16*4)
	for i := range 16 {
		copy(factors[4*i:], []byte{0, 0, 0, 0x40}) // 2.0
	}
	f.Tensors = append(f.Tensors, gguftest.Tensor{Name: "rope_freqs.weight", Dims: []uint64{16}, Data: factors})
	rep := roundTrip(t, Options{Source: write(t, f)})
	require.Contains(t, rep.Tensors[len(rep.Tensors)-1].Reason, "rotation table")

	b := &build{opt: Options{Source: write(t, f)}}
	require.NoError(t, b.inventory())
	defer b.set.Close()
	require.Equal(t, 0.5, b.graph.Ropes[0].Freqs[0])
}

func TestZeroMeansNotUsedWhereSaversWriteEverything(t *testing.T) {
	f := small("llama").file()
	for _, k := range []string{"expert_count", "expert_used_count", "expert_shared_feed_forward_length", "rope.dimension_count"} {
		f.Set("llama."+k, uint32(0))
	}
	for _, k := range []string{"logit_scale", "residual_scale", "embedding_scale", "attention.clamp_kqv", "expert_weights_scale", "rope.scaling.factor"} {
		f.Set("llama."+k, float32(0))
	}
	f.Set("llama.swiglu_clamp_exp", []float32{0, 0})
	roundTrip(t, Options{Source: write(t, f)})
}

func TestWindowPatternsAreRead(t *testing.T) {
	windows := func(set func(f *gguftest.File)) []uint32 {
		f := small("gemma3").file()
		set(&f)
		b := &build{opt: Options{Source: write(t, f)}}
		require.NoError(t, b.inventory())
		defer b.set.Close()
		var out []uint32
		for _, s := range b.graph.States {
			out = append(out, s.Window)
		}
		return out
	}
	require.Equal(t, []uint32{16, 16, 16, 16, 16, 0, 16}, windows(func(*gguftest.File) {}))
	require.Equal(t, []uint32{16, 0, 16, 0, 16, 0, 16}, windows(func(f *gguftest.File) { f.Set("gemma3.attention.sliding_window_pattern", uint32(2)) }))
	require.Equal(t, []uint32{0, 16, 0, 0, 0, 0, 16}, windows(func(f *gguftest.File) {
		f.Set("gemma3.attention.sliding_window_pattern", []bool{false, true, false, false, false, false, true})
	}))
	require.Equal(t, make([]uint32, 7), windows(func(f *gguftest.File) { f.Set("gemma3.attention.sliding_window", uint32(0)) }))
}

// TestAbsurdSizesAreRefusedAtOnce: a file of a few hundred bytes says that it has a head of millions of elements, whose rotation would take an hour to compute; a larger one has
// more layers than a program has operations.
func TestAbsurdSizesAreRefusedAtOnce(t *testing.T) {
	m := small("llama")
	m.layers, m.heads, m.kv = 1, 1, 1
	f := m.file()
	f.Set("llama.embedding_length", uint32(1<<24))
	f.Set("llama.attention.key_length", uint32(0))
	f.Set("llama.attention.value_length", uint32(0))
	err := planBytes(f.Bytes())
	require.ErrorIs(t, err, ErrUnsupported)
	require.ErrorContains(t, err, "16777216 elements of a head are rotated, at most 4096 can be")

	m.embed, m.head, m.ff, m.layers = 32, 32, 32, 2100
	err = planBytes(m.file().Bytes())
	require.ErrorIs(t, err, ErrUnsupported)
	require.ErrorContains(t, err, "steps, at most 32768 can be lowered")
	m.layers = 1400
	err = planBytes(m.file().Bytes())
	require.ErrorIs(t, err, ErrUnsupported)
	require.NotErrorIs(t, err, format.ErrCorrupt, "no container was read")
	require.ErrorContains(t, err, "operations, must be 1 to 16384")
}
