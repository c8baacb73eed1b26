package compiler

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler/internal/gguf"
	"jns/compiler/internal/gguf/gguftest"
	"jns/compiler/internal/plan"
	"jns/format"
)

// planBytes goes as far as Explain does, on a file in memory.
func planBytes(b []byte) error {
	set, err := gguf.OpenReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return err
	}
	w := &build{set: set, opt: Options{KeepUnknown: true}}
	if w.target, err = plan.FindTarget(""); err != nil {
		return err
	}
	for _, step := range []func() error{w.read, w.lower, w.plan} {
		if err := step(); err != nil {
			return err
		}
	}
	_ = w.explanation()
	return nil
}

// Whatever is wrong with a source is said in terms of the source.
func requireBlame(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for _, s := range []error{ErrNotGGUF, ErrCorrupt, ErrUnsupported, ErrMissingPart, format.ErrCorrupt, format.ErrUnsupported} {
		if errors.Is(err, s) {
			return
		}
	}
	t.Fatalf("error blames nothing: %v", err)
}

func TestDamagedSourcesGiveErrors(t *testing.T) {
	for name, m := range allModels() {
		whole := m.file().Bytes()
		require.NoError(t, planBytes(whole), name)
		for seed := range uint64(60) {
			requireBlame(t, planBytes(gguftest.Mutate(bytes.Clone(whole), seed)))
		}
	}
}

func FuzzSources(f *testing.F) {
	for _, m := range allModels() {
		m.layers, m.weights = 1, m.weights[:1]
		f.Add(m.file().Bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) { requireBlame(t, planBytes(b)) })
}

// Metadata that contradicts the tensors must not pass, whatever number it is.
func TestOddHyperparametersGiveErrors(t *testing.T) {
	keys := []string{"block_count", "embedding_length", "context_length", "feed_forward_length", "attention.head_count", "attention.head_count_kv",
		"attention.key_length", "attention.value_length", "expert_count", "expert_used_count", "expert_feed_forward_length", "rope.dimension_count",
		"attention.sliding_window", "attention.sliding_window_pattern", "expert_shared_feed_forward_length"}
	for _, arch := range []string{"llama", "qwen3moe", "gemma3", "granitemoe"} {
		m := small(arch)
		m.layers = 1
		for _, k := range keys {
			for _, v := range []any{uint32(0), uint32(1), uint32(3), uint32(1 << 14), uint32(1 << 31), ^uint32(0), ^uint64(0), int32(-1), "x", float32(1), []uint32{1, 2, 3}, []int32{}} {
				f := m.file()
				f.Set(m.arch+"."+k, v)
				requireBlame(t, planBytes(f.Bytes()))
			}
		}
		for _, k := range []string{"attention.layer_norm_rms_epsilon", "rope.freq_base", "rope.scaling.factor", "logit_scale", "residual_scale",
			"embedding_scale", "attention.scale", "rope.scaling.yarn_beta_fast", "rope.scaling.attn_factor", "final_logit_softcapping", "expert_weights_scale"} {
			for _, v := range []any{float32(0), float32(-1), float32(1e38), float32(1e-38), nan(), float64(1e300), uint32(1)} {
				f := m.file()
				f.Set(m.arch+".rope.scaling.type", "yarn")
				f.Set(m.arch+"."+k, v)
				requireBlame(t, planBytes(f.Bytes()))
			}
		}
	}
}
