package pack

import (
	"io"
	"runtime"
	"sync"
	"sync/atomic"
)

// blockBytes is a large page of x86-64, and of arm64 with pages of 4 KiB.
const blockBytes = 2 << 20

// zeros is what a block begins with.
var zeros [blockBytes]byte

// blocks makes the system keep a file in large pages: Linux gives what is written in one piece pages of that size in its cache, where the file system can (ext4 since 6.16, XFS since 6.6),
// and whoever maps the file later finds them mapped in one step each. Weights read from small pages cost a translation for every 4 KiB, which a virtual machine looks up twice: decoding from
// large pages is a tenth to a fifth faster. So a block that is first written in part is written whole before, with zeros; the file has zeros there anyway.
type blocks struct {
	out   io.WriterAt
	size  int64 // of the file
	whole []atomic.Bool
	mu    sync.Mutex
}

// newBlocks gives out itself where it would not help.
func newBlocks(out io.WriterAt, size int64) io.WriterAt {
	if runtime.GOOS != "linux" || size < blockBytes {
		return out
	}
	return &blocks{out: out, size: size, whole: make([]atomic.Bool, (size+blockBytes-1)/blockBytes)}
}

// WriteAt writes p. Safe for use by many goroutines, for ranges that do not overlap.
func (b *blocks) WriteAt(p []byte, off int64) (int, error) {
	if len(p) == 0 || off < 0 || int64(len(p)) > b.size-off {
		return b.out.WriteAt(p, off) // whatever out makes of it
	}
	end := off + int64(len(p))
	for i := off / blockBytes; i <= (end-1)/blockBytes; i++ {
		if start := i * blockBytes; !b.whole[i].Load() && (off > start || end < min(start+blockBytes, b.size)) {
			if err := b.begin(i); err != nil {
				return 0, err
			}
		}
	}
	return b.out.WriteAt(p, off)
}

// begin writes zeros to a block, once. What else is written there waits for it.
func (b *blocks) begin(i int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.whole[i].Load() {
		return nil
	}
	start := i * blockBytes
	if _, err := b.out.WriteAt(zeros[:min(blockBytes, b.size-start)], start); err != nil {
		return err
	}
	b.whole[i].Store(true)
	return nil
}
