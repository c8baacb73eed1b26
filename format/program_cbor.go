package format

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"unicode/utf8"

	"github.com/fxamacker/cbor/v2"
)

// wireProgram and wireOp are Program and Op as they are written: the operands of an operation are an array of their own, so that a reader that does
// not know the operation can name it.
type wireProgram struct {
	_ struct{} `cbor:",toarray"`

	Vocab, Context, Embed    uint32
	Buffers                  []Buffer
	States                   []State
	Ropes                    []Rope
	Ops                      []wireOp
	Logits                   uint32
	PerRow, Fixed, PerWorker uint64
	Output                   uint8
}

type wireOp struct {
	_ struct{} `cbor:",toarray"`

	Kind    OpKind
	Version uint16
	Params  cbor.RawMessage
}

// NewParams gives an empty operand list of the kind; nil for kinds that this package does not know. The switch is the closed list of operations.
func NewParams(k OpKind) Params {
	switch k {
	case OpRows:
		return new(RowsParams)
	case OpNorm:
		return new(NormParams)
	case OpQuantize:
		return new(QuantizeParams)
	case OpMatMul:
		return new(MatMulParams)
	case OpRope:
		return new(RopeParams)
	case OpKVAppend:
		return new(KVAppendParams)
	case OpAttention:
		return new(AttentionParams)
	case OpActivation:
		return new(ActivationParams)
	case OpElement:
		return new(ElementParams)
	case OpSelect:
		return new(SelectParams)
	case OpRoute:
		return new(RouteParams)
	case OpExperts:
		return new(ExpertsParams)
	case OpSoftCap:
		return new(SoftCapParams)
	case OpSlice:
		return new(SliceParams)
	case OpTemper:
		return new(TemperParams)
	case OpConv:
		return new(ConvParams)
	case OpScan:
		return new(ScanParams)
	case OpDelta:
		return new(DeltaParams)
	case OpHeadMatMul:
		return new(HeadMatMulParams)
	case OpJoin:
		return new(JoinParams)
	case OpMix:
		return new(MixParams)
	case OpAffine:
		return new(AffineParams)
	case OpWKV:
		return new(WKVParams)
	case OpPosition:
		return new(PositionParams)
	case OpXIELU:
		return new(XIELUParams)
	case OpRetain:
		return new(RetainParams)
	}
	return nil
}

var opNames = map[OpKind]string{
	OpRows: "rows", OpNorm: "norm", OpQuantize: "quantize", OpMatMul: "matmul", OpRope: "rope", OpKVAppend: "kv_append",
	OpAttention: "attention", OpActivation: "activation", OpElement: "element", OpSelect: "select", OpRoute: "route",
	OpExperts: "experts", OpSoftCap: "soft_cap", OpSlice: "slice", OpTemper: "temper",
	OpConv: "conv", OpScan: "scan", OpDelta: "delta", OpHeadMatMul: "head_matmul", OpJoin: "join", OpMix: "mix", OpAffine: "affine", OpWKV: "wkv",
	OpPosition: "position", OpXIELU: "xielu", OpRetain: "retain",
}

// String gives the operation's name as messages and the dump spell it.
func (k OpKind) String() string {
	if n, ok := opNames[k]; ok {
		return n
	}
	return fmt.Sprintf("operation %d", uint16(k))
}

// OpVersion is the newest version of an operation that this package can decode; 0 for unknown kinds. A version fixes the bits of the result.
func OpVersion(k OpKind) uint16 {
	if _, ok := opNames[k]; !ok {
		return 0
	}
	return uint16(1 + len(shorter[k]))
}

// shorter gives the number of operands of the versions before the newest, of operations that have several: a version adds operands behind those of the one before, and
// what an older version does not have is zero.
var shorter = map[OpKind][]int{OpAttention: {10, 14}, OpRoute: {11}, OpExperts: {21, 23}, OpDelta: {15}}

// encodeParams gives the operands as an operation's version has them.
func encodeParams(o Op) (cbor.RawMessage, error) {
	b, err := encodeCBOR(o.Params)
	if err != nil || o.Version > uint16(len(shorter[o.Kind])) {
		return b, err
	}
	have, none, err := operandLists(o.Kind, b)
	if err != nil {
		return nil, err
	}
	n := shorter[o.Kind][o.Version-1]
	for i := n; i < len(have); i++ {
		if !bytes.Equal(have[i], none[i]) {
			return nil, fmt.Errorf("version %d has %d operands, but a later one is set", o.Version, n)
		}
	}
	return encodeCBOR(have[:n])
}

// decodeParams reads what encodeParams wrote.
func decodeParams(o wireOp, p Params) error {
	b := o.Params
	if int(o.Version) <= len(shorter[o.Kind]) {
		have, none, err := operandLists(o.Kind, b)
		if err != nil {
			return err
		}
		if n := shorter[o.Kind][o.Version-1]; len(have) != n {
			return fmt.Errorf("%d operands, version %d has %d", len(have), o.Version, n)
		}
		if b, err = encodeCBOR(append(have, none[len(have):]...)); err != nil {
			return err
		}
		if err := decodeCBOR(b, p); err != nil {
			return err
		}
		for v, i := reflect.ValueOf(p).Elem(), 1+len(have); i < v.NumField(); i++ {
			v.Field(i).SetZero() // no empty list where there is none
		}
		return nil
	}
	return decodeCBOR(b, p)
}

// operandLists cuts an operand list into its operands, and gives those of an empty one of the newest version.
func operandLists(k OpKind, b []byte) (have, none []cbor.RawMessage, err error) {
	empty, err := encodeCBOR(NewParams(k))
	if err != nil {
		return nil, nil, err
	}
	if err := decodeCBOR(empty, &none); err != nil {
		return nil, nil, err
	}
	err = decodeCBOR(b, &have)
	return have, none, err
}

// EncodeProgram gives the canonical bytes of a program.
func EncodeProgram(p *Program) ([]byte, error) {
	w := wireProgram{
		Vocab: p.Vocab, Context: p.Context, Embed: p.Embed,
		Buffers: p.Buffers, States: p.States, Ropes: p.Ropes, Ops: make([]wireOp, len(p.Ops)),
		Logits: p.Logits, PerRow: p.PerRow, Fixed: p.Fixed, PerWorker: p.PerWorker, Output: p.Output,
	}
	for i, b := range p.Buffers {
		if !utf8.ValidString(b.Name) {
			return nil, programFault(ErrCorrupt, "buffer %d: name %q is not UTF-8", i, b.Name)
		}
	}
	for i, r := range p.Ropes {
		for _, f := range append(r.Freqs[:len(r.Freqs):len(r.Freqs)], r.Long...) {
			if f != f {
				return nil, programFault(ErrCorrupt, "rope %d: a frequency is not a number", i)
			}
		}
	}
	for i, o := range p.Ops {
		if o.Params == nil || o.Params.Kind() != o.Kind || o.Version == 0 || o.Version > OpVersion(o.Kind) {
			return nil, programFault(ErrCorrupt, "operation %d: kind %s, version %d, operands %T do not belong together", i, o.Kind, o.Version, o.Params)
		}
		b, err := encodeParams(o)
		if err != nil {
			return nil, programFault(ErrCorrupt, "operation %d (%s): %v", i, o.Kind, err)
		}
		w.Ops[i] = wireOp{Kind: o.Kind, Version: o.Version, Params: b}
	}
	b, err := encodeCBOR(&w)
	if err != nil {
		return nil, programFault(ErrCorrupt, "%v", err)
	}
	if len(b) > MaxProgram {
		return nil, programFault(ErrCorrupt, "program takes %d bytes, at most %d", len(b), MaxProgram)
	}
	return b, nil
}

// DecodeProgram reads what EncodeProgram wrote; whatever it accepts EncodeProgram gives back byte for byte. An operation, or a version of one,
// that this package does not know is ErrUnsupported. The result is well-formed, not proved: see package check.
func DecodeProgram(b []byte) (*Program, error) {
	if len(b) > MaxProgram {
		return nil, programFault(ErrCorrupt, "program takes %d bytes, at most %d", len(b), MaxProgram)
	}
	var w wireProgram
	if err := decodeCBOR(b, &w); err != nil {
		return nil, programFault(ErrCorrupt, "%v", err)
	}
	p := &Program{
		Vocab: w.Vocab, Context: w.Context, Embed: w.Embed,
		Buffers: w.Buffers, States: w.States, Ropes: w.Ropes, Ops: make([]Op, len(w.Ops)),
		Logits: w.Logits, PerRow: w.PerRow, Fixed: w.Fixed, PerWorker: w.PerWorker, Output: w.Output,
	}
	for i, o := range w.Ops {
		params := NewParams(o.Kind)
		if params == nil || o.Version == 0 || o.Version > OpVersion(o.Kind) { // JNS-40
			return nil, programFault(ErrUnsupported, "operation %d is %s, version %d, which this program does not know; use a newer one", i, o.Kind, o.Version)
		}
		if err := decodeParams(o, params); err != nil {
			return nil, programFault(ErrCorrupt, "operation %d (%s): %v", i, o.Kind, err)
		}
		p.Ops[i] = Op{Kind: o.Kind, Version: o.Version, Params: params}
	}
	enc, err := EncodeProgram(p)
	if err != nil {
		return nil, err
	}
	if i := firstDifference(enc, b); i >= 0 {
		return nil, programFault(ErrCorrupt, "encoding is not canonical at byte %d", i)
	}
	return p, nil
}

func programFault(sentinel error, text string, args ...any) error {
	return fault("program", -1, sentinel, text, args...)
}

// Finite reports whether x is neither infinite nor NaN.
func Finite(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }
