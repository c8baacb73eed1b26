package roofline

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/compiler/internal/plan"
	"jns/kernels/tile"
)

// tiled lists the types that have x16 layouts, and how many.
func tiled() map[tile.Type]int {
	n := map[tile.Type]int{}
	for _, l := range tile.Layouts() {
		if l.Rows == tile.Rows16 {
			n[l.Type]++
		}
	}
	return n
}

// The layouts that plan chooses by its table are those that the counts choose: of every type, for every target of which the machine is known.
func TestPlanChoosesWhatTheCountsChoose(t *testing.T) {
	choices := 0
	for _, target := range plan.Targets() {
		m := MachineOf(target.Name)
		if m.check(target.Name) != nil || target.Family != plan.FamilyX16 {
			continue
		}
		for typ, n := range tiled() {
			want := plan.TileFor(typ, target)
			require.NotNil(t, want)
			got := Best(typ, target, m)
			if got == nil {
				continue // the scalar kernel computes it
			}
			require.Equal(t, got.Name, want.Name, "%s: of %d layouts", target.Name, n)
			if n > 1 {
				k, _ := Decode(got, target)
				b := k.On(m)
				t.Logf("%-15s %-10s %-14s %.3f ps by memory, %.3f by instructions", target.Name, got.Codec.Name, got.Name, b.Memory, b.Instructions)
				choices++
			}
		}
	}
	require.Greater(t, choices, 8, "types with more than one layout on targets whose machines are known")
}

// A choice between an index and levels follows the machine: where memory is slow the smaller layout wins, where instructions are, the simpler one.
func TestChoiceFollowsTheMachine(t *testing.T) {
	target, err := plan.FindTarget("x86-64-v4")
	require.NoError(t, err)
	iq2xxs := tile.IQ2_XXSx16.Type
	slowMemory := Machine{GBps: 10, Cores: 8, GHz: 3, IPC: 3}
	slowCores := Machine{GBps: 1000, Cores: 1, GHz: 1, IPC: 1}
	require.Equal(t, "iq2_xxsx16", Best(iq2xxs, target, slowMemory).Name)
	require.Equal(t, "iq2_xxslx16", Best(iq2xxs, target, slowCores).Name)
}

func TestEveryTiledTypeHasCountsOnEveryTarget(t *testing.T) {
	for _, target := range plan.Targets() {
		if target.Family != plan.FamilyX16 {
			require.Empty(t, Kernels(tile.Q4_0x16, target))
			continue
		}
		for typ := range tiled() {
			l := plan.TileFor(typ, target)
			k, ok := Decode(l, target)
			require.True(t, ok, "%s on %s", l.Name, target.Name)
			const many = 64
			exact := float64(l.RowBytes(many*l.Codec.Elems)) / float64(many*l.Codec.Elems*l.Rows)
			require.InDelta(t, exact, k.Bytes, 1e-9, "%s: bytes are those of the layout", k.Name)
			require.Positive(t, k.Instructions)
			require.Less(t, k.Instructions, 4.0, k.Name)
		}
	}
}

func TestBoundIsTheSlowerOfTwo(t *testing.T) {
	k := Kernel{Bytes: 0.5, Instructions: 0.1}
	b := k.On(Machine{GBps: 100, Cores: 2, GHz: 2, IPC: 2.5}) // 5 ps to read, 10 ps to compute with
	require.InDelta(t, 5, b.Memory, 1e-9)
	require.InDelta(t, 10, b.Instructions, 1e-9)
	require.Equal(t, "instructions", b.By)
	require.InDelta(t, 10, b.Time(), 1e-9)
	require.Equal(t, "memory", k.On(Machine{GBps: 10, Cores: 2, GHz: 2, IPC: 2.5}).By)
}

func TestRooflineOfParts(t *testing.T) {
	target, err := plan.FindTarget("x86-64-v4")
	require.NoError(t, err)
	parts := []Part{{tile.Q4_0x16, 1 << 20, 9 << 16}, {tile.Q4_0x16, 1 << 20, 9 << 16}, {tile.Q8_0x16, 1 << 19, 17 << 15}}
	m := Machine{GBps: 10, Cores: 1, GHz: 10, IPC: 10}
	r, err := Of(parts, target, m)
	require.NoError(t, err)
	require.Len(t, r.Lines, 2)
	q4 := r.Lines[slices.IndexFunc(r.Lines, func(l Line) bool { return l.Layout == "q4_0x16" })]
	require.Equal(t, 2, q4.Tensors)
	require.EqualValues(t, 2<<20, q4.Weights)
	require.InDelta(t, 10e9/(18<<16+17<<15), r.TokensPerSecond, 1e-6, "everything is bound by memory: bandwidth over bytes")
	require.InDelta(t, 1, r.Memory, 1e-12)
	require.Contains(t, r.Text(), "bound by")
	_, err = Of(parts, target, Machine{GBps: 10})
	require.ErrorIs(t, err, ErrMachine)
	require.ErrorContains(t, err, "--cores, --ghz, --ipc")
	portable, _ := plan.FindTarget("portable")
	r, err = Of(parts, portable, m)
	require.NoError(t, err)
	require.Zero(t, r.TokensPerSecond, "nothing is claimed for kernels that were not counted")
}

// Cores of an M4 share the unit that computes in streaming mode: its rate bounds these kernels, theirs the others.
func TestKernelsInStreamingModeAreBoundByTheirUnit(t *testing.T) {
	m := MachineOf("m4")
	cores, unit := Kernel{Instructions: 1, Set: "i8mm"}, Kernel{Instructions: 1, Set: "sme2"}
	require.InDelta(t, 1000/(4*4.4*4), cores.On(m).Instructions, 1e-9)
	require.InDelta(t, 1000/3.9, unit.On(m).Instructions, 1e-9)
	require.InDelta(t, 1000/(2*3.9), unit.On(m.With(0, 0, 0, 2)).Instructions, 1e-9)
	require.InDelta(t, 1000/3.9, unit.On(MachineOf("m4")).Instructions, 1e-9, "what is recorded stays")
	require.InDelta(t, 1000.0/8, unit.On(Machine{Cores: 2, GHz: 2, IPC: 2}).Instructions, 1e-9, "a machine without such a unit")
}

func TestCoresAreShownBesideTheUnitThatTheyShare(t *testing.T) {
	target, err := plan.FindTarget("m4")
	require.NoError(t, err)
	parts := []Part{{tile.Q4_0x16, 1 << 20, 9 << 16}}
	r, err := Of(parts, target, MachineOf("m4"))
	require.NoError(t, err)
	require.Equal(t, "sme2", r.Lines[0].Kernels[0].Set)
	require.InDelta(t, 120e9/(9<<16), r.OnCores, 1, "memory bounds the cores")
	require.Contains(t, r.Text(), "by the cores instead")
	r, err = Of(parts, target, Machine{GBps: 120, Cores: 4, GHz: 4, IPC: 4})
	require.NoError(t, err)
	require.Zero(t, r.OnCores)
	require.NotContains(t, r.Text(), "by the cores instead")
}
