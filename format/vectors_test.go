package format_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"jns/format"
	"jns/format/check"
	"jns/format/formattest"
)

// A vector is a text file that gives a container's bytes and the verdict that every reader must come to; testdata/vectors/README.md describes the form.
// The list below makes them; the test reads the files, so that a change of behaviour shows as a difference of files.
type vector struct {
	name, about string
	change      func(m formattest.Memory) formattest.Memory
}

// reseal is a change after which digests are made right again.
func reseal(change func(m formattest.Memory, at func(format.SectionKind) uint64)) func(formattest.Memory) formattest.Memory {
	return func(m formattest.Memory) formattest.Memory {
		change(m, func(k format.SectionKind) uint64 { return sectionOf(m, k).Offset })
		if err := formattest.Reseal(m); err != nil {
			panic(err)
		}
		return m
	}
}

// rehead changes the header and makes its digest right again, whatever it says.
func rehead(change func(h []byte)) func(formattest.Memory) formattest.Memory {
	return func(m formattest.Memory) formattest.Memory {
		h := m[:format.HeaderSize]
		change(h)
		clear(h[4064:])
		d := sha256.Sum256(h)
		copy(h[4064:], d[:])
		return m
	}
}

func sectionOf(m formattest.Memory, k format.SectionKind) format.Section {
	h, err := format.DecodeHeader(m)
	if err != nil {
		panic(err)
	}
	toc, err := format.DecodeTOC(m[h.TOCOffset : h.TOCOffset+h.TOCLength])
	if err != nil {
		panic(err)
	}
	for _, s := range toc.Sections {
		if s.Kind == k {
			return s
		}
	}
	panic("no section " + k.String())
}

func put32(m formattest.Memory, at uint64, v uint32) { binary.LittleEndian.PutUint32(m[at:], v) }
func put64(m formattest.Memory, at uint64, v uint64) { binary.LittleEndian.PutUint64(m[at:], v) }

type place2 = func(format.SectionKind) uint64

func vectors() []vector {
	plain := func(change func(m formattest.Memory)) func(formattest.Memory) formattest.Memory {
		return func(m formattest.Memory) formattest.Memory { change(m); return m }
	}
	const tensors, slots, program = format.SectionTensors, format.SectionSlots, format.SectionProgram
	return []vector{
		{"good", "a sound container", func(m formattest.Memory) formattest.Memory { return m }},
		{"magic-gguf", "the first bytes of a GGUF", plain(func(m formattest.Memory) { copy(m, "GGUF\x03\x00\x00\x00") })},
		{"magic-foreign", "the first bytes of the other format called JNS", plain(func(m formattest.Memory) { copy(m, "JANASLLM\x03\x00\x00\x00") })},
		{"header-flip", "one bit of the target's name", plain(func(m formattest.Memory) { m[72] ^= 1 })},
		{"header-digest-flip", "one bit of the root digest", plain(func(m formattest.Memory) { m[4095] ^= 1 })},
		{"header-version-minor", "version 1.2", rehead(func(h []byte) { h[10] = 2 })},
		{"header-version-order", "version 1.1, although no expert lies out of the table's order", rehead(func(h []byte) { h[10] = 1 })},
		{"header-version-major", "version 2.0", rehead(func(h []byte) { h[8] = 2 })},
		{"header-reserved", "a reserved byte is set, digest right", rehead(func(h []byte) { h[2000] = 1 })},
		{"header-target-gap", "a byte after the end of the target's name, digest right", rehead(func(h []byte) { h[100] = 'x' })},
		{"header-length", "the file is one byte longer than the header says", func(m formattest.Memory) formattest.Memory { return append(m, 0) }},
		{"header-layout-missing", "a tensor's layout is not listed", rehead(func(h []byte) { put32(h, 136, 0); h[140], h[141] = 0, 0 })},
		{"truncated", "the last byte is missing", func(m formattest.Memory) formattest.Memory { return m[:len(m)-1] }},
		{"truncated-header", "the file ends in the header", func(m formattest.Memory) formattest.Memory { return m[:1000] }},
		{"empty", "a file of no bytes", func(m formattest.Memory) formattest.Memory { return m[:0] }},
		{"toc-flip", "one bit of the table of contents", plain(func(m formattest.Memory) { m[4100] ^= 1 })},
		{"toc-padding", "a byte after the table of contents", plain(func(m formattest.Memory) { m[65535] = 1 })},
		{"template-flip", "one bit of the template", plain(func(m formattest.Memory) { m[sectionOf(m, format.SectionTemplate).Offset] ^= 1 })},
		{"template-utf8", "the template is not UTF-8", reseal(func(m formattest.Memory, at place2) { m[at(format.SectionTemplate)] = 0xff })},
		{"small-section-padding", "a byte after the template, digests right", reseal(func(m formattest.Memory, _ place2) { m[sectionOf(m, format.SectionTemplate).End()] = 1 })},
		{"weights-flip", "one bit of a weight", plain(func(m formattest.Memory) { m[sectionOf(m, format.SectionLayers).Offset+77] ^= 1 })},
		{"slot-padding", "a byte after a slot", plain(func(m formattest.Memory) { m[sectionOf(m, format.SectionResident).End()] = 1 })},
		{"chunks-flip", "one bit of the list of chunk digests", plain(func(m formattest.Memory) { m[sectionOf(m, format.SectionChunks).Offset] ^= 1 })},
		{"slot-digest", "a slot's digest is wrong, all others right", reseal(func(m formattest.Memory, at place2) { m[at(slots)+64+40] ^= 1 })},
		{"provenance-flip", "one bit of the chain, digests of section and file right", func(m formattest.Memory) formattest.Memory { return lieInProvenance(m) }},
		{"tensor-name-twice", "two tensors of one name", reseal(func(m formattest.Memory, at place2) {
			i := bytes.Index(m[at(format.SectionNames):], []byte("blk.1.attn_q.weight"))
			copy(m[at(format.SectionNames)+uint64(i):], "blk.0.attn_q.weight")
		})},
		{"tensor-name-hole", "a name that does not begin where the one before ends", reseal(func(m formattest.Memory, at place2) { put32(m, at(tensors)+128, 19) })},
		{"tensor-rows-zero", "a tensor without rows", reseal(func(m formattest.Memory, at place2) { put64(m, at(tensors)+24, 0) })},
		{"tensor-outside-slot", "a tensor that ends after its slot", reseal(func(m formattest.Memory, at place2) { put64(m, at(tensors)+72, 1<<20) })},
		{"tensor-bytes-overflow", "tile rows whose product exceeds 64 bits", reseal(func(m formattest.Memory, at place2) { put64(m, at(tensors)+80, 1<<63) })},
		{"tensor-slot-missing", "a tensor in a slot that does not exist", reseal(func(m formattest.Memory, at place2) { put32(m, at(tensors)+52, 999) })},
		{"tensor-class", "a tensor whose class is not that of its slot", reseal(func(m formattest.Memory, at place2) { m[at(tensors)+48] = 2 })},
		{"vector-type", "a vector whose type is not float32", reseal(func(m formattest.Memory, at place2) { put32(m, at(tensors)+16, 1) })},
		{"matrix-without-layout", "a matrix of layout 0 that is not set aside", reseal(func(m formattest.Memory, at place2) { m[at(tensors)+5*128+20], m[at(tensors)+5*128+21] = 0, 0 })},
		{"tensor-not-aligned", "a tensor at an odd offset of its slot", reseal(func(m formattest.Memory, at place2) { put64(m, at(tensors)+72, 4) })},
		{"tensor-overlap", "two tensors over the same bytes", reseal(func(m formattest.Memory, at place2) { put64(m, at(tensors)+128+72, 0) })},
		{"slot-hole", "a slot that does not begin where it must", reseal(func(m formattest.Memory, at place2) {
			put64(m, at(slots)+64, sectionOf(m, format.SectionLayers).Offset+4096)
		})},
		{"slot-order", "slots whose classes are out of order", reseal(func(m formattest.Memory, at place2) { m[at(slots)+16] = 5 })},
		{"slot-reserved", "a reserved byte of a slot is set", reseal(func(m formattest.Memory, at place2) { m[at(slots)+28] = 1 })},
		{"program-not-canonical", "an integer longer than needed", reseal(func(m formattest.Memory, at place2) { m[at(program)+1] = 0x1a })},
		{"program-trailing", "a program that ends before its section", reseal(func(m formattest.Memory, at place2) { m[at(program)] = 0x80 })},
		{"program-unproved", "a vocabulary larger than the table of tokens: sound to read, refused by the program's proof", programWith(func(p *format.Program) { p.Vocab = 65 })},
		{"program-operation-unknown", "an operation that no version so far has", reseal(func(m formattest.Memory, at place2) {
			s := m[at(program):sectionOf(m, program).End()]
			i := bytes.LastIndex(s, []byte{0x83, 0x04, 0x01}) // the last operation: an array of kind 4, version 1, operands
			s[i+1] = 0x17
		})},
	}
}

// programWith is a change of the program; sizes may change, so the container is built anew.
func programWith(change func(p *format.Program)) func(formattest.Memory) formattest.Memory {
	return func(formattest.Memory) formattest.Memory {
		d := formattest.Draft(false)
		change(d.Program)
		m, _, err := formattest.Build(d)
		if err != nil {
			panic(err)
		}
		return m
	}
}

// lieInProvenance changes the chain and makes every digest above it right.
func lieInProvenance(m formattest.Memory) formattest.Memory {
	if err := formattest.ResealWith(m, func() { m[sectionOf(m, format.SectionProvenance).Offset+150] ^= 1 }); err != nil {
		panic(err)
	}
	return m
}

// verdict says what the package makes of a container: opening it, verifying it, proving its program.
func verdict(m formattest.Memory) string {
	size := int64(len(m))
	by, err := "open", error(nil)
	if _, err = format.Open(m, size); err == nil {
		by = "verify"
		_, err = format.Verify(context.Background(), m, size, format.VerifyOptions{Workers: 1})
	}
	if err == nil {
		by = "check"
		c, _ := format.Open(m, size)
		err = check.Program(c.Program, c.Tensors, formattest.Size)
	}
	if err == nil {
		return "ok"
	}
	kind := "other"
	for _, k := range []struct {
		name string
		err  error
	}{{"digest", format.ErrDigest}, {"corrupt", format.ErrCorrupt}, {"magic", format.ErrMagic}, {"version", format.ErrVersion}, {"unsupported", format.ErrUnsupported}} {
		if errors.Is(err, k.err) {
			kind = k.name
			break
		}
	}
	var e *format.Error
	if !errors.As(err, &e) {
		return kind + " " + by
	}
	return fmt.Sprintf("%s %s by %s", kind, e.Section, by)
}

const vectorDir = "testdata/vectors"

func TestVectorsHaveTheirVerdict(t *testing.T) {
	base, _ := formattest.Tiny(false)
	if *update {
		writeVectors(t, base)
	}
	base = readVector(t, filepath.Join(vectorDir, "good.txt"), nil)
	files, err := filepath.Glob(filepath.Join(vectorDir, "*.txt"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), len(vectors()))
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			m := readVector(t, f, base)
			require.Equal(t, expectation(t, f), verdict(m))
		})
	}
}

// The container of format 1.0 that is kept as a vector must come out of this package's writer, byte for byte.
func TestGoodVectorIsWhatTheWriterWrites(t *testing.T) {
	m, _ := formattest.Tiny(false)
	require.True(t, bytes.Equal(readVector(t, filepath.Join(vectorDir, "good.txt"), nil), m))
}

func writeVectors(t *testing.T, base formattest.Memory) {
	require.NoError(t, os.MkdirAll(vectorDir, 0o777))
	for _, v := range vectors() {
		m := v.change(bytes.Clone(base))
		from := base
		if v.name == "good" {
			from = nil
		}
		var b strings.Builder
		fmt.Fprintf(&b, "expect: %s\nabout: %s\nlength: %d\n", verdict(m), v.about, len(m))
		if from != nil {
			b.WriteString("base: good.txt\n")
		}
		b.WriteString("\n")
		writeLines(&b, m, from)
		require.NoError(t, os.WriteFile(filepath.Join(vectorDir, v.name+".txt"), []byte(b.String()), 0o666))
	}
}

// writeLines writes the lines of 32 bytes in which m differs from the base, or from zero.
func writeLines(b *strings.Builder, m, base []byte) {
	at := func(x []byte, i int) []byte {
		line := make([]byte, 32)
		if i < len(x) {
			copy(line, x[i:])
		}
		return line
	}
	for i := 0; i < len(m); i += 32 {
		if line := at(m, i); !bytes.Equal(line, at(base, i)) {
			fmt.Fprintf(b, "%08x %x\n", i, line[:min(32, len(m)-i)])
		}
	}
}

func expectation(t *testing.T, path string) string {
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(b), "\n")
	verdict, ok := strings.CutPrefix(first, "expect: ")
	require.True(t, ok, path)
	return verdict
}

func readVector(t *testing.T, path string, base []byte) formattest.Memory {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	var m formattest.Memory
	head := true
	for s := bufio.NewScanner(f); s.Scan(); {
		line := s.Text()
		if head {
			key, value, _ := strings.Cut(line, ": ")
			switch key {
			case "length":
				n, err := strconv.Atoi(value)
				require.NoError(t, err)
				m = make(formattest.Memory, n)
			case "base":
				copy(m, base)
			case "":
				head = false
			}
			continue
		}
		offset, data, _ := strings.Cut(line, " ")
		at, err := strconv.ParseUint(offset, 16, 32)
		require.NoError(t, err)
		b, err := hex.DecodeString(data)
		require.NoError(t, err)
		copy(m[at:], b)
	}
	return m
}
