package fetch

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"jns/format"
)

// part is the unfinished file and the journal beside it. The journal's first line says what is being fetched, each further one that a chunk was written, with its
// BLAKE3. It is only ever appended to, and the chunks are hashed again before they are believed, so no crash can make it lie.
type part struct {
	f       *os.File
	path    string
	journal *os.File
	inPlace bool // the file to mend itself: no journal, no other name
}

// journalHead is the first line of the journal.
type journalHead struct {
	Journal    int               `json:"journal"` // 1
	Want       string            `json:"want"`    // what the file must be
	Size       int64             `json:"size"`
	Validators map[string]string `json:"validators,omitempty"` // by source: ETag or date of the file
}

// openPart opens the unfinished file for this process alone.
func openPart(path string) (*part, error) {
	name := path + PartSuffix
	for _, n := range []string{name, path + StateSuffix, path + StateSuffix + newSuffix} {
		if st, err := os.Lstat(n); err == nil && !st.Mode().IsRegular() {
			return nil, fmt.Errorf("%w: %s is no regular file; remove it", ErrRefused, n)
		}
	}
	for range 8 {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w", path, ErrNoDirectory)
		}
		if err != nil {
			return nil, err
		}
		if err := lock(f); err != nil {
			return nil, errors.Join(fmt.Errorf("%w: %s", ErrBusy, path), f.Close())
		}
		a, err1 := f.Stat()
		b, err2 := os.Lstat(name)
		if err1 == nil && err2 == nil && os.SameFile(a, b) { // whoever had the lock before may have finished and renamed it
			return &part{f: f, path: path}, nil
		}
		f.Close()
	}
	return nil, fmt.Errorf("%w: %s", ErrBusy, path)
}

// openInPlace opens a file that is to be mended where it lies.
func openInPlace(path string) (*part, error) {
	r, _, err := format.OpenFile(path) // whatever else it is would block
	if err != nil {
		return nil, err
	}
	r.Close()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s", ErrBusy, path), f.Close())
	}
	return &part{f: f, path: path, inPlace: true}, nil
}

func (p *part) close() {
	if p.journal != nil {
		p.journal.Close()
	}
	p.f.Close()
}

// newSuffix marks a journal that is being written.
const newSuffix = ".new"

// maxJournalLine bounds a line: the first one holds addresses.
const maxJournalLine = 1 << 20

// read gives the journal's head and the chunks that it says were written. A line that is cut off, as the last one is after a crash, ends it.
func (p *part) read() (head journalHead, chunks map[int][32]byte) {
	chunks = map[int][32]byte{}
	if p.inPlace {
		return head, nil
	}
	f, err := os.Open(p.path + StateSuffix)
	if err != nil {
		return head, nil
	}
	defer f.Close()
	r := bufio.NewReaderSize(io.LimitReader(f, 1<<30), maxJournalLine)
	line, err := r.ReadSlice('\n')
	if err != nil || json.Unmarshal(line, &head) != nil || head.Journal != 1 {
		return journalHead{}, nil
	}
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return head, chunks
		}
		a, b, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		i, err := strconv.Atoi(string(a))
		var sum [32]byte
		if !ok || err != nil || i < 0 || len(b) != 64 {
			return head, chunks
		}
		if _, err := hex.Decode(sum[:], b); err != nil {
			return head, chunks
		}
		chunks[i] = sum
	}
}

// begin writes a new journal that says what is there already.
func (p *part) begin(head journalHead, chunks map[int][32]byte) error {
	if p.inPlace {
		return nil
	}
	if p.journal != nil {
		p.journal.Close()
	}
	head.Journal = 1
	first, err := json.Marshal(head)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.Write(first)
	b.WriteByte('\n')
	for i, sum := range chunks {
		fmt.Fprintf(&b, "%d %x\n", i, sum)
	}
	// Written beside and renamed: a crash here must not lose what the old one knew.
	name := p.path + StateSuffix
	if err := os.WriteFile(name+newSuffix, []byte(b.String()), 0o666); err != nil {
		return err
	}
	if err := os.Rename(name+newSuffix, name); err != nil {
		return err
	}
	p.journal, err = os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	return err
}

// wrote records that a chunk was written.
func (p *part) wrote(i int, sum [32]byte) error {
	if p.journal == nil {
		return nil
	}
	_, err := fmt.Fprintf(p.journal, "%d %x\n", i, sum)
	return err
}

// forget throws away what was fetched.
func (p *part) forget() error {
	if p.inPlace {
		return nil
	}
	if p.journal != nil {
		p.journal.Close()
		p.journal = nil
	}
	os.Remove(p.path + StateSuffix)
	return p.f.Truncate(0)
}

// commit makes the file durable and gives it its name.
func (p *part) commit(path string) error {
	if err := p.f.Sync(); err != nil || p.inPlace {
		return err
	}
	if runtime.GOOS == "windows" { // an open file cannot be renamed there
		p.f.Close()
	}
	if err := os.Rename(path+PartSuffix, path); err != nil {
		return err
	}
	if d, err := os.Open(filepath.Dir(path)); err == nil {
		_ = d.Sync() // some file systems cannot; their renames are as durable as they get
		d.Close()
	}
	if p.journal != nil {
		p.journal.Close()
		p.journal = nil
	}
	return os.Remove(path + StateSuffix)
}

// discard removes a part that holds nothing.
func (p *part) discard() {
	if st, err := p.f.Stat(); err == nil && st.Size() == 0 && !p.inPlace {
		os.Remove(p.path + PartSuffix)
		os.Remove(p.path + StateSuffix)
	}
}
