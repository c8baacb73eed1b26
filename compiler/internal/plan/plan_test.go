package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler/internal/gguf"
	"jns/format"
)

func item(name string, typ gguf.Type, use Use, order int, dims ...uint64) Item {
	n, err := typ.RowBytes(dims[0])
	if err != nil {
		panic(err)
	}
	for _, d := range dims[1:] {
		n *= d
	}
	return Item{Tensor: &gguf.Tensor{Name: name, Type: typ, Dims: dims, Size: n}, Use: use, Layer: -1, Order: order}
}

func target(t *testing.T, name string) Target {
	tgt, err := FindTarget(name)
	require.NoError(t, err)
	return tgt
}

func TestLargeMatricesAreCutOnTileRows(t *testing.T) {
	it := item("output.weight", gguf.TypeF16, UseMatrix, 1, 4096, 40001)
	p, err := Make([]Item{it}, target(t, "x86-64-v4"))
	require.NoError(t, err)
	x := p.Tensors[0]
	require.Greater(t, x.Slots, uint32(4))
	require.Zero(t, x.RowsPerSlot%16)
	total := uint64(0)
	for i, s := range p.Slots {
		require.LessOrEqual(t, s.Length, uint64(MaxSlot))
		require.Equal(t, x.PartBytes(uint32(i)), s.Length)
		total += s.Length
	}
	require.Equal(t, (x.Rows+15)/16*x.TileRowBytes, total)
}

func TestReasonsFollowTypeUseAndTarget(t *testing.T) {
	for _, c := range []struct {
		it     Item
		target string
		layout string
		reason uint16
	}{
		{item("w", gguf.TypeQ4_K, UseMatrix, 1, 256, 64), "x86-64-v4", "q4_kx16", format.ReasonTiled},
		{item("w", gguf.TypeQ4_K, UseMatrix, 1, 256, 64), "m4", "q4_kx16", format.ReasonTiled},
		{item("w", gguf.TypeIQ2_XXS, UseMatrix, 1, 256, 64), "x86-64-v4", "iq2_xxsx16", format.ReasonTiled},
		{item("w", gguf.TypeIQ2_XXS, UseMatrix, 1, 256, 64), "x86-64-v3", "iq2_xxslx16", format.ReasonTiled},
		{item("w", gguf.TypeIQ3_XXS, UseMatrix, 1, 256, 64), "zen5", "iq3_xxsx16", format.ReasonTiled},
		{item("w", gguf.TypeIQ3_XXS, UseMatrix, 1, 256, 64), "m4", "iq3_xxslx16", format.ReasonTiled},
		{item("w", gguf.TypeQ4_K, UseMatrix, 1, 256, 64), "portable", "q4_k", format.ReasonTarget},
		{item("w", gguf.TypeQ4_K, UseRows, 1, 256, 64), "x86-64-v4", "q4_k", format.ReasonRowLookup},
		{item("w", gguf.TypeQ4_K, UseRows|UseMatrix, 1, 256, 64), "x86-64-v4", "q4_kx16", format.ReasonTiled},
		{item("w", gguf.TypeF32, UseMatrix, 1, 1<<20, 4), "x86-64-v4", "f32", format.ReasonColumns},
		{item("w", gguf.TypeF32, UseVector, 1, 64), "x86-64-v4", "float32", format.ReasonVector},
		{item("w", gguf.TypeI64, UseAside, 1, 64, 3), "x86-64-v4", "source bytes", format.ReasonNotUsed},
	} {
		p, err := Make([]Item{c.it}, target(t, c.target))
		require.NoError(t, err)
		require.Equal(t, c.layout, LayoutName(&p.Tensors[0]))
		require.Equal(t, c.reason, p.Tensors[0].Reason)
	}
}

func TestExpertsOfALayerShareSlots(t *testing.T) {
	items := []Item{
		item("down", gguf.TypeQ8_0, UseExperts, 3, 64, 32, 4), item("gate", gguf.TypeQ4_0, UseExperts, 1, 32, 64, 4), item("up", gguf.TypeQ4_0, UseExperts, 2, 32, 64, 4),
	}
	for i, part := range []int{2, 0, 1} {
		items[i].Part, items[i].Layer = part, 7
	}
	p, err := Make(items, target(t, ""))
	require.NoError(t, err)
	require.Len(t, p.Slots, 4)
	down, gate, up := p.Tensors[0], p.Tensors[1], p.Tensors[2]
	require.Zero(t, gate.SlotOffset)
	require.Equal(t, gate.PartBytes(0), up.SlotOffset)
	require.Equal(t, up.SlotOffset+up.PartBytes(0), down.SlotOffset)
	for e, s := range p.Slots {
		require.Equal(t, uint32(e), s.Expert)
		require.Equal(t, uint32(7), s.Layer)
		require.Equal(t, down.SlotOffset+down.PartBytes(0), s.Length)
	}
}

// A layer may have a second set of fewer experts: it has slots of its own, whose numbers are no other's of the layer.
func TestASecondSetOfExpertsHasSlotsOfItsOwn(t *testing.T) {
	items := []Item{item("up", gguf.TypeQ4_0, UseExperts, 1, 32, 64, 4), item("down", gguf.TypeQ8_0, UseExperts, 2, 64, 32, 4), item("up2", gguf.TypeQ8_0, UseExperts, 3, 32, 64, 2), item("down2", gguf.TypeQ8_0, UseExperts, 4, 64, 32, 2)}
	for i, part := range []int{1, 2, 1, 2} {
		items[i].Part, items[i].Layer = part, 7
	}
	p, err := Make(items, target(t, ""))
	require.NoError(t, err)
	require.Len(t, p.Slots, 6)
	for i, x := range p.Tensors {
		require.Equal(t, []uint32{0, 0, 4, 4}[i], x.FirstSlot)
		require.Equal(t, []uint32{4, 4, 2, 2}[i], x.Slots)
	}
	require.Equal(t, p.Tensors[2].PartBytes(0), p.Tensors[3].SlotOffset)
	for e, s := range p.Slots {
		require.Equal(t, uint32(e), s.Expert)
		require.Equal(t, p.Tensors[1+e/4*2].SlotOffset+p.Tensors[1+e/4*2].PartBytes(0), s.Length)
	}
}

func TestPlansDoNotDependOnTheSourceOrderOfSlots(t *testing.T) {
	items := []Item{}
	for i := range 20 {
		items = append(items, item(fmt.Sprint("w", i), gguf.TypeQ8_0, UseMatrix, i, 64, 64))
	}
	want, err := Make(items, target(t, ""))
	require.NoError(t, err)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	have, err := Make(items, target(t, ""))
	require.NoError(t, err)
	require.Equal(t, want.Slots, have.Slots)
	for i, x := range have.Tensors {
		require.Equal(t, uint32(items[i].Order), x.FirstSlot)
	}
}

func TestTypesWithoutArithmeticAreNamed(t *testing.T) {
	_, err := Make([]Item{item("odd.weight", gguf.TypeI8, UseMatrix, 1, 64, 64)}, target(t, ""))
	require.ErrorIs(t, err, ErrUnsupported)
	require.ErrorIs(t, err, gguf.ErrUnsupported)
	require.ErrorContains(t, err, "odd.weight")
}

func TestUnknownTargetsListTheKnownOnes(t *testing.T) {
	_, err := FindTarget("m9")
	require.ErrorIs(t, err, ErrTarget)
	require.ErrorContains(t, err, "x86-64-avxvnni")
	def, err := FindTarget("")
	require.NoError(t, err)
	require.Equal(t, Default, def.Name)
}
