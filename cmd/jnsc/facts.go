package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/zeebo/blake3"

	"jns/format"
	"jns/manifests"
)

// digested is a file read once.
type digested struct {
	bytes  int64
	sha256 manifests.Digest
	chunks []manifests.Digest // BLAKE3 of every MiB
}

// digestFile reads a file once and computes what a manifest says of it.
func digestFile(path string) (*digested, error) {
	f, _, err := format.OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d, h, buf := &digested{}, sha256.New(), make([]byte, format.ChunkSize)
	for {
		n, err := io.ReadFull(f, buf)
		if n > 0 {
			h.Write(buf[:n])
			d.chunks = append(d.chunks, blake3.Sum256(buf[:n]))
			d.bytes += int64(n)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	d.sha256 = manifests.Digest(h.Sum(nil))
	return d, nil
}

// containerFacts is what a manifest says of a container, by reading it: digests of file, chunks, chain, sections, table of contents, root.
func containerFacts(path, name string) (*manifests.Container, *format.Container, *os.File, error) {
	d, err := digestFile(path)
	if err != nil {
		return nil, nil, nil, err
	}
	f, k, err := open(path)
	if err != nil {
		return nil, nil, nil, err
	}
	links, err := k.Provenance()
	if err != nil {
		f.Close()
		return nil, nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	c := &manifests.Container{File: name, Bytes: d.bytes, SHA256: d.sha256, Root: k.Root(), TOC: k.Header.TOCDigest, Chunks: d.chunks}
	for _, l := range links {
		c.Chain = append(c.Chain, manifests.Link{Link: l.Kind.String(), SHA256: l.Digest})
	}
	for _, s := range k.TOC.Sections {
		c.Sections = append(c.Sections, manifests.SectionDigest{Section: s.Kind.String(), BLAKE3: s.Digest})
	}
	return c, k, f, nil
}

// memoryFacts is what running a container needs.
func memoryFacts(k *format.Container) *manifests.Memory {
	size := func(kind format.SectionKind) uint64 {
		s, _ := k.Section(kind)
		return s.Length
	}
	p := k.Program
	m := &manifests.Memory{
		Pinned: size(format.SectionResident), Layers: size(format.SectionLayers), Experts: size(format.SectionExperts), Rows: size(format.SectionRows),
		ArenaPerRow: p.PerRow, ArenaFixed: p.Fixed, ArenaPerWorker: p.PerWorker,
	}
	positions := uint64(4096)
	if p.Context > 0 {
		positions = min(positions, uint64(p.Context))
	}
	kv := uint64(0)
	for _, s := range p.States {
		n := 2 * uint64(s.KVHeads) * (uint64(s.KeyDim) + uint64(s.ValDim)) // IEEE half
		if s.Window == 0 {
			m.KVPerPosition += n
			kv += n * positions
		} else {
			kv += n * min(uint64(s.Window), positions)
		}
	}
	m.Required = m.Pinned + m.Layers + 64*p.PerRow + p.Fixed + 4*p.PerWorker + kv
	return m
}
