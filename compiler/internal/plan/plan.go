package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"jns/compiler/internal/gguf"
	"jns/format"
	"jns/kernels/tile"
)

var (
	// ErrTarget means that no target has the name.
	ErrTarget = errors.New("unknown target")
	// ErrUnsupported means that a tensor's type or shape cannot be placed. It is a kind of gguf.ErrUnsupported.
	ErrUnsupported = fmt.Errorf("tensor that cannot be placed: %w", gguf.ErrUnsupported)
)

// Use says what the program does with a tensor.
type Use uint8

// Uses. A tied embedding has UseRows and UseMatrix.
const (
	UseRows    Use = 1 << iota // looked up row by row
	UseMatrix                  // multiplied with activations
	UseVector                  // small float vector
	UseExperts                 // one matrix per expert
	UseAside                   // not used
)

// Item is a tensor of the source and its use.
type Item struct {
	Tensor *gguf.Tensor
	Index  uint32 // row of its file's tensor table
	Use    Use
	Layer  int  // -1 outside layers
	Order  int  // order of first use
	Part   int  // experts: 0 gate, 1 up, 2 down
	Asked  bool // aside: unknown, and kept because the user asked
}

// Plan is the tables of a container, complete but for offsets in the file and digests.
type Plan struct {
	Target  Target
	Tensors []format.Tensor // one per item, in the items' order
	Slots   []format.Slot
	Layouts []*tile.Layout // of each tensor; nil: bytes as they are
}

const (
	// MaxSlot bounds a slot of a dense matrix, so that a model larger than memory can be read in pieces.
	MaxSlot = 64 << 20
	// maxTileRow bounds a tile row: packers hold a few of them in memory.
	maxTileRow = 4 << 20
)

// Make plans a container. Errors wrap ErrUnsupported and name every tensor that has no place.
func Make(items []Item, t Target) (*Plan, error) {
	p := &planner{items: items, plan: &Plan{
		Target: t, Tensors: make([]format.Tensor, len(items)), Layouts: make([]*tile.Layout, len(items)),
	}}
	for i := range items {
		p.choose(i)
	}
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	p.vectors()
	p.dense(format.ClassLayer)
	p.experts()
	p.dense(format.ClassRows)
	p.dense(format.ClassAside)
	if len(p.plan.Slots) > format.MaxSlots {
		return nil, fmt.Errorf("%w: %d slots, at most %d", ErrUnsupported, len(p.plan.Slots), format.MaxSlots)
	}
	return p.plan, nil
}

type planner struct {
	items []Item
	plan  *Plan
	errs  []error
}

// choose fills in everything about a tensor but its slot.
func (p *planner) choose(i int) {
	it := &p.items[i]
	src := it.Tensor
	t := &p.plan.Tensors[i]
	*t = format.Tensor{
		Name: src.Name, Shard: uint32(src.Shard), Index: it.Index, Type: uint32(src.Type),
		Rows: 1, Cols: src.Dims[0], Count: 1, TileRows: 1,
	}
	if err := shape(it, t); err != nil {
		p.errs = append(p.errs, err)
		return
	}
	switch {
	case it.Use == UseAside:
		t.Class, t.Reason = format.ClassAside, format.ReasonNotUsed
		if it.Asked {
			t.Reason = format.ReasonUnknown
		}
		t.TileRowBytes = src.Size / t.Rows
		return
	case it.Use == UseVector:
		// A vector lies as float32 whatever its type in the source: halves widen exactly, and restore, which knows the type from
		// the source's header, narrows them again.
		t.Type = uint32(gguf.TypeF32)
		t.Rows, t.Cols = 1, t.Rows*t.Cols
		t.Class, t.Reason, t.TileRowBytes = format.ClassPinned, format.ReasonVector, 4*t.Cols
		return
	case it.Use&UseVector != 0 || it.Use&UseAside != 0:
		p.errs = append(p.errs, fmt.Errorf("%w: tensor %q has uses that exclude each other", ErrUnsupported, src.Name))
		return
	case it.Use == UseRows:
		t.Class = format.ClassRows
	case it.Use == UseExperts:
		t.Class = format.ClassExpert
	default:
		t.Class = format.ClassLayer
	}
	l, reason := layoutFor(src, it.Use, p.plan.Target)
	if l == nil {
		p.errs = append(p.errs, fmt.Errorf("%w: tensor %q is of type %s, for which there is no arithmetic", ErrUnsupported, src.Name, src.Type))
		return
	}
	p.plan.Layouts[i] = l
	t.Layout, t.Reason, t.TileRows = uint16(l.ID), reason, uint32(l.Rows)
	t.TileRowBytes = uint64(l.RowBytes(int(t.Cols)))
}

// shape sets rows, columns and count.
func shape(it *Item, t *format.Tensor) error {
	const most = 1 << 31
	dims := it.Tensor.Dims
	for i, d := range dims[1:] {
		if d == 0 || d > most || t.Rows*d > most {
			return fmt.Errorf("%w: tensor %q has dimensions %v", ErrUnsupported, it.Tensor.Name, dims)
		}
		if it.Use == UseExperts && i == 1 {
			t.Count = d
		} else {
			t.Rows *= d
		}
	}
	if t.Cols > most || len(dims) > 3 && it.Use == UseExperts {
		return fmt.Errorf("%w: tensor %q has dimensions %v", ErrUnsupported, it.Tensor.Name, dims)
	}
	return nil
}

// layoutFor chooses the layout of a matrix by type, shape and target, never by name.
func layoutFor(t *gguf.Tensor, use Use, target Target) (*tile.Layout, uint16) {
	portable := tile.Portable(tile.Type(t.Type))
	tiled := TileFor(tile.Type(t.Type), target)
	switch {
	case portable == nil:
		return nil, 0
	case use == UseRows:
		return portable, format.ReasonRowLookup
	case target.Family == FamilyPortable:
		return portable, format.ReasonTarget
	case tiled == nil:
		return portable, format.ReasonTypeHasNoTile
	case tiled.RowBytes(int(t.Dims[0])) > maxTileRow:
		return portable, format.ReasonColumns
	}
	return tiled, format.ReasonTiled
}

// tiles are the x16 layouts by source type, in order of preference.
var tiles = func() map[tile.Type][]*tile.Layout {
	m := map[tile.Type][]*tile.Layout{}
	for _, l := range tile.Layouts() {
		if l.Rows == tile.Rows16 {
			m[l.Type] = append(m[l.Type], l)
		}
	}
	return m
}()

// TileFor is the x16 layout of a type for a target, nil if there is none. Package roofline shows that where a type has several, what is chosen takes the least time by count.
func TileFor(t tile.Type, target Target) *tile.Layout {
	for _, l := range tiles[t] {
		if l.Wants == "" || slices.Contains(target.Features, l.Wants) {
			return l
		}
	}
	return nil
}

// of lists the tensors of a class in order of first use, or in the source's order for what is not used.
func (p *planner) of(c format.Class) []int {
	var out []int
	for i := range p.plan.Tensors {
		if p.plan.Tensors[i].Class == c {
			out = append(out, i)
		}
	}
	if c != format.ClassAside {
		slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(p.items[a].Order, p.items[b].Order) })
	}
	return out
}

func align64(n uint64) uint64 { return (n + format.TensorAlign - 1) &^ (format.TensorAlign - 1) }

// vectors puts all vectors into one slot.
func (p *planner) vectors() {
	end := uint64(0)
	for _, i := range p.of(format.ClassPinned) {
		t := &p.plan.Tensors[i]
		t.SlotOffset = align64(end)
		t.FirstSlot, t.Slots, t.RowsPerSlot = uint32(len(p.plan.Slots)), 1, t.Rows
		end = t.SlotOffset + t.Rows*t.TileRowBytes
	}
	if end > 0 {
		p.slot(format.ClassPinned, -1, format.None, end)
	}
}

// dense gives every matrix of a class slots of its own, as few as MaxSlot allows, cut on tile rows and equally full.
func (p *planner) dense(c format.Class) {
	for _, i := range p.of(c) {
		t := &p.plan.Tensors[i]
		tileRows := (t.Rows + uint64(t.TileRows) - 1) / uint64(t.TileRows)
		perSlot := max(1, MaxSlot/t.TileRowBytes)
		parts := (tileRows + perSlot - 1) / perSlot
		perSlot = (tileRows + parts - 1) / parts
		t.RowsPerSlot = min(t.Rows, perSlot*uint64(t.TileRows))
		t.FirstSlot, t.Slots = uint32(len(p.plan.Slots)), uint32((t.Rows+t.RowsPerSlot-1)/t.RowsPerSlot)
		for part := range t.Slots {
			p.slot(c, p.items[i].Layer, format.None, t.PartBytes(part))
		}
	}
}

// experts gives each expert of each layer one slot with its gate, up and down back to back. A layer may have a second set, of another number of experts: its slots are numbered on.
func (p *planner) experts() {
	type set struct {
		layer int
		count uint64
	}
	groups := map[set][]int{}
	var sets []set
	for _, i := range p.of(format.ClassExpert) {
		s := set{p.items[i].Layer, p.plan.Tensors[i].Count}
		if groups[s] == nil {
			sets = append(sets, s)
		}
		groups[s] = append(groups[s], i)
	}
	first := map[int]uint64{}
	for _, s := range sets {
		group := groups[s]
		slices.SortStableFunc(group, func(a, b int) int { return cmp.Compare(p.items[a].Part, p.items[b].Part) })
		end := uint64(0)
		for _, i := range group {
			t := &p.plan.Tensors[i]
			t.SlotOffset = align64(end)
			t.FirstSlot, t.Slots, t.RowsPerSlot = uint32(len(p.plan.Slots)), uint32(s.count), t.Rows
			end = t.SlotOffset + t.PartBytes(0)
		}
		for e := range s.count {
			p.slot(format.ClassExpert, s.layer, uint32(first[s.layer]+e), end)
		}
		first[s.layer] += s.count
	}
}

func (p *planner) slot(c format.Class, layer int, expert uint32, length uint64) {
	l := format.None
	if layer >= 0 {
		l = uint32(layer)
	}
	p.plan.Slots = append(p.plan.Slots, format.Slot{Length: length, Class: c, Layer: l, Expert: expert})
}

// LayoutName names the form of a tensor.
func LayoutName(t *format.Tensor) string {
	if t.Layout == 0 {
		if t.Class == format.ClassAside {
			return "source bytes"
		}
		return "float32"
	}
	if l, ok := tile.ByID(tile.ID(t.Layout)); ok {
		return l.Name
	}
	return fmt.Sprintf("layout %d", t.Layout)
}
