package format

import (
	"unicode/utf8"
)

// TOC is the table of contents: the small facts. Tensors and slots have tables of their own.
type TOC struct {
	Model    Model     `cbor:"model"`
	Compiler Compiler  `cbor:"compiler"`
	Source   []Shard   `cbor:"source"`
	Sections []Section `cbor:"sections"`
}

// Model is what a listing of models shows. Nothing of it is needed to run (JNS-15).
type Model struct {
	Name    string `cbor:"name"`
	Vocab   uint32 `cbor:"vocab"`
	Context uint32 `cbor:"context"` // trained context length
	Params  uint64 `cbor:"params"`  // elements of all tensors
	Facts   []Fact `cbor:"facts"`   // other facts of the source (licence, family, quantisation), keys ascending
}

// Fact is a key and its value in words.
type Fact struct {
	_ struct{} `cbor:",toarray"`

	Key, Value string
}

// Compiler identifies what made the container: equal identity, source and target give equal bytes (JNS-16).
type Compiler struct {
	Name     string `cbor:"name"`
	Revision uint32 `cbor:"revision"` // raised by hand when the compiler's output changes
	Options  string `cbor:"options"`  // canonical text
}

// Shard identifies one file of the source.
type Shard struct {
	Length       uint64   `cbor:"length"`
	SHA256       [32]byte `cbor:"sha256"`
	HeaderLength uint64   `cbor:"header"` // up to the end of the tensor table
	HeaderSHA256 [32]byte `cbor:"header_sha256"`
}

// EncodeTOC gives the canonical bytes.
func EncodeTOC(t *TOC) ([]byte, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	b, err := encodeCBOR(t)
	if err != nil {
		return nil, fault("toc", HeaderSize, ErrCorrupt, "%v", err)
	}
	if len(b) > MaxTOC {
		return nil, fault("toc", HeaderSize, ErrCorrupt, "table of contents takes %d bytes, at most %d", len(b), MaxTOC)
	}
	return b, nil
}

// DecodeTOC reads what EncodeTOC wrote; whatever it accepts EncodeTOC gives back byte for byte.
func DecodeTOC(b []byte) (*TOC, error) {
	if len(b) > MaxTOC {
		return nil, fault("toc", HeaderSize, ErrCorrupt, "table of contents takes %d bytes, at most %d", len(b), MaxTOC)
	}
	t := new(TOC)
	if err := decodeCBOR(b, t); err != nil {
		return nil, fault("toc", HeaderSize, ErrCorrupt, "%v", err)
	}
	enc, err := EncodeTOC(t)
	if err != nil {
		return nil, err
	}
	if i := firstDifference(enc, b); i >= 0 {
		return nil, fault("toc", HeaderSize+int64(i), ErrCorrupt, "encoding is not canonical")
	}
	return t, nil
}

func (t *TOC) check() error {
	for i, f := range t.Model.Facts {
		if i > 0 && f.Key <= t.Model.Facts[i-1].Key {
			return fault("toc", HeaderSize, ErrCorrupt, "facts are not in order of their keys at %q", f.Key)
		}
		if !utf8.ValidString(f.Key) || !utf8.ValidString(f.Value) {
			return fault("toc", HeaderSize, ErrCorrupt, "fact %q is not UTF-8", f.Key)
		}
	}
	for _, s := range []string{t.Model.Name, t.Compiler.Name, t.Compiler.Options} {
		if !utf8.ValidString(s) {
			return fault("toc", HeaderSize, ErrCorrupt, "%q is not UTF-8", s)
		}
	}
	if len(t.Source) == 0 { // JNS-17
		return fault("toc", HeaderSize, ErrCorrupt, "no source file is named")
	}
	for i, s := range t.Source {
		if s.HeaderLength > s.Length || s.Length > MaxFile {
			return fault("toc", HeaderSize, ErrCorrupt, "source file %d: header of %d bytes in a file of %d", i, s.HeaderLength, s.Length)
		}
	}
	return nil
}
