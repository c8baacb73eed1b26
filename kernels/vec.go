package kernels

import (
	"unsafe"

	"jns/kernels/cpu"
	"jns/kernels/scalar"
)

var scalarVec = Vec{
	Set:          cpu.Scalar,
	Quantize:     scalar.Quantize,
	QuantizeFine: scalar.QuantizeFine,
	RMSNorm:      scalar.RMSNorm,
	LayerNorm:    scalar.LayerNorm,
	Rope:         scalar.Rope,
	AddScaled:    scalar.AddScaled,
	Scale:        scalar.Scale,
	Mul:          scalar.Mul,
	ActMul:       scalar.ActMul,
	SoftCap:      scalar.SoftCap,
	Softmax:      scalar.Softmax,
	StoreK:       scalar.StoreK,
	StoreV:       scalar.StoreV,
	StoreK8:      scalar.StoreK8,
	StoreV8:      scalar.StoreV8,
	ExpandK8:     scalar.ExpandK8,
	ExpandV8:     scalar.ExpandV8,
	Attend:       scalar.Attend,
	Attend8:      scalar.Attend8,
	Join:         scalar.Join,
	Fetch:        func(unsafe.Pointer, int) {},
	Finish:       scalar.Finish,
	Row:          scalar.Row,
	SinCos:       scalar.SinCos,
	ArgMax:       scalar.ArgMax,
	Route:        scalar.Route,
	Sink:         scalar.Sink,
	MulAdd:       scalar.MulAdd,
	Exp:          scalarExp,
	ScanStep:     scalar.ScanStep,
	ScanChannels: scalar.ScanChannels,
	DeltaStep:    scalar.DeltaStep,
	WKVStep:      scalar.WKVStep,
	Dot:          scalar.Dot,
}

// VecFor gives the complete table of a set; the caller must have made sure that the machine has it (cpu.Selected). A set without vector
// functions of its own, or an unknown name, gets the scalar ones. Vec.Set is the name for receipts: the set whose functions these are.
func VecFor(set string) *Vec {
	v := scalarVec
	fillVec(set, &v)
	fillRuns(&v)
	return &v
}

// SelectVec gives the table of the best set that the machine has and JNS_KERNELS allows. The error wraps cpu.ErrSet.
func SelectVec() (*Vec, error) {
	sets, err := cpu.Selected()
	if err != nil {
		return nil, err
	}
	return VecFor(sets[0]), nil
}
