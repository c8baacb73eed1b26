package engine

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"jns/compiler"
	"jns/format"
)

// compiled compiles a model of the repository into a fresh folder.
func compiled(t *testing.T, gguf string) string {
	t.Helper()
	if _, err := os.Stat(gguf); err != nil {
		t.Skipf("%s is not there", gguf)
	}
	out := filepath.Join(t.TempDir(), "m.jns")
	_, err := compiler.Compile(context.Background(), compiler.Options{Source: gguf, Output: out})
	require.NoError(t, err)
	return out
}

// evaluated gives all logits of a prompt and of tokens one by one after it, and the receipt.
func evaluated(t *testing.T, path string, o Options) ([]float32, Receipt) {
	t.Helper()
	e, err := Open(path, o)
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	out, err := evaluate(e)
	require.NoError(t, err)
	return out, e.Receipt()
}

func evaluate(e *Engine) ([]float32, error) {
	s := e.NewSession()
	defer s.Close()
	var out []float32
	each := func(_ int, l []float32) error { out = append(out, l...); return nil }
	var prompt []int32
	for i := range 21 {
		prompt = append(prompt, int32(i*37%e.Vocab()))
	}
	if err := s.Eval(context.Background(), prompt, func(int) bool { return true }, each); err != nil {
		return nil, err
	}
	for i := range 12 {
		if err := s.Eval(context.Background(), []int32{int32(i * 11 % e.Vocab())}, nil, each); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// granted gives the least grant with which a container opens, and the one from which on nothing is streamed.
func granted(t *testing.T, path string, o Options) (least, all uint64) {
	t.Helper()
	o.Memory, o.Verify = 0, false
	e, err := Open(path, o)
	require.NoError(t, err)
	defer e.Close()
	find := func(good func(streamed bool) bool) uint64 {
		lo, hi := uint64(1), uint64(64<<20)
		for hi-lo > 4096 {
			mid := (lo + hi) / 2
			_, places, _, _, err := planMemory(e.c, e.opts, mid, true)
			if err != nil {
				require.ErrorIs(t, err, errTooLittle)
			}
			if err == nil && good(places != nil) {
				hi = mid
			} else {
				lo = mid
			}
		}
		return hi
	}
	return max(find(func(bool) bool { return true }), arenaShare*arenaBytes(e.c.Program, e.opts, e.opts.Batch)), find(func(streamed bool) bool { return !streamed })
}

func smallBase(t *testing.T) {
	old := baseMemory
	baseMemory = 1 << 16
	t.Cleanup(func() { baseMemory = old })
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
}

var streamModels = []string{"../../testdata/models/tiny/jns-tiny-moe.gguf", "../../testdata/models/tiny/jns-tiny.gguf", "../../../shared/models/synth/tiny-qwen3moe-Q4_K_M.gguf",
	"../../../shared/models/synth/tiny-gpt-oss-MXFP4_MOE.gguf"}

func TestAnyGrantGivesTheSameBits(t *testing.T) {
	for _, m := range streamModels {
		t.Run(filepath.Base(m), func(t *testing.T) {
			path := compiled(t, m)
			smallBase(t)
			o := Options{Context: 64, Batch: 8, Threads: 2}
			want, r := evaluated(t, path, o)
			require.Nil(t, r.Stream)
			least, all := granted(t, path, o)
			for i, memory := range []uint64{least, least + (all-least)/4, least + (all-least)/2, all - 64<<10} {
				for j, io := range []string{"uring", "pread", "mmap", "auto"} {
					o := o
					o.Memory, o.IO, o.Policy, o.Verify, o.Warm = memory, io, Policies()[(i+j)%len(Policies())], i%2 == 0, j%2 == 0
					if j == 3 {
						o.Batch, o.Threads = 32, 1
						l, _ := granted(t, path, o)
						o.Memory = max(o.Memory, l)
					}
					got, r := evaluated(t, path, o)
					require.True(t, equal(want, got), "%d bytes by %s", memory, io)
					if j < 3 {
						require.NotNil(t, r.Stream)
						require.Positive(t, r.Stream.Cache.Reads)
						require.LessOrEqual(t, r.Stream.Memory.Frames+r.Stream.Memory.Arena+r.Stream.Memory.KV+r.Stream.Memory.Resident+r.Stream.Memory.Base, memory)
					}
				}
			}
		})
	}
}

func equal(a, b []float32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestWhatIsReadIsWhatTheReplaySays(t *testing.T) {
	path := compiled(t, streamModels[0])
	smallBase(t)
	o := Options{Context: 64, Batch: 8, Threads: 2}
	least, all := granted(t, path, o)
	var b bytes.Buffer
	o.Memory, o.Record = (least+all)/2, &b
	_, r := evaluated(t, path, o)
	trace, err := ReadTrace(&b)
	require.NoError(t, err)
	rs, err := trace.Simulate(r.Stream.Memory.Frames)
	require.NoError(t, err)
	for _, p := range rs {
		if p.Policy == "next" && p.Ahead {
			require.LessOrEqual(t, r.Stream.Cache.Reads, p.Reads)
			require.GreaterOrEqual(t, r.Stream.Cache.Reads+8, p.Reads, "the last few may not have ended")
			require.Equal(t, p.Wanted, r.Stream.Cache.Wanted)
			return
		}
	}
	t.Fatal("the replay lacks the run's policy")
}

func TestADamagedSlotIsRefusedWhereVerificationIsAskedFor(t *testing.T) {
	path := compiled(t, streamModels[0])
	smallBase(t)
	o := Options{Context: 64, Batch: 8, Threads: 2}
	least, _ := granted(t, path, o)
	e, err := Open(path, o)
	require.NoError(t, err)
	var at int64
	for i := range e.c.Slots.Len() {
		if s := e.c.Slots.At(i); s.Class == format.ClassExpert {
			at = int64(s.Offset) + 100
		}
	}
	require.NoError(t, e.Close())
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	var c [1]byte
	_, err = f.ReadAt(c[:], at)
	require.NoError(t, err)
	c[0] ^= 1
	_, err = f.WriteAt(c[:], at)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	o.Verify = true
	_, err = Open(path, o)
	require.ErrorIs(t, err, format.ErrDigest, "resident")
	o.Memory = least
	if e, err = Open(path, o); err == nil {
		_, err = evaluate(e)
		require.NoError(t, e.Close())
	}
	require.ErrorIs(t, err, format.ErrDigest)
	require.ErrorIs(t, err, format.ErrCorrupt)
}

func TestAFileThatIsCutWhileRunningIsAnErrorAndNothingHangs(t *testing.T) {
	for _, io := range []string{"uring", "pread", "mmap"} {
		for _, noticed := range []bool{true, false} { // at the beginning of a pass, or by a read only
			path := compiled(t, streamModels[0])
			smallBase(t)
			before, files := runtime.NumGoroutine(), descriptors()
			o := Options{Context: 64, Batch: 8, Threads: 2, IO: io}
			o.Memory, _ = granted(t, path, o)
			e, err := Open(path, o)
			require.NoError(t, err)
			_, err = evaluate(e)
			require.NoError(t, err)
			if !noticed {
				e.stream.cache.IgnoreChanges()
			}
			s, ok := e.c.Section(format.SectionExperts)
			require.True(t, ok)
			require.NoError(t, os.Truncate(path, int64(s.Offset)+8192))
			for range 3 {
				_, err = evaluate(e)
				require.ErrorIs(t, err, format.ErrCorrupt, io)
				require.NotErrorIs(t, err, ErrPanic)
			}
			require.NoError(t, e.Close())
			for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(end); time.Sleep(time.Millisecond) {
			}
			require.LessOrEqual(t, runtime.NumGoroutine(), before)
			require.LessOrEqual(t, descriptors(), files)
		}
	}
}

// Rows of tables are read one by one: the table is not among the pages of the mapping that are resident.
func TestTablesOfRowsAreNotResident(t *testing.T) {
	path := compiled(t, "../../../shared/models/synth/tiny-qwen3moe-Q4_K_M.gguf")
	e, err := Open(path, Options{Context: 64})
	require.NoError(t, err)
	defer e.Close()
	_, err = evaluate(e)
	require.NoError(t, err)
	rows, ok := e.c.Section(format.SectionRows)
	require.True(t, ok)
	require.Greater(t, rows.Length, uint64(256<<10))
	b, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip("the system does not tell what is resident")
	}
	_, after, found := strings.Cut(string(b), path)
	require.True(t, found)
	_, after, _ = strings.Cut(after, "Rss:")
	kb, err := strconv.ParseUint(strings.Fields(after)[0], 10, 64)
	require.NoError(t, err)
	// The system maps pages around a touched one, 64 KiB at most.
	require.LessOrEqual(t, kb<<10, e.c.Header.Length-rows.Length+128<<10)
}

func TestKeysAndValuesInEightBitsLeaveMoreForExperts(t *testing.T) {
	path := compiled(t, streamModels[0])
	smallBase(t)
	o := Options{Context: 512, Batch: 8, Threads: 2}
	least, all := granted(t, path, o)
	o.Memory = (least + all) / 2
	run := func(kv string) memoryPlan {
		o.KV = kv
		e, err := Open(path, o)
		require.NoError(t, err)
		defer e.Close()
		require.NotNil(t, e.stream)
		return e.stream.plan
	}
	halves, eight := run(KVF16), run(KVQ8)
	require.Less(t, eight.KV, halves.KV*6/10)
	require.Greater(t, eight.Frames, halves.Frames)
}
