package check_test

import (
	"math"
	"testing"

	"jns/format"
)

func TestPositionsAreProved(t *testing.T) {
	numbers := func(n int) []float32 { return make([]float32, n) }
	judge(t, func(d *draft) (*format.PositionParams, uint32) {
		out := d.buffer(64)
		return &format.PositionParams{Out: out, Step: 64, Base: numbers(64), High: numbers(64), Low: numbers(64)}, out
	}, map[string]func(d *draft, p *format.PositionParams){
		"no step":           func(_ *draft, p *format.PositionParams) { p.Step = 0 },
		"too few numbers":   func(_ *draft, p *format.PositionParams) { p.High = numbers(63) },
		"too many numbers":  func(_ *draft, p *format.PositionParams) { p.Low = numbers(65) },
		"none":              func(_ *draft, p *format.PositionParams) { p.Base = nil },
		"infinite":          func(_ *draft, p *format.PositionParams) { p.Base[3] = float32(math.Inf(1)) },
		"no such buffer":    func(_ *draft, p *format.PositionParams) { p.Out = 99 },
		"a row's own bytes": func(d *draft, p *format.PositionParams) { d.p.Buffers[p.Out].Type = format.ElemQ8X },
	})
}

func TestXIELUIsProved(t *testing.T) {
	judge(t, func(d *draft) (*format.XIELUParams, uint32) {
		out := d.buffer(64)
		return &format.XIELUParams{In: 0, Out: out, AlphaN: 1, AlphaP: 1, Beta: 0.5, Eps: -1e-6}, out
	}, map[string]func(d *draft, p *format.XIELUParams){
		"NaN":            func(_ *draft, p *format.XIELUParams) { p.Beta = float32(math.NaN()) },
		"no such input":  func(_ *draft, p *format.XIELUParams) { p.In = 99 },
		"another length": func(d *draft, p *format.XIELUParams) { p.Out = d.buffer(32) },
	})
}

func TestDivisionAndLeastOfTwoAreProved(t *testing.T) {
	judge(t, func(d *draft) (*format.ElementParams, uint32) {
		out := d.buffer(64)
		return &format.ElementParams{Element: format.ElementDiv, A: 0, B: 0, Out: out}, out
	}, map[string]func(d *draft, p *format.ElementParams){
		"no divisor": func(_ *draft, p *format.ElementParams) { p.B = format.None },
		"unknown":    func(_ *draft, p *format.ElementParams) { p.Element = format.ElementExp + 1 },
	})
	judge(t, func(d *draft) (*format.ElementParams, uint32) {
		out := d.buffer(64)
		return &format.ElementParams{Element: format.ElementMin, A: 0, B: format.None, Out: out, Scale: 7}, out
	}, map[string]func(d *draft, p *format.ElementParams){
		"a second input": func(_ *draft, p *format.ElementParams) { p.B = 0 },
		"infinite":       func(_ *draft, p *format.ElementParams) { p.Scale = float32(math.Inf(1)) },
	})
}
