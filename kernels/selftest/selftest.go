// Package selftest holds the kernels of the machine it runs on to the bits of the scalar definition, for people whose processor nobody of us has.
//
// Its noun: a Result, what came of one kernel or one group of vector functions. Inputs come from seeds, so that two machines compute the same. It is part of a command
// and must not import testing. Read Run, then products.go and vectors.go.
package selftest

import (
	"context"
	"fmt"

	"jns/kernels"
	"jns/kernels/cpu"
)

// Result is what came of one kernel.
type Result struct {
	Set        string `json:"set"`
	Kernel     string `json:"kernel"`
	Cases      int    `json:"cases"`
	Difference string `json:"difference,omitempty"` // the first, with its place; "": none
}

// Sets lists what there is to check: of all sets of this machine, those too that run only where they are named, or of one.
func Sets(name string) ([]string, error) {
	if name != "" && name != "auto" {
		set, err := kernels.Resolve(name)
		return []string{set}, err
	}
	var all []string
	for _, set := range append(kernels.Asked(), kernels.Available()...) {
		if set != cpu.Scalar {
			all = append(all, set)
		}
	}
	return all, nil
}

// Run checks every kernel that the sets have of their own and tells each result as it comes. An error is ctx's or that of each.
func Run(ctx context.Context, sets []string, each func(Result) error) error {
	var bound []*kernels.MatMul
	for _, l := range layouts() {
		bound = bound[:0]
		for _, set := range sets {
			m, err := kernels.BindMatMul(l, set)
			if err != nil {
				return err
			}
			if m.Set == set && set != cpu.Scalar {
				bound = append(bound, m)
			}
		}
		if err := products(ctx, l, bound, each); err != nil {
			return fmt.Errorf("products of %s: %w", l.Name, err)
		}
	}
	seen := map[string]bool{cpu.Scalar: true}
	for _, set := range sets {
		v := kernels.VecFor(set)
		if seen[v.Set] {
			continue
		}
		seen[v.Set] = true
		if err := vectors(ctx, v, each); err != nil {
			return err
		}
	}
	return nil
}
