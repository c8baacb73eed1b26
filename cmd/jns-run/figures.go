package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// figures is what follows from records. Sums and divisions only, so that every machine gets the same numbers.
type figures struct {
	Sides []sideFigures `json:"sides"`
	// Ratios of the two sides, a ÷ b by speed, in neighbouring runs; none with one side.
	Ratios map[string]spread `json:"ratios,omitempty"`
	// OutputsEqual says that every process of every side chose the same tokens from logits of the same bits.
	OutputsEqual bool `json:"outputs_equal"`
}

// sideFigures are those of one side.
type sideFigures struct {
	Name    string            `json:"name"`
	Roots   []string          `json:"root_digests"`
	Sets    []string          `json:"kernel_sets"`   // of the kernels that ran, by name
	Bytes   uint64            `json:"weight_bytes"`  // that kernels read, in the first run
	Logits  []string          `json:"logits_sha256"` // different ones
	Speeds  map[string]spread `json:"tokens_per_second"`
	Threads int               `json:"threads"` // of the first run
}

// spread is the distribution of a figure over runs.
type spread struct {
	N      int     `json:"n"`
	Min    float64 `json:"min"`
	Low    float64 `json:"lower_quartile"`
	Median float64 `json:"median"`
	High   float64 `json:"upper_quartile"`
	Max    float64 `json:"max"`
}

// spreadOf sorts v. Quartiles are the medians of the halves without the middle one, the median itself of a single value.
func spreadOf(v []float64) spread {
	slices.Sort(v)
	median := func(v []float64) float64 { return (v[(len(v)-1)/2] + v[len(v)/2]) / 2 }
	s := spread{N: len(v), Min: v[0], Low: v[0], Median: median(v), High: v[len(v)-1], Max: v[len(v)-1]}
	if half := len(v) / 2; half > 0 {
		s.Low, s.High = median(v[:half]), median(v[len(v)-half:])
	}
	return s
}

var phases = []string{"prefill", "decode"}

// figure computes all figures from records in the order of runs.
func figure(runs []ranAs, records []*processRecord) (*figures, error) {
	f := &figures{OutputsEqual: true}
	speeds := map[string]map[string][]float64{} // by side, phase
	logits := ""
	var tokens []int32
	for i, r := range records {
		name := runs[i].Side
		var rec recordReceipt
		if err := json.Unmarshal(r.receipt.Receipt, &rec); err != nil {
			return nil, fmt.Errorf("%s: receipt: %w", runs[i].File, err)
		}
		k := slices.IndexFunc(f.Sides, func(s sideFigures) bool { return s.Name == name })
		if k < 0 {
			k = len(f.Sides)
			f.Sides = append(f.Sides, sideFigures{Name: name, Threads: rec.Threads, Speeds: map[string]spread{}})
			for _, u := range rec.Kernels {
				f.Sides[k].Bytes += u.Bytes
			}
			speeds[name] = map[string][]float64{}
		}
		s := &f.Sides[k]
		s.Roots = insert(s.Roots, rec.Root)
		for kernel := range maps.Keys(rec.Kernels) {
			s.Sets = insert(s.Sets, kernel[strings.LastIndexByte(kernel, '_')+1:])
		}
		hashed := false
		for _, o := range r.outputs {
			if tokens == nil {
				tokens = o.Tokens
			}
			f.OutputsEqual = f.OutputsEqual && slices.Equal(o.Tokens, tokens)
			if o.Logits == "" {
				continue
			}
			if logits == "" {
				logits = o.Logits
			}
			hashed = true
			s.Logits = insert(s.Logits, o.Logits)
			f.OutputsEqual = f.OutputsEqual && o.Logits == logits
		}
		if !hashed {
			return nil, fmt.Errorf("%s says nothing of logits", runs[i].File)
		}
		for _, phase := range phases {
			if v := r.speed(phase); v > 0 {
				speeds[name][phase] = append(speeds[name][phase], v)
			}
		}
	}
	for i := range f.Sides {
		s := &f.Sides[i]
		for phase, v := range speeds[s.Name] {
			s.Speeds[phase] = spreadOf(slices.Clone(v))
		}
	}
	if len(f.Sides) == 2 {
		f.Ratios = map[string]spread{}
		for _, phase := range phases {
			a, b := speeds["a"][phase], speeds["b"][phase]
			if len(a) == 0 && len(b) == 0 {
				continue
			}
			if len(a) != len(b) {
				return nil, fmt.Errorf("%s: %d measurements of a, %d of b", phase, len(a), len(b))
			}
			var ratios []float64 // in a b b a the first of each are neighbours, and so are the second
			for i := range a {
				ratios = append(ratios, a[i]/b[i])
			}
			f.Ratios[phase] = spreadOf(ratios)
		}
	}
	return f, nil
}

// speed is the tokens per second of the passes of a phase that count, 0 if there is none.
func (r *processRecord) speed(phase string) float64 {
	var tokens, ns int64
	for _, t := range r.timings {
		if t.Phase == phase && !t.Discarded {
			tokens, ns = tokens+t.Tokens, ns+t.Nanoseconds
		}
	}
	if ns == 0 {
		return 0
	}
	return float64(tokens) / (float64(ns) / 1e9)
}

// insert adds a name to a sorted list without repetitions.
func insert(list []string, s string) []string {
	i, found := slices.BinarySearch(list, s)
	if found {
		return list
	}
	return slices.Insert(list, i, s)
}

// text prints the figures.
func (m *manifest) text(w io.Writer) {
	for i, s := range m.Figures.Sides {
		fmt.Fprintf(w, "%s  %s: kernels of %s, %d threads\n", s.Name, m.Sides[i].Label, strings.Join(s.Sets, ", "), s.Threads)
		for _, phase := range phases {
			if v, ok := s.Speeds[phase]; ok {
				fmt.Fprintf(w, "   %-8s %10.1f tokens/s, median of %d (%.1f to %.1f)\n", phase, v.Median, v.N, v.Min, v.Max)
			}
		}
	}
	for _, phase := range phases {
		if v, ok := m.Figures.Ratios[phase]; ok {
			fmt.Fprintf(w, "a ÷ b, %s: %.3f (quartiles %.3f, %.3f)\n", phase, v.Median, v.Low, v.High)
		}
	}
	if m.Figures.OutputsEqual {
		fmt.Fprintln(w, "outputs are equal: the same tokens from logits of the same bits")
	} else {
		fmt.Fprintln(w, "OUTPUTS DIFFER")
	}
}
