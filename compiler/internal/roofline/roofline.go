// Package roofline says what bounds a product on a target: reading the weights, or the instructions that compute with them. Both are counted, the bytes from the layouts and the
// instructions by the generators of the kernels; only what the machine can do is measured or its maker's.
//
// Its nouns: a Kernel and what a weight costs in it; a Machine; a Bound, which is the slower of the two ways to run out of time. It must not know models: it is asked about
// layouts.
package roofline

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"jns/compiler/internal/plan"
	"jns/kernels/amd64"
	"jns/kernels/arm64"
	"jns/kernels/tile"
)

// Kernel is what a weight costs in a kernel.
type Kernel struct {
	Name         string  `json:"name"`
	Set          string  `json:"set"`
	Columns      int     `json:"columns"` // activation rows that a weight is multiplied with while it is at hand; 0: the kernel only expands weights
	Bytes        float64 `json:"bytes_per_weight"`
	Instructions float64 `json:"instructions_per_weight"`

	op     string
	layout string
	rows   int
}

// Bound is what limits a kernel on a machine.
type Bound struct {
	Memory       float64 `json:"memory_ps"`       // picoseconds for a weight to be read
	Instructions float64 `json:"instructions_ps"` // to be computed with
	By           string  `json:"bound"`           // "memory" or "instructions", whichever takes longer
}

// Time is the picoseconds that a weight takes.
func (b Bound) Time() float64 { return max(b.Memory, b.Instructions) }

// On bounds the kernel on a machine whose cores all work.
func (k Kernel) On(m Machine) Bound {
	b := Bound{Memory: 1000 * k.Bytes / m.GBps, Instructions: 1000 * k.Instructions / m.Rate(k.Set), By: "memory"}
	if b.Instructions > b.Memory {
		b.By = "instructions"
	}
	return b
}

// gemv_q4_0x16_q8x_16x1_avx2, expand_q4_0x16_codes_16x32_avx2
var name = regexp.MustCompile(`^(gemv|expand)_(\w+)_(?:q8x|f32|codes)_(\d+)x(\d+)_(\w+)$`)

// kernels lists all kernels that read weights as they lie, of both architectures, by name.
var kernels = func() (all []Kernel) {
	add := func(kernel string, instructions, bytes, weights int) {
		m := name.FindStringSubmatch(kernel)
		if m == nil || weights == 0 {
			return
		}
		rows, _ := strconv.Atoi(m[3])
		k := Kernel{Name: kernel, Set: m[5], Bytes: float64(bytes) / float64(weights), Instructions: float64(instructions) / float64(weights), op: m[1], layout: m[2], rows: rows}
		if k.op == "gemv" {
			k.Columns, _ = strconv.Atoi(m[4])
		}
		all = append(all, k)
	}
	for _, n := range slices.Sorted(maps.Keys(amd64.Costs)) {
		c := amd64.Costs[n]
		add(n, c.InstructionsPerTile, c.BytesPerTile, c.WeightsPerTile)
	}
	for _, n := range slices.Sorted(maps.Keys(arm64.Costs)) {
		c := arm64.Costs[n]
		add(n, c.InstructionsPerTile, c.BytesPerTile, c.WeightsPerTile)
	}
	return all
}()

// sets are the kernel sets of targets' features, best first: a layout that one has no kernel for is computed by the next.
var sets = []struct{ feature, set string }{
	{"avx512vnni", "avx512vnni"}, {"avxvnni", "avxvnni"}, {"avx2", "avx2"}, {"avx512vnni", "avx2"}, {"sme2", "sme2"}, {"i8mm", "i8mm"}, {"dotprod", "dotprod"},
}

// Kernels lists what the best set of a target that has any does with a layout: products with few activation rows, by their number, and expansion. None: the scalar kernel.
func Kernels(l *tile.Layout, target plan.Target) (all []Kernel) {
	for _, op := range []string{"gemv", "expand"} {
		for _, s := range sets {
			if !slices.Contains(target.Features, s.feature) {
				continue
			}
			var found []Kernel
			for _, k := range kernels {
				if k.op == op && k.layout == l.Name && k.Set == s.set {
					found = append(found, k)
				}
			}
			if found == nil {
				continue
			}
			// The most rows first, which is what runs where there are enough of them.
			slices.SortStableFunc(found, func(a, b Kernel) int { return cmp.Or(a.Columns-b.Columns, b.rows-a.rows) })
			all = append(all, slices.CompactFunc(found, func(a, b Kernel) bool { return a.Columns == b.Columns })...)
			break
		}
	}
	return all
}

// Decode is the kernel that multiplies a layout with one activation row; false: the scalar one.
func Decode(l *tile.Layout, target plan.Target) (Kernel, bool) {
	for _, k := range Kernels(l, target) {
		if k.Columns == 1 {
			return k, true
		}
	}
	return Kernel{}, false
}

// Best is the layout of a type whose weights take the least time on a machine when tokens are decoded, among those that the best set has kernels for: which set runs is another
// choice, and made later. nil if there is none.
func Best(t tile.Type, target plan.Target, m Machine) (best *tile.Layout) {
	least, first := 0.0, len(sets)
	for _, l := range tile.Layouts() {
		if l.Type != t || l.Rows != tile.Rows16 {
			continue
		}
		k, ok := Decode(l, target)
		if !ok {
			continue
		}
		set := slices.IndexFunc(sets, func(s struct{ feature, set string }) bool { return s.set == k.Set })
		if time := k.On(m).Time(); set < first || set == first && time < least {
			best, least, first = l, time, set
		}
	}
	return best
}

// Line is a layout of a model on a target.
type Line struct {
	Type    string   `json:"type"`
	Layout  string   `json:"layout"`
	Tensors int      `json:"tensors"`
	Weights uint64   `json:"weights"` // that a token is multiplied with
	Bytes   uint64   `json:"bytes"`   // that they are
	Kernels []Kernel `json:"kernels"` // the first computes a token; none: the scalar kernel
	Bound   *Bound   `json:"bound,omitempty"`
}

// Roofline is a model on a machine.
type Roofline struct {
	Target  string  `json:"target"`
	Machine Machine `json:"machine"`
	Lines   []Line  `json:"layouts"`
	// TokensPerSecond is what the bounds of all products allow with weights read from memory, which those that a cache holds are not: no forecast, since attention, barriers and
	// all that is no product come on top. 0: a product has no kernel.
	TokensPerSecond float64 `json:"tokens_per_second_at_most"`
	// Memory is the share of the time for which memory is what bounds.
	Memory float64 `json:"memory_share"`
	// OnCores is TokensPerSecond where the cores themselves compute, by the next set, instead of a unit for streaming mode that they share; 0 where there is none.
	OnCores float64 `json:"tokens_per_second_on_cores_at_most,omitempty"`
}

// Part is a matrix of a model, as far as a token is multiplied with it.
type Part struct {
	Layout  *tile.Layout
	Weights uint64
	Bytes   uint64
}

// Of makes the roofline of a model's products with one token. The error wraps ErrMachine.
func Of(parts []Part, target plan.Target, m Machine) (*Roofline, error) {
	if err := m.check(target.Name); err != nil {
		return nil, err
	}
	r := &Roofline{Target: target.Name, Machine: m}
	total, memory, whole := 0.0, 0.0, true
	byLayout := map[*tile.Layout]int{}
	for _, p := range parts {
		i, ok := byLayout[p.Layout]
		if !ok {
			i = len(r.Lines)
			byLayout[p.Layout] = i
			line := Line{Type: p.Layout.Codec.Name, Layout: p.Layout.Name, Kernels: Kernels(p.Layout, target)}
			if k, ok := Decode(p.Layout, target); ok {
				b := k.On(m)
				line.Bound = &b
			}
			r.Lines = append(r.Lines, line)
		}
		l := &r.Lines[i]
		l.Tensors, l.Weights, l.Bytes = l.Tensors+1, l.Weights+p.Weights, l.Bytes+p.Bytes
	}
	for _, l := range r.Lines {
		if l.Bound == nil {
			whole = false
			continue
		}
		t := float64(float64(l.Weights) * l.Bound.Time())
		total += t
		if l.Bound.By == "memory" {
			memory += t
		}
	}
	slices.SortFunc(r.Lines, func(a, b Line) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Layout, b.Layout)) })
	if total > 0 && whole {
		r.TokensPerSecond, r.Memory = 1e12/total, memory/total
	}
	if m.Shared != nil && slices.Contains(target.Features, streaming) {
		target.Features = slices.DeleteFunc(slices.Clone(target.Features), func(f string) bool { return f == streaming })
		m.Shared = nil
		cores, err := Of(parts, target, m)
		if err != nil {
			return nil, err
		}
		r.OnCores = cores.TokensPerSecond
	}
	return r, nil
}

// Text is the roofline for people.
func (r *Roofline) Text() string {
	m := r.Machine
	s := fmt.Sprintf("target %s: %s, %.4g GB/s, %d cores × %.4g GHz × %.3g instructions in a cycle\n", r.Target, m.Name, m.GBps, m.Cores, m.GHz, m.IPC)
	if u := m.Shared; u != nil {
		s += fmt.Sprintf("  in streaming mode: %d × %.4g GHz × %.3g instructions in a cycle\n", u.Count, u.GHz, u.IPC)
	}
	for _, x := range m.Source {
		s += "  " + x + "\n"
	}
	s += fmt.Sprintf("\n%-14s %-42s %12s %14s %10s %10s  %s\n", "layout", "kernel", "bytes/weight", "instr./weight", "memory ps", "instr. ps", "bound by")
	for _, l := range r.Lines {
		if len(l.Kernels) == 0 {
			s += fmt.Sprintf("%-14s %-42s\n", l.Layout, "the scalar kernel; nothing was counted")
		}
		for i, k := range l.Kernels {
			layout := l.Layout
			if i > 0 {
				layout = ""
			}
			b := k.On(m)
			s += fmt.Sprintf("%-14s %-42s %12.4f %14.4f %10.3f %10.3f  %s\n", layout, k.Name, k.Bytes, k.Instructions, b.Memory, b.Instructions, b.By)
		}
	}
	if r.TokensPerSecond > 0 {
		s += fmt.Sprintf("\na token's products take %.3g ms at best, %.0f %% of it bound by memory: at most %.4g tokens/s\n(of weights that a cache holds more are read in a second)\n", 1000/r.TokensPerSecond, 100*r.Memory, r.TokensPerSecond)
	}
	if r.OnCores > 0 {
		s += fmt.Sprintf("by the cores instead of the unit for streaming mode: at most %.4g tokens/s (jns-run --kernels with the next set)\n", r.OnCores)
	}
	return s
}
