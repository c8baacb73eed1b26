package pack

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/zeebo/blake3"

	"jns/compiler/internal/gguf"
	"jns/compiler/internal/plan"
	"jns/format"
	"jns/kernels/tile"
)

// stripBytes is how much of a tensor is read at once; a tile row may be larger, up to the plan's bound.
const stripBytes = 1 << 20

// Input is what a packer works on. Tensors and Slots are the laid draft's: slot offsets are known. Digests of the tensors'
// source bytes are written into Tensors.
type Input struct {
	Source   *gguf.Set
	Items    []plan.Item
	Tensors  []format.Tensor
	Slots    []format.Slot
	Layouts  []*tile.Layout
	Workers  int                // 0: GOMAXPROCS
	Length   int64              // of the whole file
	Progress func(bytes uint64) // source bytes done since the last call; called from several goroutines
}

// job is a set of tensors that one worker packs: their slots belong to no other job.
type job struct {
	tensors []int
	bytes   uint64
	run     func(w *worker, tensors []int) error
}

// Run packs everything into out. It stops at the first error or when ctx ends.
func Run(ctx context.Context, in *Input, out io.WriterAt) error {
	out = newBlocks(out, in.Length)
	jobs := plannedJobs(in)
	// The largest first, so that no worker is left with a large one at the end.
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(b.bytes, a.bytes) })
	var next atomic.Int64
	return parallel(ctx, in.Workers, func(ctx context.Context) error {
		w := &worker{ctx: ctx, in: in, out: out}
		for {
			i := int(next.Add(1)) - 1
			if i >= len(jobs) {
				return nil
			}
			if err := jobs[i].run(w, jobs[i].tensors); err != nil {
				return err
			}
		}
	})
}

// parallel runs f on each worker, cancels the others at the first error, and returns that one.
func parallel(ctx context.Context, workers int, f func(ctx context.Context) error) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan error, workers)
	for range workers {
		go func() {
			err := f(ctx)
			if err != nil {
				cancel(err)
			}
			done <- err
		}()
	}
	failed := false
	for range workers {
		failed = <-done != nil || failed
	}
	if failed {
		return context.Cause(ctx)
	}
	return ctx.Err()
}

func plannedJobs(in *Input) []job {
	var jobs []job
	group := map[uint32]int{} // first slot of an expert group → its job
	vectors := job{run: (*worker).vectors}
	for i := range in.Tensors {
		t := &in.Tensors[i]
		size := in.Items[i].Tensor.Size
		switch {
		case t.Class == format.ClassPinned:
			vectors.tensors = append(vectors.tensors, i)
			vectors.bytes += size
		case t.Class == format.ClassExpert:
			j, ok := group[t.FirstSlot]
			if !ok {
				j = len(jobs)
				group[t.FirstSlot] = j
				jobs = append(jobs, job{run: (*worker).experts})
			}
			jobs[j].tensors = append(jobs[j].tensors, i)
			jobs[j].bytes += size
		default:
			jobs = append(jobs, job{tensors: []int{i}, bytes: size, run: (*worker).dense})
		}
	}
	if len(vectors.tensors) > 0 {
		jobs = append(jobs, vectors)
	}
	return jobs
}

// worker packs one job after the other with buffers of its own.
type worker struct {
	ctx      context.Context
	in       *Input
	out      io.WriterAt
	src, dst []byte
}

// dense packs a matrix, part by part.
func (w *worker) dense(tensors []int) error {
	i := tensors[0]
	t := &w.in.Tensors[i]
	h := blake3.New()
	at := uint64(0)
	for p := range t.Slots {
		slot := &w.in.Slots[t.FirstSlot+p]
		if err := w.matrix(i, h, &at, t.PartRows(p), slot.Offset+t.SlotOffset); err != nil {
			return err
		}
	}
	return w.finish(i, h, at)
}

// experts packs the experts of a layer, slot by slot.
func (w *worker) experts(tensors []int) error {
	hashes := make([]*blake3.Hasher, len(tensors))
	at := make([]uint64, len(tensors))
	for k := range tensors {
		hashes[k] = blake3.New()
	}
	for e := range w.in.Tensors[tensors[0]].Slots {
		for k, i := range tensors {
			t := &w.in.Tensors[i]
			slot := &w.in.Slots[t.FirstSlot+e]
			if err := w.matrix(i, hashes[k], &at[k], t.Rows, slot.Offset+t.SlotOffset); err != nil {
				return err
			}
		}
	}
	for k, i := range tensors {
		if err := w.finish(i, hashes[k], at[k]); err != nil {
			return err
		}
	}
	return nil
}

// vectors packs all vectors, widened to float32.
func (w *worker) vectors(tensors []int) error {
	for _, i := range tensors {
		t := &w.in.Tensors[i]
		h := blake3.New()
		src := w.in.Items[i].Tensor
		at, to := uint64(0), w.in.Slots[t.FirstSlot].Offset+t.SlotOffset
		for at < src.Size {
			n := min(stripBytes, src.Size-at)
			b, err := w.read(src, at, n, h)
			if err != nil {
				return err
			}
			wide, err := Widen(src.Type, b)
			if err != nil {
				return fmt.Errorf("tensor %q: %w", src.Name, err)
			}
			if _, err := w.out.WriteAt(wide, int64(to)); err != nil {
				return err
			}
			at, to = at+n, to+uint64(len(wide))
		}
		if err := w.finish(i, h, at); err != nil {
			return err
		}
	}
	return nil
}

// matrix packs rows rows of tensor i from source offset *at on, to file offset to.
func (w *worker) matrix(i int, h *blake3.Hasher, at *uint64, rows, to uint64) error {
	t, src, l := &w.in.Tensors[i], w.in.Items[i].Tensor, w.in.Layouts[i]
	if l == nil {
		return w.copy(src, h, at, rows*t.TileRowBytes, to)
	}
	rowBytes := uint64(l.Codec.RowBytes(int(t.Cols)))
	tileRows := uint64(l.Rows)
	step := max(1, stripBytes/(tileRows*rowBytes)) * tileRows
	for row := uint64(0); row < rows; row += step {
		n := min(step, rows-row)
		b, err := w.read(src, *at, n*rowBytes, h)
		if err != nil {
			return err
		}
		*at += n * rowBytes
		tiles := (n + tileRows - 1) / tileRows
		// Rows that pad the last tile are zero bytes.
		b = w.padded(b, tiles*tileRows*rowBytes)
		w.dst = grown(w.dst, tiles*t.TileRowBytes)
		for k := range tiles {
			l.Pack(w.dst[k*t.TileRowBytes:(k+1)*t.TileRowBytes], b[k*tileRows*rowBytes:(k+1)*tileRows*rowBytes], int(t.Cols))
		}
		if _, err := w.out.WriteAt(w.dst, int64(to)); err != nil {
			return err
		}
		to += uint64(len(w.dst))
	}
	return nil
}

// copy moves source bytes as they are.
func (w *worker) copy(src *gguf.Tensor, h *blake3.Hasher, at *uint64, n, to uint64) error {
	for n > 0 {
		k := min(n, stripBytes)
		b, err := w.read(src, *at, k, h)
		if err != nil {
			return err
		}
		if _, err := w.out.WriteAt(b, int64(to)); err != nil {
			return err
		}
		*at, n, to = *at+k, n-k, to+k
	}
	return nil
}

// read reads n bytes of a tensor from offset at on and hashes them. The result is valid until the next read.
func (w *worker) read(src *gguf.Tensor, at, n uint64, h *blake3.Hasher) ([]byte, error) {
	if err := w.ctx.Err(); err != nil {
		return nil, err
	}
	w.src = grown(w.src, n)
	if at+n > src.Size {
		return nil, fmt.Errorf("tensor %q: read of %d bytes at %d of %d", src.Name, n, at, src.Size)
	}
	if _, err := w.in.Source.ReadAt(src.Shard, w.src, int64(src.Offset+at)); err != nil {
		return nil, fmt.Errorf("tensor %q: %w", src.Name, err)
	}
	h.Write(w.src)
	if w.in.Progress != nil {
		w.in.Progress(n)
	}
	return w.src, nil
}

// padded extends b, which is w.src, to n bytes with zeros.
func (w *worker) padded(b []byte, n uint64) []byte {
	old := uint64(len(b))
	if old == n {
		return b
	}
	if uint64(cap(b)) < n {
		b = append(make([]byte, 0, n), b...)
		w.src = b
	}
	b = b[:n]
	clear(b[old:])
	return b
}

// finish records the digest of a tensor of which all bytes must have been read.
func (w *worker) finish(i int, h *blake3.Hasher, at uint64) error {
	if src := w.in.Items[i].Tensor; at != src.Size {
		return fmt.Errorf("tensor %q: %d of %d bytes packed", src.Name, at, src.Size)
	}
	copy(w.in.Tensors[i].Digest[:], h.Sum(nil))
	return nil
}

// grown is a buffer of n bytes, p's memory if that is enough.
func grown(p []byte, n uint64) []byte {
	if uint64(cap(p)) < n {
		return make([]byte, n)
	}
	return p[:n]
}
