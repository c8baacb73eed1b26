package format

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// TensorRecord is the size of a record of the tensor table.
const TensorRecord = 128

// Tensor says where one tensor of the source lies and in what form. It is Count matrices (experts; else 1) of Rows × Cols elements.
//
// A matrix is stored as tile rows of TileRows matrix rows, TileRowBytes bytes each, one after the other. With Count = 1 the matrix is cut into
// Slots parts: part p holds matrix rows [p·RowsPerSlot, min(Rows, (p+1)·RowsPerSlot)) in slot FirstSlot+p, from SlotOffset on. With Count > 1
// matrix e lies whole in slot FirstSlot+e, from SlotOffset on; then Slots = Count and RowsPerSlot = Rows.
type Tensor struct {
	Name         string
	Shard, Index uint32   // place in the source: which file, which row of its tensor table
	Type         uint32   // ggml type number
	Layout       uint16   // tile layout, opaque here; 0: rows of the source's bytes as they are (vectors, aside)
	Reason       uint16   // why this layout: Reason… codes
	Rows, Cols   uint64   // of one matrix
	Count        uint64   // number of matrices
	Class        Class    // of its slots
	FirstSlot    uint32   //
	Slots        uint32   //
	RowsPerSlot  uint64   // matrix rows per slot, a multiple of TileRows unless Slots is 1 or Count is more
	SlotOffset   uint64   // in bytes from the start of the slot, a multiple of TensorAlign
	TileRowBytes uint64   // bytes of a tile row
	TileRows     uint32   // matrix rows of a tile row
	Digest       [32]byte // BLAKE3 of the tensor's bytes in the source
}

// Byte offsets of a record's fields.
const (
	tNameOffset   = 0
	tNameLength   = 4
	tShard        = 8
	tIndex        = 12
	tType         = 16
	tLayout       = 20
	tReason       = 22
	tRows         = 24
	tCols         = 32
	tCount        = 40
	tClass        = 48 // one byte, three zero bytes
	tFirstSlot    = 52
	tSlots        = 56
	tTileRows     = 60
	tRowsPerSlot  = 64
	tSlotOffset   = 72
	tTileRowBytes = 80
	tZero         = 88 // eight zero bytes
	tDigest       = 96
)

// Tensors is a list of tensors: a table in a file or one in memory.
type Tensors interface {
	Len() int
	At(i int) Tensor
}

// TensorList is a list of tensors in memory.
type TensorList []Tensor

// Len is the number of tensors.
func (l TensorList) Len() int { return len(l) }

// At gives tensor i.
func (l TensorList) At(i int) Tensor { return l[i] }

// TensorTable is the tensor table of a container, used where it lies; nothing is built at load.
type TensorTable struct{ records, names []byte }

// Len is the number of tensors.
func (t TensorTable) Len() int { return len(t.records) / TensorRecord }

// At decodes record i.
func (t TensorTable) At(i int) Tensor {
	r := t.records[i*TensorRecord : (i+1)*TensorRecord]
	name := t.names[binary.LittleEndian.Uint32(r[tNameOffset:]):]
	return Tensor{
		Name:  string(name[:binary.LittleEndian.Uint32(r[tNameLength:])]),
		Shard: binary.LittleEndian.Uint32(r[tShard:]), Index: binary.LittleEndian.Uint32(r[tIndex:]),
		Type: binary.LittleEndian.Uint32(r[tType:]), Layout: binary.LittleEndian.Uint16(r[tLayout:]), Reason: binary.LittleEndian.Uint16(r[tReason:]),
		Rows: binary.LittleEndian.Uint64(r[tRows:]), Cols: binary.LittleEndian.Uint64(r[tCols:]), Count: binary.LittleEndian.Uint64(r[tCount:]),
		Class: Class(r[tClass]), FirstSlot: binary.LittleEndian.Uint32(r[tFirstSlot:]), Slots: binary.LittleEndian.Uint32(r[tSlots:]),
		RowsPerSlot: binary.LittleEndian.Uint64(r[tRowsPerSlot:]), SlotOffset: binary.LittleEndian.Uint64(r[tSlotOffset:]),
		TileRowBytes: binary.LittleEndian.Uint64(r[tTileRowBytes:]), TileRows: binary.LittleEndian.Uint32(r[tTileRows:]),
		Digest: [32]byte(r[tDigest:]),
	}
}

// Find gives the index of the tensor with the name, -1 if there is none. It looks at one after the other.
func (t TensorTable) Find(name string) int {
	for i := range t.Len() {
		r := t.records[i*TensorRecord:]
		at, n := binary.LittleEndian.Uint32(r[tNameOffset:]), binary.LittleEndian.Uint32(r[tNameLength:])
		if string(t.names[at:at+n]) == name {
			return i
		}
	}
	return -1
}

// EncodeTensors gives the bytes of the sections names and tensors.
func EncodeTensors(ts []Tensor) (names, records []byte) {
	records = make([]byte, len(ts)*TensorRecord)
	for i := range ts {
		t, r := &ts[i], records[i*TensorRecord:]
		binary.LittleEndian.PutUint32(r[tNameOffset:], uint32(len(names)))
		binary.LittleEndian.PutUint32(r[tNameLength:], uint32(len(t.Name)))
		names = append(names, t.Name...)
		binary.LittleEndian.PutUint32(r[tShard:], t.Shard)
		binary.LittleEndian.PutUint32(r[tIndex:], t.Index)
		binary.LittleEndian.PutUint32(r[tType:], t.Type)
		binary.LittleEndian.PutUint16(r[tLayout:], t.Layout)
		binary.LittleEndian.PutUint16(r[tReason:], t.Reason)
		binary.LittleEndian.PutUint64(r[tRows:], t.Rows)
		binary.LittleEndian.PutUint64(r[tCols:], t.Cols)
		binary.LittleEndian.PutUint64(r[tCount:], t.Count)
		r[tClass] = byte(t.Class)
		binary.LittleEndian.PutUint32(r[tFirstSlot:], t.FirstSlot)
		binary.LittleEndian.PutUint32(r[tSlots:], t.Slots)
		binary.LittleEndian.PutUint32(r[tTileRows:], t.TileRows)
		binary.LittleEndian.PutUint64(r[tRowsPerSlot:], t.RowsPerSlot)
		binary.LittleEndian.PutUint64(r[tSlotOffset:], t.SlotOffset)
		binary.LittleEndian.PutUint64(r[tTileRowBytes:], t.TileRowBytes)
		copy(r[tDigest:], t.Digest[:])
	}
	return names, records
}

// DecodeTensors makes a table of the two sections. Names follow each other without holes and are unique; records are proved against slots (which may
// be nil: then only what concerns the record itself). Whatever it accepts EncodeTensors gives back byte for byte.
func DecodeTensors(names, records []byte, slots Slots) (TensorTable, error) {
	t := TensorTable{records: records, names: names}
	if len(records)%TensorRecord != 0 || t.Len() > MaxTensors || len(names) > MaxNames {
		return TensorTable{}, tableFault(SectionTensors, "table of %d bytes is not up to %d records of %d", len(records), MaxTensors, TensorRecord)
	}
	seen := make(map[string]struct{}, t.Len())
	end, parts := uint64(0), uint64(0)
	for i := range t.Len() {
		r := records[i*TensorRecord : (i+1)*TensorRecord]
		at, n := uint64(binary.LittleEndian.Uint32(r[tNameOffset:])), uint64(binary.LittleEndian.Uint32(r[tNameLength:]))
		// JNS-30
		if at != end || n == 0 || n > MaxName || at+n > uint64(len(names)) {
			return TensorTable{}, tableFault(SectionTensors, "tensor %d: name at %d, %d bytes, in %d bytes of names used up to %d", i, at, n, len(names), end)
		}
		end = at + n
		name := string(names[at:end])
		if _, ok := seen[name]; ok {
			return TensorTable{}, tableFault(SectionNames, "tensor %d: a second tensor is called %q", i, name)
		}
		seen[name] = struct{}{}
		// JNS-2
		if r[tClass+1] != 0 || r[tClass+2] != 0 || r[tClass+3] != 0 || binary.LittleEndian.Uint64(r[tZero:]) != 0 {
			return TensorTable{}, tableFault(SectionTensors, "tensor %d (%s): a reserved byte is not zero", i, name)
		}
		tensor := t.At(i)
		if parts += uint64(tensor.Slots); parts > MaxParts { // JNS-32
			return TensorTable{}, tableFault(SectionTensors, "tensor %d (%q): more than %d parts of tensors", i, name, MaxParts)
		}
		if err := tensor.check(slots); err != nil {
			return TensorTable{}, tableFault(SectionTensors, "tensor %d (%q): %v", i, name, err)
		}
	}
	if end != uint64(len(names)) {
		return TensorTable{}, tableFault(SectionNames, "%d bytes of names, %d of them used", len(names), end)
	}
	return t, nil
}

// PartRows gives the number of matrix rows in part p (0 ≤ p < Slots).
func (t *Tensor) PartRows(p uint32) uint64 {
	if t.Count > 1 {
		return t.Rows
	}
	return min(t.RowsPerSlot, t.Rows-uint64(p)*t.RowsPerSlot)
}

// PartBytes gives the number of bytes that part p (0 ≤ p < Slots) takes in its slot, with the rows that fill up its last tile (JNS-33). The tensor has been checked.
func (t *Tensor) PartBytes(p uint32) uint64 {
	tiles := (t.PartRows(p) + uint64(t.TileRows) - 1) / uint64(t.TileRows)
	return tiles * t.TileRowBytes
}

// check proves that the numbers of a tensor fit together (JNS-31), that no product of them overflows, and that every part lies inside its slot (JNS-32).
func (t *Tensor) check(slots Slots) error {
	const big = 1 << 32
	switch {
	case t.Rows == 0 || t.Rows > big || t.Cols == 0 || t.Cols > big || t.Count == 0 || t.Count > MaxSlots:
		return fmt.Errorf("%d matrices of %d × %d", t.Count, t.Rows, t.Cols)
	case t.TileRows == 0 || t.TileRows > 1<<10 || t.TileRowBytes == 0 || t.TileRowBytes > MaxFile:
		return fmt.Errorf("tiles of %d rows, %d bytes", t.TileRows, t.TileRowBytes)
	case t.SlotOffset%TensorAlign != 0 || t.SlotOffset > MaxFile:
		return fmt.Errorf("offset %d in its slot is not a multiple of %d", t.SlotOffset, TensorAlign)
	case t.Class < ClassPinned || t.Class > ClassAside:
		return fmt.Errorf("class %d is unknown", t.Class)
	case t.Slots == 0 || uint64(t.FirstSlot)+uint64(t.Slots) > MaxSlots:
		return fmt.Errorf("slots %d to %d", t.FirstSlot, uint64(t.FirstSlot)+uint64(t.Slots))
	case t.Count > 1 && (uint64(t.Slots) != t.Count || t.RowsPerSlot != t.Rows):
		return fmt.Errorf("%d matrices in %d slots of %d rows", t.Count, t.Slots, t.RowsPerSlot)
	case t.Count > 1 && t.Class != ClassExpert:
		return fmt.Errorf("%d matrices in slots of class %s", t.Count, t.Class)
	case t.Count == 1 && (t.RowsPerSlot == 0 || t.RowsPerSlot > t.Rows || uint64(t.Slots) != (t.Rows+t.RowsPerSlot-1)/t.RowsPerSlot):
		return fmt.Errorf("%d rows in %d slots of %d rows", t.Rows, t.Slots, t.RowsPerSlot)
	case t.Count == 1 && t.Slots > 1 && t.RowsPerSlot%uint64(t.TileRows) != 0:
		return fmt.Errorf("%d rows per slot are not a multiple of the tile's %d", t.RowsPerSlot, t.TileRows)
	}
	vector := t.Type == 0 && t.Rows == 1 && t.Count == 1 && t.Slots == 1 && t.TileRows == 1 && t.TileRowBytes == 4*t.Cols
	switch { // JNS-35
	case t.Class == ClassAside && (t.Layout != 0 || t.TileRows != 1):
		return fmt.Errorf("set aside, but with layout %d and tiles of %d rows", t.Layout, t.TileRows)
	case t.Class != ClassAside && t.Layout == 0 && !vector:
		return fmt.Errorf("layout 0 without being set aside, but no vector of float32: type %d, %d matrices of %d × %d, tiles of %d rows and %d bytes", t.Type, t.Count, t.Rows, t.Cols, t.TileRows,
			t.TileRowBytes)
	}
	tiles := (t.RowsPerSlot + uint64(t.TileRows) - 1) / uint64(t.TileRows)
	if hi, lo := bits.Mul64(tiles, t.TileRowBytes); hi != 0 || lo > MaxFile {
		return fmt.Errorf("%d tile rows of %d bytes", tiles, t.TileRowBytes)
	}
	if slots == nil {
		return nil
	}
	if int(t.FirstSlot)+int(t.Slots) > slots.Len() {
		return fmt.Errorf("slots %d to %d of %d", t.FirstSlot, uint64(t.FirstSlot)+uint64(t.Slots), slots.Len())
	}
	for p := range t.Slots {
		s := slots.At(int(t.FirstSlot + p))
		if s.Class != t.Class {
			return fmt.Errorf("slot %d is of class %s, the tensor of class %s", t.FirstSlot+p, s.Class, t.Class)
		}
		if t.SlotOffset+t.PartBytes(p) > s.Length {
			return fmt.Errorf("part %d takes bytes %d to %d of slot %d, which has %d", p, t.SlotOffset, t.SlotOffset+t.PartBytes(p), t.FirstSlot+p, s.Length)
		}
	}
	return nil
}

func tableFault(k SectionKind, text string, args ...any) error {
	return fault(k.String(), -1, ErrCorrupt, text, args...)
}
