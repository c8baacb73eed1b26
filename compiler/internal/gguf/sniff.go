package gguf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// sniffed are beginnings of files that people take for GGUF files, and what to tell them.
var sniffed = []struct{ prefix, what string }{
	{"version https://git-lfs", "a Git LFS pointer; fetch the model itself with `git lfs pull`"},
	{"lmgg", "an old ggml file without a version; convert the model again to GGUF"},
	{"fmgg", "an old ggmf file; convert the model again to GGUF"},
	{"tjgg", "an old ggjt file; convert the model again to GGUF"},
	{"algg", "an old ggla adapter; convert it again to GGUF"},
	{"FUGG", "a byte-swapped GGUF file; convert the model again for little-endian machines"},
	{"PK\x03\x04", "a zip archive, perhaps a PyTorch checkpoint; convert it to GGUF first"},
	{"\x1f\x8b", "a gzip archive; unpack it first"},
	{"\x28\xb5\x2f\xfd", "a zstd archive; unpack it first"},
	{"Entry not found", "a server's message; the download failed, check its address"},
	{"Repository not found", "a server's message; the download failed, check its address"},
	{"Invalid username", "a server's message; the download needs a login"},
	{"Access to model", "a server's message; the download needs a login"},
}

// sniff compares the magic and says what a file is that has another one.
func sniff(r io.ReaderAt, size int64) error {
	if size <= 0 {
		return &Error{Offset: 0, Err: fmt.Errorf("%w: the file is empty", ErrNotGGUF)}
	}
	head := make([]byte, min(size, 512))
	if err := readFull(r, head, 0); err != nil {
		return &Error{Offset: 0, Err: err}
	}
	if bytes.HasPrefix(head, []byte("GGUF")) {
		return nil
	}
	return &Error{Offset: 0, Err: fmt.Errorf("%w: it is %s", ErrNotGGUF, identify(head, size))}
}

func identify(head []byte, size int64) string {
	for _, s := range sniffed {
		if bytes.HasPrefix(head, []byte(s.prefix)) {
			return s.what
		}
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case len(text) > 0 && text[0] == '<':
		return "a web page or XML text; the download went wrong, check its address and login"
	case len(text) > 0 && text[0] == '{':
		return "JSON text, perhaps a server's error message; the download went wrong"
	case len(head) > 8 && head[8] == '{' && binary.LittleEndian.Uint64(head) < uint64(size):
		return "a safetensors file; convert it to GGUF first"
	case bytes.Count(head, []byte{0}) == len(head):
		return "all zeros at its beginning; the download is incomplete"
	}
	return fmt.Sprintf("something that begins with %q", head[:min(len(head), 16)])
}
