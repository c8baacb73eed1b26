package format

import (
	"fmt"
	"reflect"
	"strings"
)

// ProgramText gives a program as lines: buffers, states, ropes, operations. Operands are shown with the names of what they refer to; indices that
// refer to nothing are shown as they are. It takes unproved programs.
func ProgramText(p *Program, tensors Tensors) []string {
	ls := programLines(p, tensors)
	for i, first := 0, len(ls)-len(p.Ops); i < len(p.Ops); i++ {
		ls[first+i] = fmt.Sprintf("op %d  %s", i, ls[first+i])
	}
	return ls
}

// programLines is ProgramText without numbers of operations, so that lines can be compared when one was put in.
func programLines(p *Program, tensors Tensors) []string {
	var ls []string
	for i, b := range p.Buffers {
		ls = append(ls, fmt.Sprintf("buffer %d %q  %s[%d] %s at %d", i, b.Name, elemName(b.Type), b.Len, regionName(b.Region), b.Offset))
	}
	for i, s := range p.States {
		ls = append(ls, fmt.Sprintf("state %d  kind %d, %d heads, keys %d, values %d, window %d", i, s.Kind, s.KVHeads, s.KeyDim, s.ValDim, s.Window))
	}
	for i, r := range p.Ropes {
		ls = append(ls, fmt.Sprintf("rope %d  scale %g, %d frequencies %s", i, r.MScale, len(r.Freqs), freqText(r.Freqs)))
		if len(r.Long) > 0 {
			ls[len(ls)-1] += fmt.Sprintf(", beyond %d positions %s", r.LongFrom, freqText(r.Long))
		}
	}
	for _, o := range p.Ops {
		ls = append(ls, OpText(p, tensors, o))
	}
	return ls
}

func freqText(fs []float64) string {
	if len(fs) <= 4 {
		return fmt.Sprint(fs)
	}
	return fmt.Sprintf("[%v %v … %v]", fs[0], fs[1], fs[len(fs)-1])
}

func elemName(t ElemType) string {
	switch t {
	case ElemF32:
		return "f32"
	case ElemQ8X:
		return "q8x"
	case ElemQ8X2:
		return "q8x2"
	case ElemRoute:
		return "route"
	}
	return fmt.Sprintf("type%d", t)
}

func regionName(r Region) string {
	switch r {
	case RegionPerRow:
		return "per row"
	case RegionFixed:
		return "fixed"
	case RegionPerWorker:
		return "per worker"
	}
	return fmt.Sprintf("region %d", r)
}

// OpText gives one operation as a line.
func OpText(p *Program, tensors Tensors, o Op) string {
	var b strings.Builder
	b.WriteString(o.Kind.String())
	if o.Version != 1 {
		fmt.Fprintf(&b, " v%d", o.Version)
	}
	if o.Params != nil {
		v := reflect.ValueOf(o.Params).Elem()
		operandText(&b, p, tensors, o.Kind, v, operandCount(o, v))
	}
	return b.String()
}

// operandCount is the number of fields of an operand list, with the blank first one, that the operation's version has.
func operandCount(o Op, v reflect.Value) int {
	if s := shorter[o.Kind]; o.Version > 0 && int(o.Version) <= len(s) {
		return 1 + s[o.Version-1]
	}
	return v.NumField()
}

// operandText writes the first fields of an operand list in their order.
func operandText(b *strings.Builder, p *Program, tensors Tensors, k OpKind, v reflect.Value, fields int) {
	for i := range fields {
		name, f := v.Type().Field(i).Name, v.Field(i)
		if name == "_" {
			continue
		}
		if fs, ok := f.Interface().([]float32); ok {
			fmt.Fprintf(b, " %s=%d values", strings.ToLower(name), len(fs))
			continue
		}
		if ns, ok := f.Interface().([]uint32); ok {
			fmt.Fprintf(b, " %s=%d values", strings.ToLower(name), len(ns))
			continue
		}
		if f.Kind() == reflect.Slice {
			for j := range f.Len() {
				b.WriteString(" {")
				operandText(b, p, tensors, k, f.Index(j), f.Index(j).NumField())
				b.WriteString(" }")
			}
			continue
		}
		fmt.Fprintf(b, " %s=%s", strings.ToLower(name), operand(p, tensors, k, name, f))
	}
}

// operand shows one operand; what a number refers to follows from operation and field.
func operand(p *Program, tensors Tensors, k OpKind, name string, f reflect.Value) string {
	if f.Kind() != reflect.Uint32 {
		return fmt.Sprint(f.Interface())
	}
	n := uint32(f.Uint())
	expert := k == OpExperts && (name == "Gate" || name == "Up" || name == "Down" || strings.HasSuffix(name, "Scale") || strings.HasSuffix(name, "Bias"))
	expert = expert || k == OpScan && (name == "A" || name == "D") || k == OpDelta && name == "A"
	switch {
	case n == None:
		return "-"
	case name == "W" && k != OpWKV || name == "Bias" || name == "Sinks" || name == "First" || expert:
		if int(n) < tensors.Len() {
			return fmt.Sprintf("%q", tensors.At(int(n)).Name)
		}
		return fmt.Sprintf("#%d", n)
	}
	switch name {
	case "State", "Table", "Heads", "HeadDim", "KeyHeads", "KeyDim", "ValDim", "N", "Taps", "Dim", "Offset", "Groups", "Experts", "Top", "TopGroups", "From", "Rows", "Cols", "Width", "Stride", "Step", "Reach", "Later", "Most":
		return fmt.Sprint(n)
	}
	return bufferText(p, n)
}

func bufferText(p *Program, b uint32) string {
	if uint64(b) >= uint64(len(p.Buffers)) {
		return fmt.Sprintf("%%%d", b)
	}
	return fmt.Sprintf("%%%d:%s", b, strings.Map(printable, p.Buffers[b].Name))
}
