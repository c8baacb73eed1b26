package compiler

import (
	"fmt"

	"jns/compiler/internal/gguf"
	"jns/compiler/internal/plan"
	"jns/format"
)

// ExplainContainer says what the tensors of a container became and why, as the container records it, and lists its program. The weights are not
// read. Errors wrap those of package format.
func ExplainContainer(path string) (*Explanation, error) {
	f, c, err := openContainer(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// The list of operations looks tensors and buffers up by number: only a proved program has numbers that exist.
	if err := checkProgram(c.Program, c.Tensors); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	tensors := make([]format.Tensor, c.Tensors.Len())
	ex := &Explanation{
		Model: c.TOC.Model, Target: c.Header.Target, Arena: c.Program.PerRow, Sections: c.TOC.Sections, Length: c.Header.Length,
	}
	if r, err := ParseRecipe(c.TOC.Compiler.Options); err == nil {
		ex.Profile, ex.Order = r.Profile, ExpertOrder(c.Slots)
	}
	for i := range tensors {
		tensors[i] = c.Tensors.At(i)
		ex.Tensors = append(ex.Tensors, recorded(&tensors[i]))
	}
	ex.states(c.Program.States)
	ex.Program = programLines(c.Program, tensors)
	ex.lowered = lowered{c.Program, tensors}
	return ex, nil
}

// recorded is the line of a tensor of which only the record is at hand.
func recorded(t *format.Tensor) TensorLine {
	typ := gguf.Type(t.Type)
	line := TensorLine{
		Name: t.Name, Type: typ.String(), Shape: fmt.Sprint(t.Cols), Layout: plan.LayoutName(t), Class: t.Class.String(), Slots: fmt.Sprint(t.FirstSlot),
		Reason: format.ReasonText(t.Reason), Tiled: t.Reason == format.ReasonTiled,
	}
	if t.Rows > 1 || t.Count > 1 {
		line.Shape += fmt.Sprintf("×%d", t.Rows)
	}
	if t.Count > 1 {
		line.Shape += fmt.Sprintf("×%d", t.Count)
	}
	if t.Slots > 1 {
		line.Slots = fmt.Sprintf("%d–%d", t.FirstSlot, t.FirstSlot+t.Slots-1)
	}
	if elems, bytes, ok := typ.Block(); ok {
		line.SourceBytes = t.Cols / elems * bytes * t.Rows * t.Count
	}
	for p := range t.Slots {
		line.Bytes += t.PartBytes(p)
	}
	return line
}
