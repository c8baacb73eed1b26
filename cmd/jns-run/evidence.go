package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	jnscli "jns/cmd/internal/cli"
	"jns/cmd/internal/output"
)

// Evidence is a directory: one file of JSON lines for each process that measured, written by that process, and manifest.json with the SHA-256 of each and the figures that follow
// from them. Everything in it can be computed again from the records, on any machine.

// Errors of evidence.
var (
	errEvidence   = errors.New("evidence does not hold")
	errNoEvidence = errors.New("not a directory of evidence")
)

const (
	evidenceFormat = "jns-evidence 1"
	manifestName   = "manifest.json"
	recordBytes    = 16 << 20 // most bytes of a record
	manifestBytes  = 4 << 20
	mostRuns       = 4096
)

// manifest lists the records in the order in which their processes ran.
type manifest struct {
	Format  string   `json:"format"`
	Sides   []side   `json:"sides"`
	Runs    []ranAs  `json:"runs"`
	Figures *figures `json:"figures"`
}

// side is one of the things that are compared.
type side struct {
	Name      string   `json:"name"`      // "a", "b"
	Label     string   `json:"label"`     // "native", "portable", a kernel set, a container
	Arguments []string `json:"arguments"` // of its processes
}

type ranAs struct {
	File   string `json:"file"`
	Side   string `json:"side"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// processRecord is what one process wrote, line by line.
type processRecord struct {
	process processLine
	timings []timingLine
	outputs []outputLine
	receipt receiptLine
}

// The lines of a record; Kind is the first field of each.
type (
	processLine struct {
		Kind        string            `json:"kind"` // "process"
		Format      string            `json:"format"`
		Arguments   []string          `json:"arguments"`
		Environment map[string]string `json:"environment"` // of variables that change what runs
		Program     string            `json:"program"`     // version
		Machine     map[string]any    `json:"machine"`
	}
	timingLine struct {
		Kind        string `json:"kind"`  // "timing"
		Phase       string `json:"phase"` // "prefill", "decode"
		Pass        int    `json:"pass"`
		Discarded   bool   `json:"discarded"` // the warm-up
		Tokens      int64  `json:"tokens"`
		Nanoseconds int64  `json:"nanoseconds"`
	}
	outputLine struct {
		Kind   string  `json:"kind"` // "output"
		Pass   int     `json:"pass"`
		Logits string  `json:"logits_sha256,omitempty"` // of all rows that tokens were chosen from, float32, little-endian; of the warm-up only, since hashing takes time
		Tokens []int32 `json:"tokens"`
	}
	receiptLine struct {
		Kind    string          `json:"kind"` // "receipt"
		Receipt json.RawMessage `json:"receipt"`
		PeakRSS uint64          `json:"peak_rss_bytes"`
	}
)

// recordReceipt is what the figures take from a receipt.
type recordReceipt struct {
	Root    string `json:"root_digest"`
	Threads int    `json:"threads"`
	Kernels map[string]struct {
		Calls uint64 `json:"calls"`
		Bytes uint64 `json:"bytes"`
	} `json:"kernels"`
}

// strict decodes one JSON value that must be spelled as this program spells it, so that a record says one thing only.
func strict(line []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	var again bytes.Buffer
	e := json.NewEncoder(&again)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	if !bytes.Equal(bytes.TrimSuffix(again.Bytes(), []byte("\n")), line) {
		return errors.New("spelled in another way than jns-run does")
	}
	return nil
}

// parseRecord reads what a process wrote.
func parseRecord(b []byte) (*processRecord, error) {
	if len(b) > recordBytes {
		return nil, fmt.Errorf("larger than %d MiB", recordBytes>>20)
	}
	if !bytes.HasSuffix(b, []byte("\n")) {
		return nil, errors.New("cut short: the last line has no end")
	}
	r := &processRecord{}
	lines := bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
	for i, line := range lines {
		var kind struct {
			Kind string `json:"kind"`
		}
		err := json.Unmarshal(line, &kind)
		if err == nil {
			switch want := kind.Kind; {
			case (want == "process") != (i == 0) || (want == "receipt") != (i == len(lines)-1):
				err = fmt.Errorf("a line %q at this place", want)
			case want == "process":
				err = strict(line, &r.process)
			case want == "timing":
				var t timingLine
				err = strict(line, &t)
				r.timings = append(r.timings, t)
			case want == "output":
				var o outputLine
				err = strict(line, &o)
				r.outputs = append(r.outputs, o)
			case want == "receipt":
				err = strict(line, &r.receipt)
			default:
				err = fmt.Errorf("an unknown kind of line, %q", want)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	if r.process.Format != evidenceFormat {
		return nil, fmt.Errorf("format %q, want %q", r.process.Format, evidenceFormat)
	}
	for _, t := range r.timings {
		if t.Tokens < 1 || t.Nanoseconds < 1 {
			return nil, fmt.Errorf("a timing of %d tokens in %d ns", t.Tokens, t.Nanoseconds)
		}
	}
	return r, nil
}

var recordName = regexp.MustCompile(`^\d{4}-[ab]\.jsonl$`)

func recordFile(i int, side string) string { return fmt.Sprintf("%04d-%s.jsonl", i+1, side) }

// writeEvidence writes the directory beside its name and renames it, so that it is there as a whole or not at all. It gives the SHA-256 of the manifest.
func writeEvidence(dir string, m *manifest, records [][]byte) (digest string, err error) {
	if err := vacant(dir); err != nil {
		return "", err
	}
	tmp := filepath.Clean(dir) + output.Suffix
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return "", err
	}
	old, err := os.ReadDir(tmp) // of a run that was killed
	if err != nil {
		return "", err
	}
	for _, f := range old {
		if !recordName.MatchString(f.Name()) && f.Name() != manifestName {
			return "", fmt.Errorf("%s holds %q, which is not from here; move it away", tmp, f.Name())
		}
		if err := os.Remove(filepath.Join(tmp, f.Name())); err != nil {
			return "", err
		}
	}
	var made []string
	defer func() {
		if err != nil { // what was made is taken back, the directory if nothing else is in it
			for _, name := range append(made, tmp) {
				os.Remove(name)
			}
		}
	}()
	write := func(name string, b []byte) error {
		made = append(made, filepath.Join(tmp, name))
		return writeSynced(filepath.Join(tmp, name), b)
	}
	for i, b := range records {
		if err := write(m.Runs[i].File, b); err != nil {
			return "", err
		}
	}
	b, err := encodeManifest(m)
	if err != nil {
		return "", err
	}
	if err := write(manifestName, b); err != nil {
		return "", err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) { // an empty directory, which a rename does not replace everywhere
		return "", err
	}
	if err := os.Rename(tmp, filepath.Clean(dir)); err != nil {
		return "", err
	}
	if d, err := os.Open(filepath.Dir(filepath.Clean(dir))); err == nil {
		_ = d.Sync() // some file systems cannot; the names are then as safe as they make them
		d.Close()
	}
	return hexSum(b), nil
}

// vacant says whether evidence can be written there: nothing is written over.
func vacant(dir string) error {
	st, err := os.Lstat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !st.IsDir():
		return jnscli.Usagef("%s is no directory; name a new one", dir)
	}
	f, err := os.ReadDir(dir)
	if err == nil && len(f) > 0 {
		err = jnscli.Usagef("%s is not empty; name a new directory", dir)
	}
	return err
}

func encodeManifest(m *manifest) ([]byte, error) {
	b, err := json.MarshalIndent(m, "", "  ")
	return append(b, '\n'), err
}

func writeSynced(name string, b []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}

func hexSum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// readEvidence checks a directory: that it holds what its manifest lists and nothing else, that the digests are right, and that the figures follow from the records.
func readEvidence(dir string) (m *manifest, digest string, err error) {
	if st, err := os.Stat(dir); err == nil && !st.IsDir() { // opening a pipe would wait
		return nil, "", fmt.Errorf("%w: %s is no directory; name what bench --evidence was given", errNoEvidence, dir)
	}
	root, err := os.OpenRoot(dir) // no name in it can lead out of it
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", errNoEvidence, err)
	}
	defer root.Close()
	b, err := readRegular(root, manifestName, manifestBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("%w: %s has no %s; name what bench --evidence was given", errNoEvidence, dir, manifestName)
	}
	if err != nil {
		return nil, "", fmt.Errorf("%w: %s: %w", errNoEvidence, dir, err)
	}
	m = &manifest{}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil || m.Format != evidenceFormat {
		return nil, "", fmt.Errorf("%w: %s is no manifest of %s", errNoEvidence, manifestName, evidenceFormat)
	}
	fail := func(format string, args ...any) (*manifest, string, error) {
		return nil, "", fmt.Errorf("%w: %w", errEvidence, fmt.Errorf(format, args...))
	}
	if again, err := encodeManifest(m); err != nil || !bytes.Equal(again, b) {
		return fail("%s is spelled in another way than jns-run does", manifestName)
	}
	if len(m.Runs) > mostRuns {
		return fail("%d runs, at most %d can be read", len(m.Runs), mostRuns)
	}
	if err := m.order(); err != nil {
		return fail("%w", err)
	}
	names, err := names(root)
	if err != nil {
		return nil, "", err
	}
	want := []string{manifestName}
	var records []*processRecord
	for i, r := range m.Runs {
		if r.File != recordFile(i, r.Side) {
			return fail("run %d has the file %q, want %s", i+1, r.File, recordFile(i, r.Side))
		}
		want = append(want, r.File)
		b, err := readRegular(root, r.File, recordBytes)
		if err != nil {
			return fail("%w", err)
		}
		if int64(len(b)) != r.Bytes || hexSum(b) != r.SHA256 {
			return fail("%s: %d bytes with SHA-256 %s, the manifest says %d with %s", r.File, len(b), hexSum(b), r.Bytes, r.SHA256)
		}
		rec, err := parseRecord(b)
		if err != nil {
			return fail("%s: %w", r.File, err)
		}
		if k := slices.IndexFunc(m.Sides, func(s side) bool { return s.Name == r.Side }); !slices.Equal(rec.process.Arguments, m.Sides[k].Arguments) {
			return fail("%s was run with %q, its side with %q", r.File, rec.process.Arguments, m.Sides[k].Arguments)
		}
		records = append(records, rec)
	}
	slices.Sort(want)
	if !slices.Equal(names, want) {
		return fail("the directory holds %q, the manifest lists %q", names, want)
	}
	f, err := figure(m.Runs, records)
	if err != nil {
		return fail("%w", err)
	}
	stated, err1 := json.MarshalIndent(m.Figures, "", " ")
	computed, err2 := json.MarshalIndent(f, "", " ")
	if err := errors.Join(err1, err2); err != nil {
		return nil, "", err
	}
	said, found := bytes.Split(stated, []byte("\n")), bytes.Split(computed, []byte("\n"))
	for i := range max(len(said), len(found)) {
		if i >= len(said) || i >= len(found) {
			return fail("the manifest has %d lines of figures, the records give %d", len(said), len(found))
		}
		if !bytes.Equal(said[i], found[i]) {
			return fail("line %d of the figures is %q in the manifest, but the records give %q", i+1, bytes.TrimSpace(said[i]), bytes.TrimSpace(found[i]))
		}
	}
	return m, hexSum(b), nil
}

// order checks sides and the order of runs: one side alone, or blocks of a b b a.
func (m *manifest) order() error {
	var sides []string
	for _, s := range m.Sides {
		sides = append(sides, s.Name)
	}
	pattern := map[string]string{"a": "a", "a,b": "abba"}[strings.Join(sides, ",")]
	if pattern == "" || len(m.Runs) == 0 || len(m.Runs)%len(pattern) != 0 {
		return fmt.Errorf("sides %q with %d runs", sides, len(m.Runs))
	}
	for i, r := range m.Runs {
		if want := pattern[i%len(pattern)]; r.Side != string(want) {
			return fmt.Errorf("run %d is of side %q, the order asks for %q", i+1, r.Side, want)
		}
	}
	return nil
}

// names lists a directory, up to one more than evidence can have.
func names(root *os.Root) ([]string, error) {
	d, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	all, err := d.Readdirnames(mostRuns + 2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	slices.Sort(all)
	return all, nil
}

// readRegular reads a file that is no link, pipe or device and no larger than it may be.
func readRegular(root *os.Root, name string, most int64) ([]byte, error) {
	i, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !i.Mode().IsRegular() || i.Size() > most {
		return nil, fmt.Errorf("%s: %s of %d bytes; a file of at most %d MiB is expected", name, i.Mode().Type(), i.Size(), most>>20)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%s grew beyond %d MiB", name, most>>20)
	}
	return b, err
}
