package expert

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"jns/runtime/internal/store"
)

const warmSlots, warmFirst, warmFrames = 24, 100, 10

// warmCache is a cache of experts of one page each, filled with their numbers. Reads ahead do not end before open says so.
func warmCache(t *testing.T, warm []uint32, open *bool) *Cache {
	var places []Place
	var content []byte
	for i := range warmSlots {
		places = append(places, Place{Slot: Slot{Layer: int32(i / 12), Expert: int32(i % 12), Length: 4096}, Off: int64(i) * 4096, Resident: i == 3})
		content = append(content, bytes.Repeat([]byte{byte(i)}, 4096)...)
	}
	name := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(name, content, 0o600))
	file, err := store.Open(name)
	require.NoError(t, err)
	plan := MakePlan(places, 0, warmFrames*4096)
	mem, err := store.Frames(int(plan.Bytes()))
	require.NoError(t, err)
	queues := [2]*store.Backend{}
	for i := range queues {
		queues[i], err = file.OpenBackend(store.Pread, mem, store.Probe{Length: int64(len(content)), Slot: 4096})
		require.NoError(t, err)
	}
	queues[1].Inject(store.Fault{Result: func(_, n int) int {
		if !*open {
			return -int(syscall.EAGAIN)
		}
		return n
	}})
	k, err := New(Config{Places: places, First: warmFirst, Plan: plan, Mem: mem, Policy: PolicyLRU, Demand: queues[0].Demand, Ahead: queues[1].Ahead, Warm: warm})
	require.NoError(t, err)
	t.Cleanup(func() {
		*open = true
		for _, q := range queues {
			require.NoError(t, q.Close())
		}
		require.NoError(t, store.FreeFrames(mem))
		require.NoError(t, file.Close())
	})
	return k
}

// turnOf is a pass of one turn that wants slots, and looks at their bytes.
func (k *Cache) turnOf(t *testing.T, slots ...uint32) {
	require.NoError(t, k.Pass(1))
	k.Turn(slots, make([]int32, len(slots)), 1)
	for more := true; more; {
		var block []uint32
		block, more = k.Next()
		for _, s := range block {
			k.Wait(s)
			got := unsafe.Slice((*byte)(k.At(s)), 4096)
			require.Equal(t, bytes.Repeat([]byte{byte(s - warmFirst)}, 4096), got, "slot %d", s)
		}
	}
}

// present lists the slots that have frames.
func (k *Cache) present() (out []uint32) {
	for s := uint32(warmFirst); s < warmFirst+warmSlots; s++ {
		if k.Streamed(s) && k.Present(s) {
			out = append(out, s)
		}
	}
	return out
}

// The hot set of the last run is read a few slots at a time, beside what turns do, into frames that nobody has: turns wait for none of it, and nothing leaves for it.
func TestAWarmStartReadsInTheBackgroundAndEvictsNothing(t *testing.T) {
	open := false
	// One slot twice, one that is resident, and two that the container does not have.
	hot := []uint32{115, 103, 101, 115, 5, 1 << 31, 110, 108, 106, 114, 102, 112, 100, 117}
	k := warmCache(t, hot, &open)
	require.Equal(t, []uint32{101, 108, 110, 115}, k.present(), "the first four have frames at once")
	k.turnOf(t, 120, 121)
	k.turnOf(t, 122)
	require.Equal(t, []uint32{101, 108, 110, 115, 120, 121, 122}, k.present(), "what was wanted is there, while nothing of the hot set is")
	require.Zero(t, k.Stats().AheadReads)

	open = true
	full := []uint32{101, 106, 108, 110, 114, 115, 120, 121, 122}
	full = append(full, 102)
	slices.Sort(full)
	for end := time.Now().Add(10 * time.Second); len(k.present()) < warmFrames && time.Now().Before(end); time.Sleep(time.Millisecond) {
		k.turnOf(t, 120, 121, 122)
	}
	require.Equal(t, full, k.present(), "the likeliest have the frames that were free")
	for range 20 {
		k.turnOf(t, 120, 121, 122)
	}
	require.Equal(t, full, k.present(), "no more of them is read where no frame is free")
	demand := k.Stats()
	require.EqualValues(t, 3, demand.Reads-demand.AheadReads)
	k.turnOf(t, 101, 102, 106, 108, 110, 114, 115)
	after := k.Stats()
	require.EqualValues(t, 7, after.AheadReads)
	require.EqualValues(t, 10, after.Reads, "what was read warm is not read again")

	k.turnOf(t, 119) // a turn takes the frame of one, and nothing of the hot set comes after it
	k.turnOf(t, 119)
	require.Len(t, k.present(), warmFrames)
	require.Contains(t, k.present(), uint32(119))
	require.EqualValues(t, 7, k.Stats().AheadReads)
}

func TestAColdStartReadsNothingAhead(t *testing.T) {
	open := true
	k := warmCache(t, nil, &open)
	require.Empty(t, k.present())
	for range 10 {
		k.turnOf(t, 120, 121)
	}
	require.Equal(t, []uint32{120, 121}, k.present())
	require.Zero(t, k.Stats().AheadReads)
}

// Whatever a table has been through, a warm slot gets a frame that was free or none, and all others stay where they are.
func TestWarmSlotsTakeFreeFramesOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.IntRange(1, 40).Draw(t, "slots")
		layers := make([]int32, slots)
		for i := range layers {
			layers[i] = int32(i * 3 / slots)
		}
		p, err := NewPolicy(rapid.SampledFrom(Policies()).Draw(t, "policy"), layers)
		require.NoError(t, err)
		table := NewTable(layers, rapid.IntRange(1, 20).Draw(t, "frames"), 0, p)
		some := rapid.Uint32Range(0, uint32(slots-1))
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch s := some.Draw(t, "slot"); rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				table.Pass(1)
				table.Turn(0, rapid.SliceOfNDistinct(some, 0, slots, rapid.ID).Draw(t, "want"), nil, 1)
			case 1:
				table.Next()
			case 2:
				table.Drop(s, false)
			default:
				before, free := slices.Clone(table.frame), len(table.free)
				load, ok := table.Warm(s)
				require.Equal(t, before[s] < 0 && free > 0, ok)
				if ok {
					require.Equal(t, s, load.Slot)
					require.EqualValues(t, load.Frame, table.frame[s])
					require.NotContains(t, before, int32(load.Frame))
					before[s] = int32(load.Frame)
				}
				require.Equal(t, before, table.frame)
			}
		}
	})
}
