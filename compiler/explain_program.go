package compiler

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"jns/format"
)

// lowered is a program with the tensors that it refers to.
type lowered struct {
	program *format.Program
	tensors []format.Tensor
}

// ProgramText writes the lowered list: memory, states, and for every operation what it reads and writes with shapes and places in the arena, and what was fused into it.
func (ex *Explanation) ProgramText(w io.Writer) error {
	p := ex.lowered.program
	var b strings.Builder
	fmt.Fprintf(&b, "arena      %d bytes per row of a batch, %d fixed, %d per worker; %d buffers\n", p.PerRow, p.Fixed, p.PerWorker, len(p.Buffers))
	for i, s := range p.States {
		fmt.Fprintf(&b, "state %-4d %s\n", i, stateText(s))
	}
	for i, r := range p.Ropes {
		fmt.Fprintf(&b, "rope %-5d %d pairs, magnitude %g\n", i, len(r.Freqs), r.MScale)
	}
	if len(ex.Passes) > 0 {
		fmt.Fprintf(&b, "after      %s\n", strings.Join(ex.Passes, "; "))
	}
	b.WriteString("\n")
	for i, op := range p.Ops {
		fmt.Fprintf(&b, "%5d  %s\n", i, ex.lowered.line(op))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func stateText(s format.State) string {
	if s.Kind == format.StateRecurrent {
		return fmt.Sprintf("recurrent, %d × %d × %d float32", s.KVHeads, s.KeyDim, s.ValDim)
	}
	t := fmt.Sprintf("keys and values, %d heads of %d and %d", s.KVHeads, s.KeyDim, s.ValDim)
	if s.Window > 0 {
		t += fmt.Sprintf(", window of %d", s.Window)
	}
	return t
}

// line is one operation: what it is, what it reads → what it writes, and what it does on the way.
func (l lowered) line(op format.Op) string {
	o := operandsOf(op.Params)
	text := fmt.Sprintf("%-10s %s", op.Kind, strings.Join(append(l.buffers(o.in), l.weights(o.weights)...), " · "))
	if o.state != format.None {
		text += fmt.Sprintf(" · state %d", o.state)
	}
	text += " → "
	if outs := l.buffers(o.out); len(outs) > 0 {
		text += strings.Join(outs, ", ")
	} else {
		text += fmt.Sprintf("state %d", o.state)
	}
	if len(o.fused) > 0 {
		text += "  [" + strings.Join(o.fused, ", ") + "]"
	}
	return text
}

// buffers are the present ones of a list, each with its shape and its place in its region.
func (l lowered) buffers(list []uint32) []string {
	var out []string
	for _, i := range list {
		if i != format.None {
			b := l.program.Buffers[i]
			out = append(out, fmt.Sprintf("%s %s @%d", b.Name, bufferShape(b), b.Offset))
		}
	}
	return out
}

func bufferShape(b format.Buffer) string {
	name := map[format.ElemType]string{format.ElemF32: "f32", format.ElemQ8X: "q8x", format.ElemQ8X2: "q8x2", format.ElemRoute: "choice"}[b.Type]
	return fmt.Sprintf("%s[%d]", name, b.Len)
}

// weights are the present tensors of a list with their shapes, rows first, each once.
func (l lowered) weights(list []uint32) []string {
	var out []string
	for at, i := range list {
		if i == format.None || slices.Contains(list[:at], i) {
			continue
		}
		t := &l.tensors[i]
		shape := fmt.Sprint(t.Cols)
		if t.Rows > 1 || t.Count > 1 {
			shape = fmt.Sprintf("%d×%s", t.Rows, shape)
		}
		if t.Count > 1 {
			shape = fmt.Sprintf("%d×%s", t.Count, shape)
		}
		out = append(out, fmt.Sprintf("%s[%s]", t.Name, shape))
	}
	return out
}
