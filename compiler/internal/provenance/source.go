package provenance

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"jns/compiler/internal/gguf"
	"jns/format"
)

const (
	// piece is the unit in which gaps are told apart into zeros and data.
	piece = 64 << 10
	// maxGapData bounds what a container takes along of bytes that belong to no tensor; it is held in memory.
	maxGapData = 64 << 20
)

// Sources gives the source section's files and the shards of the table of contents, still without the digests of whole files.
func Sources(set *gguf.Set) ([]format.SourceFile, []format.Shard, error) {
	files := make([]format.SourceFile, len(set.Files))
	shards := make([]format.Shard, len(set.Files))
	data := uint64(maxGapData)
	for i, f := range set.Files {
		header := make([]byte, f.HeaderLen)
		if _, err := set.ReadAt(i, header, 0); err != nil {
			return nil, nil, err
		}
		files[i] = format.SourceFile{Length: f.Size, Header: header}
		shards[i] = format.Shard{Length: f.Size, HeaderLength: f.HeaderLen, HeaderSHA256: sha256.Sum256(header)}
		var err error
		if files[i].Gaps, err = gaps(set, i, &budget{&data, format.MaxZeros}); err != nil {
			return nil, nil, err
		}
	}
	return files, shards, nil
}

// budget is how many bytes that belong to no tensor are still taken: data in the set, zeros in the file.
type budget struct {
	data  *uint64
	zeros uint64
}

// gaps lists what lies in a file after the header and outside tensors.
func gaps(set *gguf.Set, shard int, left *budget) ([]format.Gap, error) {
	f := set.Files[shard]
	order := make([]*gguf.Tensor, len(f.Tensors))
	for i := range f.Tensors {
		order[i] = &f.Tensors[i]
	}
	slices.SortFunc(order, func(a, b *gguf.Tensor) int { return cmp.Compare(a.Offset, b.Offset) })
	var out []format.Gap
	at := f.HeaderLen
	for _, t := range order {
		var err error
		if out, err = gap(set, shard, at, t.Offset, out, left); err != nil {
			return nil, err
		}
		at = t.Offset + t.Size
	}
	return gap(set, shard, at, f.Size, out, left)
}

var nothing [piece]byte

// gap appends the range from at to end, told apart into zeros and data.
func gap(set *gguf.Set, shard int, at, end uint64, out []format.Gap, left *budget) ([]format.Gap, error) {
	first := len(out)
	var buf [piece]byte
	for at < end {
		b := buf[:min(piece, end-at)]
		if _, err := set.ReadAt(shard, b, int64(at)); err != nil {
			return nil, err
		}
		zeros := bytes.Equal(b, nothing[:len(b)])
		of, most := left.data, maxGapData
		if zeros {
			of, most = &left.zeros, format.MaxZeros
		}
		if uint64(len(b)) > *of {
			return nil, fmt.Errorf("%w: %s holds more than %d bytes that belong to no tensor, from offset %d on", gguf.ErrUnsupported, set.Files[shard].Path, most, at)
		}
		*of -= uint64(len(b))
		switch last := len(out) - 1; {
		case last >= first && zeros && out[last].Data == nil:
			out[last].Length += uint64(len(b))
		case last >= first && !zeros && out[last].Data != nil:
			out[last].Length += uint64(len(b))
			out[last].Data = append(out[last].Data, b...)
		case zeros:
			out = append(out, format.Gap{Offset: at, Length: uint64(len(b))})
		default:
			out = append(out, format.Gap{Offset: at, Length: uint64(len(b)), Data: bytes.Clone(b)})
		}
		at += uint64(len(b))
	}
	return out, nil
}

// Sums is a computation of the digests of whole files that runs beside other work.
type Sums struct {
	cancel context.CancelFunc
	done   chan error
}

// Start begins to compute the SHA-256 of every file of the set into shards, one file after the other.
func Start(ctx context.Context, set *gguf.Set, shards []format.Shard) *Sums {
	ctx, cancel := context.WithCancel(ctx)
	s := &Sums{cancel, make(chan error, 1)}
	go func() {
		s.done <- func() error {
			for i := range set.Files {
				if err := sum(ctx, set, i, &shards[i]); err != nil {
					return err
				}
			}
			return nil
		}()
	}()
	return s
}

// Wait waits for the digests; with wanted false it makes the computation end soon and reports nothing.
func (s *Sums) Wait(wanted bool) error {
	if !wanted {
		s.cancel()
		<-s.done
		return nil
	}
	defer s.cancel()
	return <-s.done
}

func sum(ctx context.Context, set *gguf.Set, shard int, out *format.Shard) error {
	h := sha256.New()
	b := make([]byte, 1<<20)
	for at := uint64(0); at < out.Length; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(uint64(len(b)), out.Length-at)
		if _, err := set.ReadAt(shard, b[:n], int64(at)); err != nil {
			return err
		}
		h.Write(b[:n])
		at += n
	}
	out.SHA256 = [32]byte(h.Sum(nil))
	return nil
}
