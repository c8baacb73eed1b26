package compiler

import (
	"fmt"
	"io"
	"strings"

	"jns/compiler/internal/gguf"
	"jns/compiler/internal/lower"
	"jns/compiler/internal/plan"
	"jns/format"
)

// Explanation says what a model becomes and why.
type Explanation struct {
	Model    format.Model     `json:"model"`
	Target   string           `json:"target"`
	Passes   []string         `json:"passes"`  // of lowering, in order
	Program  []string         `json:"program"` // one line per operation
	Arena    uint64           `json:"arena_bytes_per_row"`
	KVBytes  uint64           `json:"kv_bytes_per_position"` // without windows
	State    uint64           `json:"state_bytes"`           // of recurrent layers, for a session
	Tensors  []TensorLine     `json:"tensors"`               // in the order of the source
	Sections []format.Section `json:"-"`
	Notes    []string         `json:"notes,omitempty"`
	Profile  string           `json:"profile,omitempty"` // SHA-256 of the routing trace by which experts lie
	Order    []LayerOrder     `json:"experts_order,omitempty"`
	Length   uint64           `json:"container_bytes"`

	lowered lowered
}

// TensorLine says what one tensor becomes.
type TensorLine struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Shape       string `json:"shape"` // columns × rows × experts
	Layout      string `json:"layout"`
	Class       string `json:"class"`
	Slots       string `json:"slots"`
	Reason      string `json:"reason"`
	SourceBytes uint64 `json:"source_bytes"`
	Bytes       uint64 `json:"bytes"`
	Tiled       bool   `json:"tiled"`
}

// states counts what a session remembers.
func (ex *Explanation) states(states []format.State) {
	for _, s := range states {
		if s.Kind == format.StateRecurrent {
			ex.State += 4 * uint64(s.KVHeads) * uint64(s.KeyDim) * uint64(s.ValDim)
			continue
		}
		ex.KVBytes += 2 * uint64(s.KVHeads) * (uint64(s.KeyDim) + uint64(s.ValDim))
	}
}

// explanation describes the finished plan.
func (b *build) explanation() *Explanation {
	d := b.laid.Draft
	ex := &Explanation{
		Model: d.Model, Target: d.Target, Passes: lower.Passes(), Program: programLines(d.Program, d.Tensors),
		Arena: d.Program.PerRow, Sections: b.laid.Sections, Length: b.laid.Length, Notes: b.vocab.Notes,
		Profile: b.recipe().Profile, Order: ExpertOrder(format.SlotList(d.Slots)),
	}
	ex.lowered = lowered{d.Program, d.Tensors}
	ex.states(d.Program.States)
	for i := range d.Tensors {
		ex.Tensors = append(ex.Tensors, b.tensorLine(i))
	}
	return ex
}

func (b *build) tensorLine(i int) TensorLine {
	t := &b.laid.Draft.Tensors[i]
	src := b.items[i].Tensor
	line := TensorLine{
		Name: t.Name, Type: src.Type.String(), Shape: shape(src), Layout: plan.LayoutName(t), Class: t.Class.String(),
		Reason: format.ReasonText(t.Reason), SourceBytes: src.Size, Tiled: t.Reason == format.ReasonTiled,
		Slots: fmt.Sprint(t.FirstSlot),
	}
	if t.Slots > 1 {
		line.Slots = fmt.Sprintf("%d–%d", t.FirstSlot, t.FirstSlot+t.Slots-1)
	}
	if why := b.graph.Uses[src].Reason; why != "" {
		line.Reason = why
	}
	for p := range t.Slots {
		line.Bytes += t.PartBytes(p)
	}
	return line
}

func shape(t *gguf.Tensor) string {
	parts := make([]string, len(t.Dims))
	for i, d := range t.Dims {
		parts[i] = fmt.Sprint(d)
	}
	return strings.Join(parts, "×")
}

// Text writes the explanation for people: facts, one line a tensor, and the program.
func (ex *Explanation) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "model      %s\n", ex.Model.Name)
	for _, f := range ex.Model.Facts {
		fmt.Fprintf(&b, "%-10s %s\n", f.Key, f.Value)
	}
	fmt.Fprintf(&b, "parameters %d, vocabulary %d, trained context %d\n", ex.Model.Params, ex.Model.Vocab, ex.Model.Context)
	fmt.Fprintf(&b, "target     %s\n", ex.Target)
	fmt.Fprintf(&b, "container  %d bytes; per token of a batch %d bytes of arena; per position of context %d bytes of keys and values%s\n\n", ex.Length, ex.Arena, ex.KVBytes, recurrentText(ex.State))
	if ex.Profile != "" {
		fmt.Fprintf(&b, "experts    %s\n\n", OrderText(ex.Profile, ex.Order))
	}
	wide := [5]int{}
	for _, t := range ex.Tensors {
		for i, s := range []string{t.Name, t.Type, t.Shape, t.Layout, t.Class} {
			wide[i] = max(wide[i], len([]rune(s)))
		}
	}
	for _, t := range ex.Tensors {
		fmt.Fprintf(&b, "%-*s  %-*s  %-*s  → %-*s  %-*s  slot %-9s %s\n", wide[0], t.Name, wide[1], t.Type, wide[2], t.Shape,
			wide[3], t.Layout, wide[4], t.Class, t.Slots, t.Reason)
	}
	for _, n := range ex.Notes {
		fmt.Fprintf(&b, "\nnote: %s", n)
	}
	fmt.Fprintf(&b, "\nprogram, after: %s\n", strings.Join(ex.Passes, "; "))
	for i, l := range ex.Program {
		fmt.Fprintf(&b, "%5d  %s\n", i, l)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// programLines gives one line for every operation, with the names of what its operands refer to.
func programLines(p *format.Program, tensors []format.Tensor) []string {
	lines := make([]string, len(p.Ops))
	for i, op := range p.Ops {
		lines[i] = format.OpText(p, format.TensorList(tensors), op)
	}
	return lines
}

func recurrentText(n uint64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; per session %d bytes of recurrent state", n)
}
