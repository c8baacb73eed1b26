package gguf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Set is a model: one file, or all parts of a split one in order. Reading is safe in parallel.
type Set struct {
	Files   []*File
	Meta              // key-values of all parts, the first part's first, split.* as the first part has it
	Tensors []*Tensor // of all parts, in part order, then table order

	byName map[string]*Tensor
	opened []opened
}

// opened is a file that Open opened, as it was before its first byte was read.
type opened struct {
	*os.File
	was fs.FileInfo
}

const (
	keySplitNo      = "split.no"
	keySplitCount   = "split.count"
	keySplitTensors = "split.tensors.count"

	// maxParts bounds the file handles held; real sets have a few dozen parts.
	maxParts = 4096
)

// partName takes a path of a split part apart: prefix, number from 1, count.
var partName = regexp.MustCompile(`^(.*)-(\d{5})-of-(\d{5})\.gguf$`)

// PartPath is the path of part no (from 1) of count parts.
func PartPath(prefix string, no, count int) string {
	return fmt.Sprintf("%s-%05d-of-%05d.gguf", prefix, no, count)
}

// Open opens a model by the path of its file, or of any part of a split set, and checks all parts and how they fit together.
// Missing parts are named in an error that wraps ErrMissingPart.
func Open(path string) (*Set, error) {
	s := &Set{}
	if err := s.open(path); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// OpenReader makes a Set of one whole model in memory or anywhere else. Close does not close r.
func OpenReader(r io.ReaderAt, size int64) (*Set, error) {
	f, err := Parse(r, size)
	if err != nil {
		return nil, err
	}
	count, _, err := f.Uint(keySplitCount)
	if err != nil {
		return nil, err
	}
	if count > 1 {
		return nil, &Error{Key: keySplitCount, Offset: -1, Err: fmt.Errorf("%w: one part of %d", ErrMissingPart, count)}
	}
	s := &Set{Files: []*File{f}}
	return s, s.join()
}

func (s *Set) open(path string) error {
	given, err := s.openFile(path)
	if err != nil {
		return err
	}
	parts, self, err := partPaths(given)
	if err != nil {
		return withFile(err, path)
	}
	if err := checkPresent(parts); err != nil {
		return withFile(err, path)
	}
	for i, p := range parts {
		f := given
		if i != self {
			if f, err = s.openFile(p); err != nil {
				return err
			}
		}
		s.Files = append(s.Files, f)
	}
	return s.join()
}

// openFile opens and parses one file. Only regular files are taken: a pipe would block and has no size.
func (s *Set) openFile(path string) (*File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, &Error{File: path, Offset: -1, Err: fmt.Errorf("%w: it is a directory; give the path of a .gguf file in it", ErrNotGGUF)}
	}
	if !info.Mode().IsRegular() {
		return nil, &Error{File: path, Offset: -1, Err: fmt.Errorf("%w: it is not a regular file", ErrNotGGUF)}
	}
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err = r.Stat(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	s.opened = append(s.opened, opened{r, info})
	f, err := Parse(r, info.Size())
	if err != nil {
		return nil, withFile(err, path)
	}
	f.Path = path
	return f, nil
}

// withFile names the file in an error that has a place but no file.
func withFile(err error, path string) error {
	var e *Error
	if errors.As(err, &e) && e.File == "" {
		e.File = path
	}
	return err
}

// partPaths gives the paths of all parts of the set that f belongs to and f's index in it; f alone if it is no part.
func partPaths(f *File) ([]string, int, error) {
	count, has, err := f.Uint(keySplitCount)
	if err != nil {
		return nil, 0, err
	}
	prefix, nameNo, nameCount, named := parsePartName(f.Path)
	if !has || count <= 1 {
		if named && nameCount > 1 {
			return nil, 0, at(corruptf("the name says part %d of %d, but the header has no %s above 1; rename the file if it is a whole model",
				nameNo, nameCount, keySplitCount), "", "", -1)
		}
		return []string{f.Path}, 0, nil
	}
	if count > maxParts {
		return nil, 0, at(fmt.Errorf("%w: %d parts; at most %d are read", ErrUnsupported, count, maxParts), keySplitCount, "", -1)
	}
	if !named {
		return nil, 0, at(fmt.Errorf("%w: the file is one part of %d, and its name does not tell the others' names; name the parts like %s",
			ErrMissingPart, count, PartPath("model", 1, int(count))), keySplitCount, "", -1)
	}
	if uint64(nameCount) != count {
		return nil, 0, at(corruptf("the name says %d parts, the header %d", nameCount, count), keySplitCount, "", -1)
	}
	if nameNo < 1 || nameNo > nameCount {
		return nil, 0, at(corruptf("the name says part %d of %d", nameNo, nameCount), "", "", -1)
	}
	parts := make([]string, count)
	for i := range parts {
		parts[i] = PartPath(prefix, i+1, int(count))
	}
	return parts, nameNo - 1, nil
}

func parsePartName(path string) (prefix string, no, count int, ok bool) {
	m := partName.FindStringSubmatch(filepath.Base(path))
	if m == nil {
		return "", 0, 0, false
	}
	no, _ = strconv.Atoi(m[2])
	count, _ = strconv.Atoi(m[3])
	return strings.TrimSuffix(path, path[len(path)-len(m[0])+len(m[1]):]), no, count, true
}

func checkPresent(parts []string) error {
	var missing []string
	for _, p := range parts {
		if _, err := os.Stat(p); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, filepath.Base(p))
		} else if err != nil {
			return err
		}
	}
	if len(missing) == 0 {
		return nil
	}
	list := strings.Join(missing[:min(len(missing), 16)], ", ")
	if len(missing) > 16 {
		list += fmt.Sprintf(" and %d more", len(missing)-16)
	}
	return at(fmt.Errorf("%w: %d of %d parts are not there: %s; put them in the same directory", ErrMissingPart, len(missing), len(parts), list),
		"", "", -1)
}

// join checks how the parts fit together and merges their tables.
func (s *Set) join() error {
	s.byName = map[string]*Tensor{}
	s.index = map[string]int{}
	total := 0
	for _, f := range s.Files {
		total += len(f.Tensors)
	}
	for i, f := range s.Files {
		if err := s.checkSplitKeys(i, total); err != nil {
			return withFile(err, f.Path)
		}
		if err := s.addKVs(f, i); err != nil {
			return withFile(err, f.Path)
		}
		for j := range f.Tensors {
			t := &f.Tensors[j]
			if first, dup := s.byName[t.Name]; dup {
				return &Error{File: f.Path, Tensor: t.Name, Offset: -1,
					Err: corruptf("the tensor is also in part %d, %s", first.Shard+1, filepath.Base(s.Files[first.Shard].Path))}
			}
			t.Shard = i
			s.byName[t.Name] = t
			s.Tensors = append(s.Tensors, t)
		}
	}
	return nil
}

// checkSplitKeys checks part i's split keys. A whole model may carry them too, with a count of 0 or 1.
func (s *Set) checkSplitKeys(i, total int) error {
	f := s.Files[i]
	no, hasNo, err := f.Uint(keySplitNo)
	if err != nil {
		return err
	}
	count, hasCount, err := f.Uint(keySplitCount)
	if err != nil {
		return err
	}
	tensors, hasTensors, err := f.Uint(keySplitTensors)
	if err != nil {
		return err
	}
	if len(s.Files) > 1 {
		if !hasCount || count != uint64(len(s.Files)) {
			return at(corruptf("part %d says the set has %d parts, it has %d", i+1, count, len(s.Files)), keySplitCount, "", -1)
		}
		if !hasNo {
			return at(corruptf("part %d of %d does not carry its number", i+1, len(s.Files)), keySplitNo, "", -1)
		}
	}
	if hasNo && no != uint64(i) {
		return at(corruptf("the file stands as part number %d (from 0), its header says %d", i, no), keySplitNo, "", -1)
	}
	if hasTensors && tensors != uint64(total) {
		return at(corruptf("the header says %d tensors in all parts, there are %d", tensors, total), keySplitTensors, "", -1)
	}
	return nil
}

// perPart are keys that each part has for itself.
var perPart = map[string]bool{keySplitNo: true, "general.alignment": true}

// addKVs merges a part's key-values. Writers may repeat a key in every part, but only with the same value.
func (s *Set) addKVs(f *File, part int) error {
	for _, kv := range f.KVs {
		j, dup := s.index[kv.Key]
		if !dup {
			s.index[kv.Key] = len(s.KVs)
			s.KVs = append(s.KVs, kv)
			continue
		}
		if perPart[kv.Key] {
			continue
		}
		same, err := equalValues(s.KVs[j].Value, kv.Value)
		if err != nil {
			return err
		}
		if !same {
			return at(corruptf("part %d has another value than a part before it; the parts are not of one model", part+1), kv.Key, "", -1)
		}
	}
	return nil
}

func equalValues(a, b Value) (bool, error) {
	x, xok := a.(Array)
	y, yok := b.(Array)
	if !xok || !yok {
		return !xok && !yok && sameScalar(a, b), nil
	}
	if x.Elem != y.Elem || x.Len != y.Len || x.bytes != y.bytes {
		return false, nil
	}
	p, err := x.raw()
	if err != nil {
		return false, err
	}
	q, err := y.raw()
	if err != nil {
		return false, err
	}
	return bytes.Equal(p, q), nil
}

// sameScalar compares kind and value; a NaN equals itself here.
func sameScalar(a, b Value) bool {
	return a == b || a != a && b != b
}

// Tensor finds a tensor by name; nil if there is none.
func (s *Set) Tensor(name string) *Tensor { return s.byName[name] }

// ReadAt fills p from offset off of a file of the set, or fails. It is safe to call in parallel.
func (s *Set) ReadAt(shard int, p []byte, off int64) (int, error) {
	if shard < 0 || shard >= len(s.Files) {
		return 0, fmt.Errorf("gguf: no file %d in a set of %d", shard, len(s.Files))
	}
	f := s.Files[shard]
	if off < 0 || uint64(off) > f.Size || uint64(len(p)) > f.Size-uint64(off) {
		return 0, fmt.Errorf("gguf: read of %d bytes at %d in a file of %d: %w", len(p), off, f.Size, io.ErrUnexpectedEOF)
	}
	if err := readFull(f.r, p, off); err != nil {
		return 0, &Error{File: f.Path, Offset: off, Err: err}
	}
	return len(p), nil
}

// Unchanged fails with ErrChanged if the size or the time of a file that Open opened is another one than before it was read. Ask when all is read.
func (s *Set) Unchanged() error {
	for _, o := range s.opened {
		is, err := o.Stat()
		if err != nil {
			return err
		}
		if is.Size() != o.was.Size() || !is.ModTime().Equal(o.was.ModTime()) {
			return &Error{File: o.Name(), Offset: -1, Err: ErrChanged}
		}
	}
	return nil
}

// Close closes the files that Open opened. Arrays and reads fail afterwards.
func (s *Set) Close() error {
	var errs []error
	for _, o := range s.opened {
		errs = append(errs, o.Close())
	}
	s.opened = nil
	return errors.Join(errs...)
}
