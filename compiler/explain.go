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
	Tensors  []TensorLine     `json:"tensors"`               // in the order of the source
	Sections []format.Section `json:"-"`
	Notes    []string         `json:"notes,omitempty"`
	Length   uint64           `json:"container_bytes"`
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

// explanation describes the finished plan.
func (b *build) explanation() *Explanation {
	d := b.laid.Draft
	ex := &Explanation{
		Model: d.Model, Target: d.Target, Passes: lower.Passes(), Program: programLines(d.Program, d.Tensors),
		Arena: d.Program.PerRow, Sections: b.laid.Sections, Length: b.laid.Length, Notes: b.vocab.Notes,
	}
	for _, s := range d.Program.States {
		ex.KVBytes += 2 * uint64(s.KVHeads) * (uint64(s.KeyDim) + uint64(s.ValDim))
	}
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
	fmt.Fprintf(&b, "container  %d bytes; per token of a batch %d bytes of arena; per position of context %d bytes of keys and values\n\n", ex.Length, ex.Arena, ex.KVBytes)
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

// programLines gives one line for every operation: results ← name(inputs; weights) constants.
func programLines(p *format.Program, tensors []format.Tensor) []string {
	l := lister{p, tensors}
	lines := make([]string, len(p.Ops))
	for i, op := range p.Ops {
		lines[i] = l.op(op)
	}
	return lines
}

type lister struct {
	p       *format.Program
	tensors []format.Tensor
}

func (l lister) buf(i uint32) string {
	if i == format.None {
		return "–"
	}
	return fmt.Sprintf("%s@%d", l.p.Buffers[i].Name, i)
}

func (l lister) weight(i uint32) string {
	if i == format.None {
		return "–"
	}
	return l.tensors[i].Name
}

// both names a float32 and a quantised result, either of which may be absent.
func (l lister) both(out, q uint32) string {
	switch {
	case out == format.None:
		return l.buf(q)
	case q == format.None:
		return l.buf(out)
	}
	return l.buf(out) + ", " + l.buf(q)
}

func (l lister) op(op format.Op) string {
	line := func(out, text string, args ...any) string {
		return fmt.Sprintf("%s ← %s ", out, op.Kind) + fmt.Sprintf(text, args...)
	}
	switch p := op.Params.(type) {
	case *format.RowsParams:
		return line(l.buf(p.Out), "%s × %g", l.weight(p.W), p.Scale)
	case *format.NormParams:
		return line(l.both(p.Out, p.Q), "%s; %s, %d groups, ε %g", l.buf(p.In), l.weight(p.W), p.Groups, p.Eps)
	case *format.QuantizeParams:
		return line(l.buf(p.Out), "%s", l.buf(p.In))
	case *format.MatMulParams:
		return l.matmul(op, p)
	case *format.RopeParams:
		return line(l.buf(p.X), "table %d, %d heads of %d, halves %t", p.Table, p.Heads, p.HeadDim, p.NeoX)
	case *format.KVAppendParams:
		return line(fmt.Sprintf("state %d", p.State), "%s, %s", l.buf(p.K), l.buf(p.V))
	case *format.AttentionParams:
		return line(l.buf(p.Out), "%s over state %d, %d heads, scale %g, window %d", l.buf(p.Q), p.State, p.Heads, p.Scale, l.p.States[p.State].Window)
	case *format.ActivationParams:
		return line(l.both(p.Out, p.Q), "function %d of %s, times %s", p.Act, l.buf(p.Gate), l.buf(p.Up))
	case *format.ElementParams:
		return line(l.buf(p.Out), "kind %d of %s, %s, factor %g", p.Element, l.buf(p.A), l.buf(p.B), p.Scale)
	case *format.SelectParams:
		return line(l.buf(p.Out), "%s", l.buf(p.In))
	case *format.RouteParams:
		return line(l.buf(p.Out), "%s: %d of %d experts, function %d, renormalised %t, factor %g", l.buf(p.In), p.Top, p.Experts, p.Func, p.Renormalise, p.Scale)
	case *format.ExpertsParams:
		return line(l.buf(p.Out), "%s by %s; %s, %s, %s + %s", l.buf(p.In), l.buf(p.Route), l.weight(p.Gate), l.weight(p.Up), l.weight(p.Down), l.buf(p.Residual))
	case *format.SoftCapParams:
		return line(l.buf(p.X), "at %g", p.Cap)
	}
	return op.Kind.String()
}

func (l lister) matmul(op format.Op, p *format.MatMulParams) string {
	var outs, parts []string
	for _, m := range p.Parts {
		outs = append(outs, l.buf(m.Out))
		s := l.weight(m.W)
		if m.Bias != format.None {
			s += " + " + l.weight(m.Bias)
		}
		if m.Scale != 1 {
			s += fmt.Sprintf(" × %g", m.Scale)
		}
		if m.Residual != format.None {
			s += " + " + l.buf(m.Residual)
		}
		parts = append(parts, s)
	}
	return fmt.Sprintf("%s ← %s %s; %s", strings.Join(outs, ", "), op.Kind, l.buf(p.In), strings.Join(parts, ", "))
}
