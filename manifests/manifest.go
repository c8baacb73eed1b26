package manifests

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"jns/format"
)

// Errors of this package wrap one of these.
var (
	// ErrManifest: the document is no manifest, or contradicts itself.
	ErrManifest = errors.New("invalid manifest")
	// ErrSignature: a signature is missing, wrong, too old, or by a key that is not trusted.
	ErrSignature = errors.New("signature refused")
	// ErrUnknown: no manifest has the name.
	ErrUnknown = errors.New("no such model")
)

const (
	// MaxManifest bounds a manifest's bytes: the chunk list of a container of 2⁴⁰ bytes fits.
	MaxManifest = 80 << 20
	// Version of the schema.
	Version = 1
)

// Manifest describes one published container.
type Manifest struct {
	Manifest    int       `json:"manifest"` // Version
	Name        string    `json:"name"`     // of the model, lower case
	Target      string    `json:"target"`
	Description string    `json:"description,omitempty"`
	Source      Source    `json:"source"`
	Compiler    Compiler  `json:"compiler"`
	Container   Container `json:"container"`
	Memory      *Memory   `json:"memory,omitempty"`
	Measured    []Measure `json:"measured,omitempty"`
}

// Source is what the container was made from.
type Source struct {
	Repository  string       `json:"repository,omitempty"` // where the files were published
	Revision    string       `json:"revision,omitempty"`
	Licence     string       `json:"licence"`
	Attribution string       `json:"attribution,omitempty"`
	Files       []SourceFile `json:"files"` // the parts of a split model in order
}

// SourceFile is one file of the source.
type SourceFile struct {
	File         string   `json:"file"` // a plain name
	Bytes        int64    `json:"bytes"`
	SHA256       Digest   `json:"sha256"`
	HeaderSHA256 *Digest  `json:"header_sha256,omitempty"` // up to the end of the tensor table
	Chunks       []Digest `json:"blake3_chunks,omitempty"` // of every MiB; without it a damaged download begins anew
	At           []string `json:"at,omitempty"`            // places to fetch it from
}

// Compiler is who made the container. Name, Revision and Options stand in the container too; Version is of the binary and stands only here.
type Compiler struct {
	Name     string `json:"name"`
	Revision uint32 `json:"revision"`
	Options  string `json:"options"`
	Version  string `json:"version,omitempty"`
}

// Container is the published file. Each digest covers what the ones before lead to: chain, sections, table of contents, header (the root), file.
type Container struct {
	File     string          `json:"file"` // a plain name
	Bytes    int64           `json:"bytes"`
	SHA256   Digest          `json:"sha256"`
	Root     Digest          `json:"root_digest"`
	TOC      Digest          `json:"toc_sha256"`
	Chain    []Link          `json:"chain"`
	Sections []SectionDigest `json:"sections"`
	Chunks   []Digest        `json:"blake3_chunks"` // of every MiB of the file from its first byte on, the last one shorter
	At       []string        `json:"at,omitempty"`  // places to fetch it from
}

// Link is one link of the container's chain of provenance.
type Link struct {
	Link   string `json:"link"`
	SHA256 Digest `json:"sha256"`
}

// SectionDigest is what the table of contents says of a section.
type SectionDigest struct {
	Section string `json:"section"`
	BLAKE3  Digest `json:"blake3"`
}

// Memory is what running needs, in bytes.
type Memory struct {
	Pinned         uint64 `json:"pinned"`  // vectors
	Layers         uint64 `json:"layers"`  // dense matrices
	Experts        uint64 `json:"experts"` // of all experts; any part of them may be in memory
	Rows           uint64 `json:"rows,omitempty"`
	ArenaPerRow    uint64 `json:"arena_per_row"`
	ArenaFixed     uint64 `json:"arena_fixed"`
	ArenaPerWorker uint64 `json:"arena_per_worker"`
	KVPerPosition  uint64 `json:"kv_per_position"`
	Required       uint64 `json:"required"` // Pinned, Layers, arena for 64 rows and 4 workers, keys and values of 4096 positions
}

// Measure is one measurement. Ratios compare with Peer on the same machine: 2 means twice as fast.
type Measure struct {
	Machine      string  `json:"machine"`
	Command      string  `json:"command"`
	Kernels      string  `json:"kernels,omitempty"`
	Threads      int     `json:"threads,omitempty"`
	PeakRSS      uint64  `json:"peak_rss,omitempty"`
	PrefillTPS   float64 `json:"prefill_tps,omitempty"`
	DecodeTPS    float64 `json:"decode_tps,omitempty"`
	Peer         string  `json:"peer,omitempty"`
	PrefillRatio float64 `json:"prefill_ratio,omitempty"`
	DecodeRatio  float64 `json:"decode_ratio,omitempty"`
}

// Digest is 32 bytes, spelled as 64 lower-case hexadecimal digits and in no other way.
type Digest [32]byte

// String spells it.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText spells it.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads 64 lower-case hexadecimal digits and refuses everything else.
func (d *Digest) UnmarshalText(b []byte) error {
	p, err := ParseDigest(string(b))
	if err == nil {
		*d = p
	}
	return err
}

// ParseDigest reads 64 lower-case hexadecimal digits and refuses everything else, paths and prefixes included.
func ParseDigest(s string) (d Digest, err error) {
	if len(s) == 64 {
		if _, err := hex.Decode(d[:], []byte(s)); err == nil && d.String() == s {
			return d, nil
		}
	}
	if len(s) > 80 {
		s = s[:80] + "…"
	}
	return Digest{}, fmt.Errorf("%w: %q is no digest; it takes 64 lower-case hexadecimal digits", ErrManifest, s)
}

//go:embed schema.json
var schemaText []byte

var schema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaText))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("manifest.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("manifest.json")
})

// Parse reads a manifest and checks it: against the schema, and that sizes, chunks and names agree. Errors wrap ErrManifest.
func Parse(b []byte) (*Manifest, error) {
	if len(b) > MaxManifest {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrManifest, len(b), MaxManifest)
	}
	if err := distinct(b); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	s, err := schema()
	if err != nil {
		return nil, err
	}
	if err := s.Validate(doc); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrManifest, reason(err))
	}
	m := new(Manifest)
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

// reason shortens a validation error to its innermost causes.
func reason(err error) string {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return err.Error()
	}
	for len(v.Causes) > 0 {
		v = v.Causes[0]
	}
	text := v.Error()
	if i := bytes.LastIndexByte([]byte(text), '\n'); i >= 0 {
		text = text[i+1:]
	}
	if len(text) > 400 {
		text = text[:400] + "…"
	}
	return text
}

// plainName is the name of a file in the directory at hand, on every system.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_+-]*([.][A-Za-z0-9_+-]+)*$`)

// reserved names mean devices on Windows, whatever their extension.
var reserved = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])([.]|$)`)

// PlainName reports whether s can be the name of a file and nothing else: no separator, no leading or double dot, no name of a device.
func PlainName(s string) bool {
	return len(s) <= 160 && plainName.MatchString(s) && !reserved.MatchString(s)
}

func (m *Manifest) check() error {
	c := &m.Container
	if err := checkFile(c.File, c.Bytes, c.Chunks, true); err != nil {
		return err
	}
	seen := map[string]bool{c.File: true}
	for _, f := range m.Source.Files {
		if seen[f.File] {
			return fmt.Errorf("%w: file name %q twice", ErrManifest, f.File)
		}
		seen[f.File] = true
		if err := checkFile(f.File, f.Bytes, f.Chunks, false); err != nil {
			return err
		}
	}
	return nil
}

func checkFile(name string, size int64, chunks []Digest, must bool) error {
	if !PlainName(name) {
		return fmt.Errorf("%w: %q is no plain file name", ErrManifest, name)
	}
	if want := (size + format.ChunkSize - 1) / format.ChunkSize; int64(len(chunks)) != want && (must || len(chunks) > 0) {
		return fmt.Errorf("%w: %s has %d bytes, so %d chunks, but %d are listed", ErrManifest, name, size, want, len(chunks))
	}
	return nil
}

// Encode gives a manifest's bytes, the same for the same manifest. It checks what Parse checks.
func (m *Manifest) Encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(m); err != nil {
		return nil, err
	}
	if _, err := Parse(b.Bytes()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// FileName is what a manifest's own file is called.
func (m *Manifest) FileName() string { return m.Name + "." + m.Target + ".json" }

// Read reads a manifest's bytes, at most MaxManifest of them.
func Read(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxManifest+1))
	if err == nil && len(b) > MaxManifest {
		err = fmt.Errorf("%w: more than %d bytes", ErrManifest, MaxManifest)
	}
	return b, err
}
