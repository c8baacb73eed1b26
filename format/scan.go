package format

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/zeebo/blake3"
)

// scan reads a container once, in parallel, and computes what Seal writes and Verify compares: the digest of every slot and of every chunk.
//
// The range of the weight sections is cut into jobs on slot borders; a job reads its range in pieces that end where chunks end, so that each piece feeds
// the slot's hash and, when the job holds all of the chunk, is the chunk. Chunks that no job holds whole are read by themselves afterwards.
type scan struct {
	r        io.ReaderAt
	from, to uint64 // range that the chunk list covers: first section to chunk section
	slots    Slots
	order    []int32 // of the slots in the file; nil: table order
	weights  uint64  // start of the first weight section, `to` if there is none

	slotDigest  [][32]byte
	chunkDigest [][32]byte
	chunkDone   []bool // each written by one job, or by none
	// padding has the offsets of bytes of padding that are not zero: the lowest of each job, in the order of the file.
	padding []uint64

	progress func(bytes uint64)
	done     atomic.Uint64
}

// scanJob is a run of slots and the bytes up to the next job.
type scanJob struct {
	slot, slots int // as they lie in the file
	from, to    uint64
}

const jobSize = 16 << 20

func newScan(r io.ReaderAt, sections []Section, slots Slots) *scan {
	s := &scan{r: r, from: sections[0].Offset, to: sections[len(sections)-1].Offset, slots: slots, order: byOffset(slots)}
	s.weights = s.to
	for _, sec := range sections {
		if sec.Kind.Weights() {
			s.weights = sec.Offset
			break
		}
	}
	s.slotDigest = make([][32]byte, slots.Len())
	n := chunkCount(s.to)
	s.chunkDigest, s.chunkDone = make([][32]byte, n), make([]bool, n)
	return s
}

// at gives the k-th slot of the file and its number.
func (s *scan) at(k int) (Slot, int) {
	if s.order != nil {
		k = int(s.order[k])
	}
	return s.slots.At(k), k
}

// jobs cuts the slots into runs of at least jobSize bytes; the last job reaches to the end.
func (s *scan) jobs() []scanJob {
	var js []scanJob
	at := s.weights
	for i, n := 0, s.slots.Len(); i < n; {
		j := scanJob{slot: i, from: at}
		for ; i < n; i++ {
			if o, _ := s.at(i); i > j.slot && o.Offset-j.from >= jobSize {
				break
			}
		}
		j.slots, j.to = i-j.slot, s.to
		if i < n {
			next, _ := s.at(i)
			j.to = next.Offset
		}
		at = j.to
		js = append(js, j)
	}
	return js
}

// weightsPass computes all slot digests and the digests of the chunks that lie inside one job.
func (s *scan) weightsPass(ctx context.Context, workers int) error {
	jobs := s.jobs()
	bad := make([]uint64, len(jobs))
	err := parallel(ctx, workers, len(jobs), func() func(i int) error {
		buf := make([]byte, ChunkSize)
		return func(i int) error { return s.job(ctx, jobs[i], buf, &bad[i]) }
	})
	for _, b := range bad {
		if b != 0 {
			s.padding = append(s.padding, b)
		}
	}
	return err
}

func (s *scan) job(ctx context.Context, j scanJob, buf []byte, bad *uint64) error {
	hash := blake3.New()
	slot := j.slot
	cur, number := s.at(slot)
	for at := j.from; at < j.to; {
		if err := ctx.Err(); err != nil {
			return err
		}
		chunk := at / ChunkSize
		end := min((chunk+1)*ChunkSize, j.to)
		size := end - at
		p := buf[:size]
		if err := readFull(s.r, p, at); err != nil {
			return err
		}
		if lo, hi := s.chunkRange(chunk); at == lo && end == hi {
			s.chunkDigest[chunk], s.chunkDone[chunk] = blake3.Sum256(p), true
		}
		for len(p) > 0 {
			switch {
			case slot == j.slot+j.slots || at < cur.Offset: // padding up to the next slot or the end of the job
				n := uint64(len(p))
				if slot < j.slot+j.slots {
					n = min(n, cur.Offset-at)
				}
				if !allZero(p[:n]) && *bad == 0 {
					*bad = at + uint64(firstNonZero(p[:n]))
				}
				p, at = p[n:], at+n
			default:
				n := min(uint64(len(p)), cur.Offset+cur.Length-at)
				hash.Write(p[:n])
				p, at = p[n:], at+n
				if at == cur.Offset+cur.Length {
					hash.Sum(s.slotDigest[number][:0])
					hash.Reset()
					if slot++; slot < j.slot+j.slots {
						cur, number = s.at(slot)
					}
				}
			}
		}
		s.report(size)
	}
	return nil
}

// chunksPass computes the digests of the chunks that weightsPass left.
func (s *scan) chunksPass(ctx context.Context, workers int) error {
	var left []int
	for i, done := range s.chunkDone {
		if !done {
			left = append(left, i)
		}
	}
	return parallel(ctx, workers, len(left), func() func(i int) error {
		buf := make([]byte, ChunkSize)
		return func(i int) error {
			lo, hi := s.chunkRange(uint64(left[i]))
			if err := readFull(s.r, buf[:hi-lo], lo); err != nil {
				return err
			}
			s.chunkDigest[left[i]] = blake3.Sum256(buf[:hi-lo])
			return nil
		}
	})
}

// chunkRange is the part of chunk i that the chunk list covers (JNS-38). The header and the table of contents hold the list's digest, so they cannot be
// in it; they have digests of their own. A chunk that lies before the first section is empty.
func (s *scan) chunkRange(i uint64) (lo, hi uint64) {
	lo, hi = max(i*ChunkSize, s.from), min((i+1)*ChunkSize, s.to)
	return min(lo, hi), hi
}

// chunkList gives the bytes of the section chunks.
func (s *scan) chunkList() []byte { return joinDigests(s.chunkDigest) }

func (s *scan) report(n uint64) {
	if s.progress != nil {
		s.progress(s.done.Add(n))
	}
}

func joinDigests(ds [][32]byte) []byte {
	b := make([]byte, 0, len(ds)*32)
	for i := range ds {
		b = append(b, ds[i][:]...)
	}
	return b
}

func firstNonZero(b []byte) int {
	for i, c := range b {
		if c != 0 {
			return i
		}
	}
	return -1
}

// readFull reads len(p) bytes at off or says that the file is too short.
func readFull(r io.ReaderAt, p []byte, off uint64) error {
	n, err := r.ReadAt(p, int64(off))
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return fault("file", int64(off)+int64(n), ErrCorrupt, "the file ends here: it was cut short, fetch it again")
	}
	return fmt.Errorf("reading %d bytes at offset %d: %w", len(p), off, err)
}

// parallel runs n tasks on the given number of workers (0: GOMAXPROCS). Each worker makes its own function, so that it can have its own buffer. The error
// of the lowest task that failed is returned.
func parallel(ctx context.Context, workers, n int, worker func() func(i int) error) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, n)
	errs := make([]error, n)
	var next atomic.Int64
	var failed atomic.Bool
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			task := worker()
			for !failed.Load() && ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if errs[i] = task(i); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}
