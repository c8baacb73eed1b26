package engine

import (
	"context"
	"errors"
	"fmt"
	"math"

	"jns/kernels/selftest"
)

// ErrSelfTest says that something computed on this machine has not the bits of the definition.
var ErrSelfTest = errors.New("not the bits of the scalar definition")

// Checked is what came of one kernel, or of one way to compute a model's logits.
type Checked = selftest.Result

// SelfTest compares every kernel that this machine has with the scalar definition: those of the set named, or with "auto" of all sets, those too that run only where they
// are named. Each result is told as it comes; differences are no error here.
func SelfTest(ctx context.Context, set string, each func(Checked) error) error {
	sets, err := selftest.Sets(set)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOption, err)
	}
	return selftest.Run(ctx, sets, each)
}

// selfTestTokens is how many tokens of a model are compared: scalar code computes them too, which is slow.
const selfTestTokens = 8

// SelfTestModel compares a model's logits by every set, with one and all threads and in batches of several sizes, with those of scalar code.
func SelfTestModel(ctx context.Context, path, set string, o Options, each func(Checked) error) error {
	sets, err := selftest.Sets(set)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOption, err)
	}
	threads := []int{1, o.Threads}
	o.Kernels, o.Batch, o.Context = "scalar", selfTestTokens, selfTestTokens
	want, err := selfTestLogits(ctx, path, o)
	if err != nil {
		return err
	}
	for _, o.Kernels = range sets {
		for _, o.Threads = range threads {
			for _, o.Batch = range []int{1, 3, selfTestTokens} {
				got, err := selfTestLogits(ctx, path, o)
				if err != nil {
					return err
				}
				many := "all threads"
				if o.Threads > 0 {
					many = fmt.Sprintf("threads: %d", o.Threads)
				}
				if err := each(Checked{Set: o.Kernels, Kernel: fmt.Sprintf("logits (%s, batches of %d)", many, o.Batch), Cases: len(got), Difference: logitsDiffer(want, got)}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// selfTestLogits computes the logits of the same few tokens each time.
func selfTestLogits(ctx context.Context, path string, o Options) (all [][]float32, err error) {
	e, err := Open(path, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	tokens := make([]int32, selfTestTokens)
	for i := range tokens {
		tokens[i] = int32((i*i*7919 + 13) % e.Vocab())
	}
	s := e.NewSession()
	defer s.Close()
	err = s.Eval(ctx, tokens, func(int) bool { return true }, func(_ int, l []float32) error {
		all = append(all, append([]float32(nil), l...))
		return nil
	})
	return all, err
}

// logitsDiffer describes the first difference; "": none.
func logitsDiffer(want, got [][]float32) string {
	for i := range want {
		for k := range want[i] {
			if w, g := math.Float32bits(want[i][k]), math.Float32bits(got[i][k]); w != g {
				return fmt.Sprintf("token %d: logit %d is %v (%08x), want %v (%08x)", i, k, got[i][k], g, want[i][k], w)
			}
		}
	}
	return ""
}
