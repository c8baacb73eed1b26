package compiler

import (
	"errors"
	"fmt"

	"jns/compiler/internal/plan"
	"jns/compiler/internal/roofline"
	"jns/format"
	"jns/kernels/tile"
)

// ErrMachine is wrapped by errors about a machine of which not enough is known for a roofline.
var ErrMachine = roofline.ErrMachine

// Roofline says what bounds a model's products on a machine; see its Text.
type Roofline = roofline.Roofline

// MachineFacts replace what is recorded of a target's machine; 0 leaves it.
type MachineFacts struct {
	Bandwidth float64 // reads of memory, 10⁹ bytes a second
	GHz       float64
	IPC       float64 // instructions that a core ends in a cycle
	Cores     int
}

// Roofline computes, for each layout that a token is multiplied with, what its kernels cost on the target of the explanation, or on another one: bytes and instructions for a
// weight, and which of them bounds. The error wraps ErrMachine where facts are missing, ErrUnsupported where the program cannot be read.
func (ex *Explanation) Roofline(target string, f MachineFacts) (*Roofline, error) {
	if target == "" {
		target = ex.Target
	}
	t, err := plan.FindTarget(target)
	if err != nil {
		return nil, err
	}
	parts, err := products(ex.lowered.program, ex.lowered.tensors)
	if err != nil {
		return nil, err
	}
	return roofline.Of(parts, t, roofline.MachineOf(t.Name).With(f.Bandwidth, f.GHz, f.IPC, f.Cores))
}

// products lists the matrices that one token is multiplied with, of experts as many as it chooses.
func products(p *format.Program, tensors []format.Tensor) (parts []roofline.Part, err error) {
	add := func(tensor, rows uint32, times int) {
		if tensor == format.None {
			return
		}
		x := &tensors[tensor]
		l, ok := tile.ByID(tile.ID(x.Layout))
		if !ok {
			err = errors.Join(err, fmt.Errorf("%w: tensor %s has layout %d", ErrUnsupported, x.Name, x.Layout))
			return
		}
		n := uint64(rows)
		if n == 0 {
			n = x.Rows
		}
		for range times {
			parts = append(parts, roofline.Part{Layout: l, Weights: n * x.Cols, Bytes: uint64(l.Bytes(int(n), int(x.Cols)))})
		}
	}
	for i := range p.Ops {
		switch q := p.Ops[i].Params.(type) {
		case *format.MatMulParams:
			for _, m := range q.Parts {
				add(m.W, m.Rows, 1)
			}
		case *format.HeadMatMulParams:
			add(q.W, 0, 1)
		case *format.ExpertsParams:
			top := int(p.Buffers[q.Route].Len)
			add(q.Gate, 0, top)
			if !q.Fused {
				add(q.Up, 0, top)
			}
			add(q.Down, 0, top)
		}
	}
	return parts, err
}
