package routing

import (
	"crypto/sha256"
	"errors"
	"fmt"
)

const (
	head    = "jns-routing 3\n"
	family  = "jns-routing " // what every version begins with
	sumSize = sha256.Size
)

// Kinds of records.
const (
	recordEnd  = 0
	recordPass = 1
	recordTurn = 2
	recordSoon = 3
)

// Limits of a trace.
const (
	MaxFile    = 1 << 28
	MaxRecords = 1 << 23
	MaxLayers  = 1 << 14
	MaxLayer   = 1 << 20 // number of a layer
	MaxExperts = 1 << 16 // of a layer
	MaxSlots   = 1 << 20
	MaxLength  = 1 << 46
	MaxRows    = 1 << 20
	MaxSoon    = 1 << 20 // slots in a record of kind 3
	MaxClass   = 1<<8 - 1
)

var (
	// ErrTrace is wrapped by errors about files that are no routing traces, or damaged ones.
	ErrTrace = errors.New("not a routing trace, or a damaged one")
	// ErrVersion is wrapped by errors about traces of another version.
	ErrVersion = errors.New("a routing trace of another version")
)

// anew is what to do about a file that cannot be used.
const anew = "record it anew with: jns-run MODEL.jns --memory SIZE --record-routing FILE"

// Slot is an expert of a layer.
type Slot struct {
	Layer  int32
	Expert int32
	Length int64 // bytes
}

// Turn of a trace. A turn without slots begins a pass.
type Turn struct {
	Rows  int // of the pass that begins
	Slots []uint32
	Count []int32  // for how many of the pass's tokens, of each
	Soon  []uint32 // likely to be wanted next, as it seemed at the turn's end
	Class []uint8  // of each
}

// Trace is a trace in memory.
type Trace struct {
	Root  [32]byte // of the container that ran
	Slots []Slot   // by layer and expert
	Turns []Turn
	Sum   [32]byte // SHA-256 of the file, as it stands at its end: the trace's name
}

// Layer is a layer that has experts.
type Layer struct {
	Number int32
	First  int // its first slot
	Slots  int
}

// Layers lists the layers that have experts. An error says that slots do not lie by layer and expert, and wraps ErrTrace.
func Layers(slots []Slot) ([]Layer, error) {
	var out []Layer
	for i, s := range slots {
		k := len(out) - 1
		if k < 0 || s.Layer != out[k].Number {
			if k >= 0 && s.Layer < out[k].Number {
				return nil, fmt.Errorf("%w: slot %d is of layer %d, the one before of layer %d", ErrTrace, i, s.Layer, out[k].Number)
			}
			out = append(out, Layer{Number: s.Layer, First: i})
			k++
		}
		if l := &out[k]; int(s.Expert) != l.Slots || s.Layer < 0 || s.Layer > MaxLayer || l.Slots == MaxExperts || s.Length < 1 || s.Length > MaxLength {
			return nil, fmt.Errorf("%w: slot %d: expert %d of layer %d, %d bytes, where expert %d is due", ErrTrace, i, s.Expert, s.Layer, s.Length, l.Slots)
		}
		out[k].Slots++
	}
	if len(out) == 0 || len(out) > MaxLayers || len(slots) > MaxSlots {
		return nil, fmt.Errorf("%w: %d experts in %d layers, must be 1 to %d in 1 to %d", ErrTrace, len(slots), len(out), MaxSlots, MaxLayers)
	}
	return out, nil
}

// layerOf gives the number of each slot's layer in the list.
func layerOf(slots int, layers []Layer) []uint16 {
	out := make([]uint16, 0, slots)
	for i, l := range layers {
		for range l.Slots {
			out = append(out, uint16(i))
		}
	}
	return out
}
