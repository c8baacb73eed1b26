package format

import (
	"encoding/binary"
	"fmt"
)

// SourceFile is what the source section keeps of one file of the source: with it and the tensors the file can be written again, byte for byte.
type SourceFile struct {
	Length uint64 // of the whole file
	Header []byte // from the start of the file to the end of the tensor table
	Gaps   []Gap  // everything else that is not a tensor's bytes, ascending, without overlaps, after the header
}

// MaxZeros bounds the zeros between and behind the tensors of a source file: they cost a container nothing, but time and disk of whoever writes the file again.
const MaxZeros = 1 << 28

// Gap is a range of a source file between tensors. Data is nil for a range of zero bytes, else it has Length bytes, not all of them zero.
type Gap struct {
	Offset, Length uint64
	Data           []byte
}

// The section is, per file: length u64, header length u64, number of gaps u64, the header, then per gap offset u64, length u64, data length u64 (0 or
// length), data. In front of all stands the number of files as u64. There is no padding.

// EncodeSource gives the bytes of the section source.
func EncodeSource(files []SourceFile) ([]byte, error) {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(files)))
	for i, f := range files {
		if err := f.check(); err != nil {
			return nil, sourceFault(i, err)
		}
		b = binary.LittleEndian.AppendUint64(b, f.Length)
		b = binary.LittleEndian.AppendUint64(b, uint64(len(f.Header)))
		b = binary.LittleEndian.AppendUint64(b, uint64(len(f.Gaps)))
		b = append(b, f.Header...)
		for _, g := range f.Gaps {
			b = binary.LittleEndian.AppendUint64(b, g.Offset)
			b = binary.LittleEndian.AppendUint64(b, g.Length)
			b = binary.LittleEndian.AppendUint64(b, uint64(len(g.Data)))
			b = append(b, g.Data...)
		}
	}
	if len(b) > MaxSource {
		return nil, fault("source", -1, ErrUnsupported, "headers and gaps of the source take %d bytes, at most %d", len(b), MaxSource)
	}
	return b, nil
}

// DecodeSource reads what EncodeSource wrote; whatever it accepts EncodeSource gives back byte for byte. The result refers to b.
func DecodeSource(b []byte) ([]SourceFile, error) {
	r := sourceReader{b: b}
	n := r.count(24)
	files := make([]SourceFile, 0, min(n, 1024))
	for i := range n {
		f := SourceFile{Length: r.u64()}
		header, gaps := r.u64(), r.u64()
		f.Header = r.bytes(header)
		if gaps > uint64(len(r.b))/24 {
			r.failed = true
		}
		for range gaps {
			if r.failed {
				break
			}
			g := Gap{Offset: r.u64(), Length: r.u64()}
			if d := r.u64(); d > 0 {
				g.Data = r.bytes(d)
			}
			f.Gaps = append(f.Gaps, g)
		}
		if r.failed {
			break
		}
		if err := f.check(); err != nil {
			return nil, sourceFault(int(i), err)
		}
		files = append(files, f)
	}
	if r.failed {
		return nil, fault("source", -1, ErrCorrupt, "section ends too early")
	}
	if len(r.b) != 0 {
		return nil, fault("source", -1, ErrCorrupt, "%d bytes after the last file", len(r.b))
	}
	return files, nil
}

// check proves what JNS-26 says of gaps.
func (f *SourceFile) check() error {
	end, zeros := uint64(len(f.Header)), uint64(0)
	if f.Length > MaxFile || end > f.Length {
		return fmt.Errorf("header of %d bytes in a file of %d", end, f.Length)
	}
	for i, g := range f.Gaps {
		if g.Offset < end || g.Length == 0 || g.Offset > f.Length || g.Length > f.Length-g.Offset {
			return fmt.Errorf("gap %d: %d bytes at %d after %d in a file of %d", i, g.Length, g.Offset, end, f.Length)
		}
		if g.Data != nil && (uint64(len(g.Data)) != g.Length || allZero(g.Data)) {
			return fmt.Errorf("gap %d: %d bytes of data for %d, or all zero", i, len(g.Data), g.Length)
		}
		end = g.Offset + g.Length
		if g.Data == nil {
			zeros += g.Length
		}
	}
	if zeros > MaxZeros {
		return fmt.Errorf("%d zeros that belong to no tensor, at most %d", zeros, MaxZeros)
	}
	return nil
}

func sourceFault(file int, err error) error {
	return fault("source", -1, ErrCorrupt, "file %d: %v", file, err)
}

// sourceReader takes numbers and bytes off the front of b; after the first that is not there everything is zero and failed is set.
type sourceReader struct {
	b      []byte
	failed bool
}

func (r *sourceReader) u64() uint64 {
	if len(r.b) < 8 {
		r.failed, r.b = true, nil
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

func (r *sourceReader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.failed, r.b = true, nil
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

// count reads a number of things that take at least size bytes each.
func (r *sourceReader) count(size uint64) uint64 {
	n := r.u64()
	if n > uint64(len(r.b))/size {
		r.failed = true
		return 0
	}
	return n
}

// allZero reports whether every byte of b is 0.
func allZero(b []byte) bool {
	for len(b) >= 8 {
		if binary.LittleEndian.Uint64(b) != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
