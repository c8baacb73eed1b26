package compiler

import (
	"fmt"
	"io"
	"strings"

	"jns/format"
)

// Dot writes the program as a graph in the language of Graphviz: a node for every operation and state, an arrow for every result that is read.
func (ex *Explanation) Dot(w io.Writer) error {
	p := ex.lowered.program
	var b strings.Builder
	fmt.Fprintf(&b, "digraph program {\n\tlabel=%s;\n\tlabelloc=t;\n\tnode [shape=box, fontname=\"sans-serif\", fontsize=10];\n\tedge [fontname=\"sans-serif\", fontsize=8];\n",
		quoted(ex.Model.Name+" for "+ex.Target))
	for i, s := range p.States {
		fmt.Fprintf(&b, "\tstate%d [shape=cylinder, label=%s];\n", i, quoted(fmt.Sprintf("state %d", i), stateText(s)))
	}
	writer := map[uint32]int{} // operation that wrote a buffer last
	for i, op := range p.Ops {
		o := operandsOf(op.Params)
		lines := append([]string{fmt.Sprintf("%d %s", i, op.Kind)}, ex.lowered.weights(o.weights)...)
		lines = append(lines, o.fused...)
		fmt.Fprintf(&b, "\top%d [label=%s];\n", i, quoted(lines...))
		drawn := map[uint32]bool{}
		for _, r := range o.in {
			from, ok := writer[r]
			if r == format.None || !ok || drawn[r] {
				continue
			}
			drawn[r] = true
			buf := p.Buffers[r]
			fmt.Fprintf(&b, "\top%d -> op%d [label=%s];\n", from, i, quoted(buf.Name+" "+bufferShape(buf)))
		}
		switch {
		case o.state == format.None:
		case len(o.out) == 0:
			fmt.Fprintf(&b, "\top%d -> state%d [style=dashed];\n", i, o.state)
		default:
			fmt.Fprintf(&b, "\tstate%d -> op%d [style=dashed];\n", o.state, i)
		}
		for _, out := range o.out {
			if out != format.None {
				writer[out] = i
			}
		}
	}
	if from, ok := writer[p.Logits]; ok {
		fmt.Fprintf(&b, "\tresult [shape=ellipse, label=%s];\n\top%d -> result [label=%s];\n", quoted(resultName(p)), from, quoted(bufferShape(p.Buffers[p.Logits])))
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func resultName(p *format.Program) string {
	if p.Output == format.OutputLogits {
		return "logits"
	}
	return "hidden states"
}

// quoted is a Graphviz string of several lines. Names come from files: whatever is no printable character becomes a space.
func quoted(lines ...string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, l := range lines {
		if i > 0 {
			b.WriteString(`\n`)
		}
		for _, r := range l {
			switch {
			case r == '"' || r == '\\':
				b.WriteByte('\\')
				b.WriteRune(r)
			case r < ' ' || r == 0x7f || r == '\uFFFD':
				b.WriteByte(' ')
			default:
				b.WriteRune(r)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}
