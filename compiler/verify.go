package compiler

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zeebo/blake3"

	"jns/compiler/internal/gguf"
	"jns/compiler/internal/plan"
	"jns/compiler/internal/provenance"
	"jns/compiler/internal/restore"
	"jns/format"
)

// VerifyOptions say what to verify.
type VerifyOptions struct {
	Container string
	Against   string // a GGUF that must be the source; empty: none at hand
	Profile   string // a routing trace that must be the one by which experts lie; empty: none at hand
	Workers   int
	Progress  func(Progress)
}

// Verified says what Verify proved.
type Verified struct {
	Root    [32]byte
	Bytes   uint64
	Tensors int
	Checks  []string // what was proved, in order
	Notes   []string // what could not be, and why
}

// Verify proves a container: every digest and padding byte (package format), the program (package check), that every tensor
// unpacks to the bytes its digest names, and that program, tables, tokenizer and template are what this compiler makes of the
// source section. With Against it also proves that the source has the digests that the container names. Errors wrap
// ErrVerify besides what they found.
func Verify(ctx context.Context, opt VerifyOptions) (*Verified, error) {
	f, size, err := format.OpenFile(opt.Container)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	v := &verifier{opt: opt, out: &Verified{Bytes: uint64(size)}}
	report := newMeter(opt.Progress, "verify", v.out.Bytes)
	if v.c, err = format.Verify(ctx, f, size, format.VerifyOptions{Workers: opt.Workers, Progress: report.at}); err != nil {
		return nil, failed(opt.Container, err)
	}
	v.out.Root, v.out.Tensors = v.c.Root(), v.c.Tensors.Len()
	v.proved("every chunk, slot and section has its digest, all padding is zero")
	if v.set, err = restore.Source(ctx, v.c); err != nil {
		return nil, failed(opt.Container, err)
	}
	for _, step := range []func(context.Context) error{v.program, v.tensors, v.rebuild, v.profile, v.against} {
		if err := step(ctx); err != nil || ctx.Err() != nil {
			return nil, failed(opt.Container, cmp.Or(ctx.Err(), err))
		}
	}
	return v.out, nil
}

// failed is the error of a verification. What could not be read was not verified: the system says why.
func failed(path string, err error) error {
	var unread *fs.PathError
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &unread), errors.Is(err, ErrTrace), errors.Is(err, ErrTraceVersion):
		return fmt.Errorf("%s: %w", path, err)
	}
	return fmt.Errorf("%s: %w: %w", path, ErrVerify, err)
}

type verifier struct {
	opt VerifyOptions
	c   *format.Container
	set *gguf.Set // the source as far as the container holds it plainly
	out *Verified
}

func (v *verifier) proved(text string) { v.out.Checks = append(v.out.Checks, text) }

func (v *verifier) program(context.Context) error {
	if err := checkProgram(v.c.Program, v.c.Tensors); err != nil {
		return err
	}
	v.proved("the program is sound")
	return nil
}

// tensors unpacks every tensor and compares its digest.
func (v *verifier) tensors(ctx context.Context) error {
	workers := v.opt.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		wg.Go(func() {
			for errs[w] == nil && ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= v.c.Tensors.Len() {
					return
				}
				errs[w] = v.tensor(ctx, i)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return err
	}
	v.proved("every tensor unpacks to the source's bytes")
	return nil
}

func (v *verifier) tensor(ctx context.Context, i int) error {
	t := v.c.Tensors.At(i)
	if int(t.Shard) >= len(v.set.Files) || uint64(t.Index) >= uint64(len(v.set.Files[t.Shard].Tensors)) {
		return fmt.Errorf("%w: tensor %q is not in the source's header", format.ErrCorrupt, t.Name)
	}
	h := blake3.New()
	typ := v.set.Files[t.Shard].Tensors[t.Index].Type
	if err := restore.Tensor(v.c, i, typ, func(b []byte, _ uint64) error { h.Write(b); return ctx.Err() }); err != nil {
		return err
	}
	if [32]byte(h.Sum(nil)) != t.Digest {
		return fmt.Errorf("tensor %q does not unpack to the bytes of the source", t.Name)
	}
	return nil
}

// rebuild compiles the source section again, without weights, and compares everything that follows from it.
func (v *verifier) rebuild(ctx context.Context) error {
	if id := v.c.TOC.Compiler; id.Name != compilerName || id.Revision != OutputRevision {
		v.out.Notes = append(v.out.Notes, fmt.Sprintf("made by %s revision %d, this is %s revision %d: program and tokenizer were not rebuilt for comparison",
			id.Name, id.Revision, compilerName, OutputRevision))
		return nil
	}
	var err error
	b := &build{set: v.set}
	if b.target, err = plan.FindTarget(v.c.Header.Target); err != nil {
		return err
	}
	recipe, err := ParseRecipe(v.c.TOC.Compiler.Options)
	if err != nil {
		return err
	}
	b.opt.KeepUnknown = recipe.KeepUnknown
	if recipe.Profile != "" {
		b.asFound = format.DiskOrder(v.c.Slots)
	}
	for _, step := range []func() error{b.read, b.lower, b.plan} {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := step(); err != nil {
			return fmt.Errorf("compiling the source section again: %w", err)
		}
	}
	if err := v.compare(b.laid); err != nil {
		return err
	}
	v.proved("program, tables, tokenizer, template and facts are what this compiler makes of the source section")
	return nil
}

// compare holds a container against the layout that its source section leads to.
func (v *verifier) compare(l *format.Laid) error {
	d := l.Draft
	program, err := format.EncodeProgram(d.Program)
	if err != nil {
		return err
	}
	for _, p := range []struct {
		kind format.SectionKind
		want []byte
	}{{format.SectionProgram, program}, {format.SectionTokenizer, d.Tokenizer}, {format.SectionTemplate, d.Template}} {
		var have []byte
		if _, ok := v.c.Section(p.kind); ok {
			if have, err = v.c.Bytes(p.kind); err != nil {
				return err
			}
		}
		if !bytes.Equal(have, p.want) {
			return fmt.Errorf("section %s is not what the source leads to", p.kind)
		}
	}
	// Digests of contents have been proved on their own; everything else of the tables must agree.
	if v.c.Tensors.Len() != len(d.Tensors) || v.c.Slots.Len() != len(d.Slots) {
		return fmt.Errorf("%d tensors in %d slots, the source leads to %d in %d", v.c.Tensors.Len(), v.c.Slots.Len(), len(d.Tensors), len(d.Slots))
	}
	for i := range d.Tensors {
		want := d.Tensors[i]
		have := v.c.Tensors.At(i)
		if want.Digest = have.Digest; want != have {
			return fmt.Errorf("tensor %q is not placed as the source leads to", have.Name)
		}
	}
	for i := range d.Slots {
		want := d.Slots[i]
		have := v.c.Slots.At(i)
		if want.Digest = have.Digest; want != have {
			return fmt.Errorf("slot %d is not as the source leads to", i)
		}
	}
	if have, want := v.c.TOC.Model, d.Model; have.Name != want.Name || have.Vocab != want.Vocab || have.Context != want.Context || have.Params != want.Params {
		return fmt.Errorf("the model is said to be %q with %d tokens, context %d and %d parameters; the source leads to %q, %d, %d and %d", have.Name, have.Vocab, have.Context, have.Params,
			want.Name, want.Vocab, want.Context, want.Params)
	}
	if !slices.Equal(v.c.TOC.Model.Facts, d.Model.Facts) {
		return fmt.Errorf("the model's facts are not what the source leads to: %q, not %q", factsText(v.c.TOC.Model.Facts), factsText(d.Model.Facts))
	}
	if v.c.Header.TunedFor != d.TunedFor {
		return fmt.Errorf("the container is said to be tuned for %q; target %s is tuned for %q", v.c.Header.TunedFor, d.Target, d.TunedFor)
	}
	for i, s := range d.Source {
		if s.HeaderSHA256 != v.c.TOC.Source[i].HeaderSHA256 {
			return fmt.Errorf("the header of source file %d is not the one that was compiled", i)
		}
	}
	return nil
}

func factsText(fs []format.Fact) string {
	var parts []string
	for _, f := range fs {
		parts = append(parts, f.Key+"="+f.Value)
	}
	return strings.Join(parts, ", ")
}

// profile compares the order of experts with what a profile at hand leads to.
func (v *verifier) profile(context.Context) error {
	r, err := ParseRecipe(v.c.TOC.Compiler.Options)
	switch {
	case v.opt.Profile == "" && (err != nil || r.Profile == ""):
		return nil
	case v.opt.Profile == "":
		v.out.Notes = append(v.out.Notes, fmt.Sprintf("experts lie in an order of their own; that the profile %s leads to it is not proved: give the profile", r.Profile))
		return nil
	case err != nil:
		return err
	}
	if err := profileOrder(v.c, r, v.opt.Profile); err != nil {
		return err
	}
	v.proved(v.opt.Profile + " is the profile, and experts lie as it leads to")
	return nil
}

// against compares the digests of a source at hand.
func (v *verifier) against(ctx context.Context) (err error) {
	if v.opt.Against == "" {
		return nil
	}
	set, err := gguf.Open(v.opt.Against)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	want := v.c.TOC.Source
	if len(set.Files) != len(want) {
		return fmt.Errorf("%s has %d files, the container's source had %d", v.opt.Against, len(set.Files), len(want))
	}
	have := make([]format.Shard, len(want))
	for i, f := range set.Files {
		have[i].Length = f.Size
		if f.Size != want[i].Length {
			return fmt.Errorf("%s has %d bytes, the container's source had %d", f.Path, f.Size, want[i].Length)
		}
	}
	if err := provenance.Start(ctx, set, have).Wait(true); err != nil {
		return err
	}
	for i, f := range set.Files {
		if have[i].SHA256 != want[i].SHA256 {
			return fmt.Errorf("%s has SHA-256 %x, the container's source had %x", f.Path, have[i].SHA256, want[i].SHA256)
		}
	}
	v.proved(v.opt.Against + " is the source")
	return nil
}
