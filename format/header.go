package format

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// Magic is the first eight bytes of every container (JNS-10). The first byte is no letter and no UTF-8, the last three show a transfer that changed line
// ends; nothing that begins with a capital J is ours (see foreignMagic).
var Magic = [8]byte{0x89, 'j', 'n', 's', 'c', '\r', '\n', 0x1a}

// Version of the format that this package reads, from 1.0 on (JNS-11). It writes the least that says what there is to say, so that older readers read what they can.
const (
	VersionMajor = 1
	VersionMinor = MinorOrder
)

// Minor versions.
const (
	MinorFirst = 0 // 1.0: first version
	MinorOrder = 1 // 1.1: experts lie in the file in an order of their own, by what a recorded run used together
)

// minorOf is the version that a container with these slots has.
func minorOf(slots Slots) uint16 {
	if byOffset(slots) != nil {
		return MinorOrder
	}
	return MinorFirst
}

// Sizes of the header and of what surrounds it.
const (
	HeaderSize   = 4096
	SectionAlign = 64 << 10 // so that every section can be mapped on pages of 4, 16 and 64 KiB
	SlotAlign    = 4096     // so that a slot is one O_DIRECT read
	TensorAlign  = 64       // of a tensor inside its slot: one cache line, one 512-bit vector
	ChunkSize    = 1 << 20

	maxNameField = 32 // bytes of target and tuned-for, NUL-padded
	maxLayouts   = 128
)

// Header is the fixed block at the start of a container.
type Header struct {
	Major, Minor uint16
	Length       uint64   // of the whole file
	TOCOffset    uint64   // always HeaderSize
	TOCLength    uint64   // without padding
	TOCDigest    [32]byte // SHA-256
	Target       string   // name of the target it was compiled for
	TunedFor     string   // a hint, may be empty
	Layouts      []uint16 // tile layouts used, ascending, without 0
	Digest       [32]byte // SHA-256 of the header with this field zero: the root digest of the container
}

// Byte offsets of the header's fields (JNS-1: little-endian).
const (
	hMagic      = 0
	hMajor      = 8
	hMinor      = 10
	hHeaderSize = 12
	hLength     = 16
	hTOCOffset  = 24
	hTOCLength  = 32
	hTOCDigest  = 40
	hTarget     = 72
	hTunedFor   = 104
	hNLayouts   = 136
	hLayouts    = 140
	hReserved   = hLayouts + 2*maxLayouts // zero up to hDigest
	hDigest     = HeaderSize - 32
)

// EncodeHeader gives the header's bytes. It fills h.Digest.
func EncodeHeader(h *Header) ([]byte, error) {
	b := make([]byte, HeaderSize)
	if !nameField(h.Target) || h.Target == "" || !nameField(h.TunedFor) {
		return nil, fault("header", hTarget, ErrCorrupt, "target %q or tuned-for %q is not 1 to %d bytes of printable ASCII", h.Target, h.TunedFor, maxNameField)
	}
	if len(h.Layouts) > maxLayouts {
		return nil, fault("header", hNLayouts, ErrCorrupt, "%d layouts, at most %d", len(h.Layouts), maxLayouts)
	}
	copy(b, Magic[:])
	binary.LittleEndian.PutUint16(b[hMajor:], h.Major)
	binary.LittleEndian.PutUint16(b[hMinor:], h.Minor)
	binary.LittleEndian.PutUint32(b[hHeaderSize:], HeaderSize)
	binary.LittleEndian.PutUint64(b[hLength:], h.Length)
	binary.LittleEndian.PutUint64(b[hTOCOffset:], h.TOCOffset)
	binary.LittleEndian.PutUint64(b[hTOCLength:], h.TOCLength)
	copy(b[hTOCDigest:], h.TOCDigest[:])
	copy(b[hTarget:], h.Target)
	copy(b[hTunedFor:], h.TunedFor)
	binary.LittleEndian.PutUint32(b[hNLayouts:], uint32(len(h.Layouts)))
	for i, l := range h.Layouts {
		binary.LittleEndian.PutUint16(b[hLayouts+2*i:], l)
	}
	h.Digest = sha256.Sum256(b)
	copy(b[hDigest:], h.Digest[:])
	return b, nil
}

// DecodeHeader reads the first HeaderSize bytes of a file. Whatever it accepts EncodeHeader gives back byte for byte.
func DecodeHeader(b []byte) (*Header, error) {
	if err := checkMagic(b); err != nil {
		return nil, err
	}
	if len(b) < HeaderSize {
		return nil, fault("header", int64(len(b)), ErrCorrupt, "the file ends inside the header: it was cut short, fetch it again")
	}
	b = b[:HeaderSize]
	h := &Header{
		Major:     binary.LittleEndian.Uint16(b[hMajor:]),
		Minor:     binary.LittleEndian.Uint16(b[hMinor:]),
		Length:    binary.LittleEndian.Uint64(b[hLength:]),
		TOCOffset: binary.LittleEndian.Uint64(b[hTOCOffset:]),
		TOCLength: binary.LittleEndian.Uint64(b[hTOCLength:]),
	}
	copy(h.TOCDigest[:], b[hTOCDigest:])
	copy(h.Digest[:], b[hDigest:])

	// JNS-11 and JNS-14: the digest comes before the version, so that a flipped bit is not taken for a new version.
	zeroed := bytes.Clone(b)
	clear(zeroed[hDigest:])
	if sha256.Sum256(zeroed) != h.Digest {
		return nil, fault("header", 0, ErrDigest, "the header's SHA-256 is not the one it carries")
	}
	if h.Major != VersionMajor || h.Minor > VersionMinor {
		return nil, fault("header", hMajor, ErrVersion, "version %d.%d, this program reads 1.0 to %d.%d; use a newer one", h.Major, h.Minor, VersionMajor, VersionMinor)
	}
	if n := binary.LittleEndian.Uint32(b[hHeaderSize:]); n != HeaderSize {
		return nil, fault("header", hHeaderSize, ErrCorrupt, "header size %d, must be %d", n, HeaderSize)
	}
	if h.Length > MaxFile { // JNS-25
		return nil, fault("header", hLength, ErrCorrupt, "a file of %d bytes, at most %d are allowed", h.Length, uint64(MaxFile))
	}
	// JNS-7
	if h.TOCOffset != HeaderSize || h.TOCLength == 0 || h.TOCLength > MaxTOC || h.TOCLength > h.Length-min(h.Length, HeaderSize) {
		return nil, fault("header", hTOCOffset, ErrCorrupt, "table of contents at %d, %d bytes, in a file of %d", h.TOCOffset, h.TOCLength, h.Length)
	}
	h.Target = string(bytes.TrimRight(b[hTarget:hTunedFor], "\x00"))
	h.TunedFor = string(bytes.TrimRight(b[hTunedFor:hNLayouts], "\x00"))
	n := binary.LittleEndian.Uint32(b[hNLayouts:])
	if n > maxLayouts {
		return nil, fault("header", hNLayouts, ErrCorrupt, "%d layouts, at most %d", n, maxLayouts)
	}
	for i := range int(n) { // JNS-13, as far as the header tells
		l := binary.LittleEndian.Uint16(b[hLayouts+2*i:])
		if l == 0 || i > 0 && l <= h.Layouts[i-1] {
			return nil, fault("header", int64(hLayouts+2*i), ErrCorrupt, "layouts are not ascending")
		}
		h.Layouts = append(h.Layouts, l)
	}
	again := *h
	enc, err := EncodeHeader(&again)
	if err != nil {
		return nil, err
	}
	if i := firstDifference(enc, b); i >= 0 { // JNS-2
		return nil, fault("header", int64(i), ErrCorrupt, "a reserved byte is not zero")
	}
	return h, nil
}

// checkMagic tells what a file is when it is not ours (JNS-10).
func checkMagic(b []byte) error {
	if len(b) >= 8 && [8]byte(b[:8]) == Magic {
		return nil
	}
	says := "its first bytes are of no kind that is known here; give a file that jnsc compile wrote"
	switch {
	case len(b) < 8 && bytes.HasPrefix(Magic[:], b):
		return fault("header", int64(len(b)), ErrCorrupt, "the file has only %d bytes: it was cut short, fetch it again", len(b))
	case bytes.HasPrefix(b, []byte("GGUF")):
		says = "this is a GGUF file; compile it first: jnsc compile x.gguf"
	case bytes.HasPrefix(b, []byte("FUGG")):
		says = "this is a big-endian GGUF file; convert it to little-endian GGUF, then: jnsc compile x.gguf"
	case foreignMagic(b):
		says = "this is a JNS v2/v3 file of Janas-LLM, another public format of the same name; get the model as GGUF, then: jnsc compile x.gguf"
	case bytes.HasPrefix(b, []byte("version https://git-lfs")):
		says = "this is a Git LFS pointer, not the file itself; fetch the file (git lfs pull)"
	case bytes.HasPrefix(b, []byte("<!DOCTYPE")), bytes.HasPrefix(b, []byte("<html")), bytes.HasPrefix(b, []byte("<!doctype")):
		says = "this is an HTML page, not a model; the download gave an error page"
	case len(b) >= 8 && b[0] == Magic[0] && bytes.HasPrefix(b[1:], []byte("jnsc\n")), len(b) >= 8 && bytes.HasPrefix(b[1:], []byte("jnsc\r\n")):
		says = "this looks like a JNS container that a text-mode transfer has damaged; transfer it as binary"
	}
	return fault("header", 0, ErrMagic, "%s", says)
}

// foreignMagic recognises the other public format called JNS, that of Janas-LLM: its files begin with the eight letters JANASLLM and a version number,
// 2 or 3. The letters JNS alone are taken for it too, since nothing of ours begins so.
func foreignMagic(b []byte) bool {
	return bytes.HasPrefix(b, []byte("JANASLLM")) || bytes.HasPrefix(b, []byte("JNS"))
}

// nameField says whether s can stand in a field of the header (JNS-12).
func nameField(s string) bool {
	if len(s) > maxNameField {
		return false
	}
	for i := range len(s) {
		if s[i] < 0x21 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// firstDifference gives the index of the first byte in which a and b differ, -1 if they are equal.
func firstDifference(a, b []byte) int {
	if slices.Equal(a, b) {
		return -1
	}
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
