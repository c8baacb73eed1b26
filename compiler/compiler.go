package compiler

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"jns/compiler/internal/arch"
	"jns/compiler/internal/gguf"
	"jns/compiler/internal/lower"
	"jns/compiler/internal/pack"
	"jns/compiler/internal/plan"
	"jns/compiler/internal/provenance"
	"jns/compiler/internal/vocab"
	"jns/format"
	"jns/format/routing"
)

// Report says what Compile made.
type Report struct {
	*Explanation
	Output  string        // path of the container
	Bytes   uint64        // its size
	Root    [32]byte      // its root digest
	Source  []string      // paths of the source's files
	Elapsed time.Duration // wall time
}

// Compile makes a container of a model. The file appears under its name only when it is complete and on disk; on any error,
// and when ctx ends, nothing is left. The report's paths are not in the container.
func Compile(ctx context.Context, opt Options) (rep *Report, err error) {
	start := time.Now()
	b := &build{opt: opt}
	if err := b.inventory(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.set.Close()) }()
	if err := b.lower(); err != nil {
		return nil, err
	}
	if err := b.plan(); err != nil {
		return nil, err
	}
	if opt.makesDir() {
		if err := os.MkdirAll(opt.Output, 0o777); err != nil {
			return nil, err
		}
	}
	out, err := createOutput(opt.output(b.target), b.set)
	if err != nil {
		return nil, err
	}
	defer out.discard()
	if err := b.pack(ctx, out.f); err != nil {
		return nil, err
	}
	if err := b.seal(ctx, out.f); err != nil {
		return nil, err
	}
	if err := out.commit(); err != nil {
		return nil, err
	}
	rep = &Report{Explanation: b.explanation(), Output: out.path, Bytes: b.laid.Length, Root: b.root, Elapsed: time.Since(start)}
	for _, f := range b.set.Files {
		rep.Source = append(rep.Source, f.Path)
	}
	return rep, nil
}

// Explain says what Compile would make, without reading weights or writing anything.
func Explain(opt Options) (ex *Explanation, err error) {
	b := &build{opt: opt}
	if err := b.inventory(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.set.Close()) }()
	if err := b.lower(); err != nil {
		return nil, err
	}
	if err := b.plan(); err != nil {
		return nil, err
	}
	return b.explanation(), nil
}

// build is one compilation; each stage fills in what the next one needs.
type build struct {
	opt    Options
	target plan.Target

	// inventory
	profile   *routing.Trace // nil: none
	asFound   []uint32       // order of experts that a container has which is compiled again; nil: the table's
	set       *gguf.Set
	graph     *arch.Graph
	tokenizer []byte
	vocab     vocab.Facts
	template  string

	// lower
	program *format.Program

	// plan
	items []plan.Item
	tiles *plan.Plan
	laid  *format.Laid

	// seal
	root [32]byte
}

// inventory reads what the source has: metadata, tensors, vocabulary, and the architecture's graph over them.
func (b *build) inventory() (err error) {
	if b.target, err = b.opt.target(); err != nil {
		return err
	}
	if b.opt.Profile != "" {
		if b.profile, err = readProfile(b.opt.Profile); err != nil {
			return err
		}
	}
	if b.set, err = gguf.Open(b.opt.Source); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", b.opt.Source, err), b.set.Close())
		}
	}()
	return b.read()
}

// read is the part of the inventory that needs only an open source.
func (b *build) read() (err error) {
	if len(b.set.Tensors) == 0 {
		return b.readVocabularyOnly()
	}
	if b.graph, err = arch.Build(b.set, arch.Options{KeepUnknown: b.opt.KeepUnknown}); err != nil {
		return err
	}
	return b.readVocabulary()
}

// readVocabulary makes the tokenizer section and reads the chat template.
func (b *build) readVocabulary() (err error) {
	if b.tokenizer, b.vocab, err = vocab.Build(b.set); err != nil {
		return err
	}
	if uint64(b.vocab.Tokens) > uint64(b.graph.Vocab) {
		return fmt.Errorf("%w: the vocabulary has %d tokens, token_embd.weight only %d rows", ErrCorrupt, b.vocab.Tokens, b.graph.Vocab)
	}
	b.template, err = chatTemplate(b.set, b.graph.Output >= format.OutputScoreFirst)
	return err
}

// readVocabularyOnly is read for a source without tensors: it becomes a container that can only tokenize. Its architecture does not matter, since nothing of it is used.
func (b *build) readVocabularyOnly() (err error) {
	if b.tokenizer, b.vocab, err = vocab.Build(b.set); err != nil {
		return err
	}
	if b.vocab.Tokens == 0 {
		return fmt.Errorf("%w: the file has neither tensors nor a vocabulary", ErrCorrupt)
	}
	b.graph = &arch.Graph{Arch: text(b.set, "general.architecture"), Vocab: uint32(b.vocab.Tokens)}
	b.template, err = chatTemplate(b.set, false)
	return err
}

// lower makes the program.
func (b *build) lower() (err error) {
	if len(b.set.Tensors) == 0 {
		b.program = &format.Program{Vocab: b.graph.Vocab}
		return nil
	}
	index := make(map[*gguf.Tensor]uint32, len(b.set.Tensors))
	for i, t := range b.set.Tensors {
		index[t] = uint32(i)
	}
	b.program, err = lower.Lower(b.graph, index)
	return err
}

// plan decides what every tensor becomes and lays out the file.
func (b *build) plan() (err error) {
	b.items = items(b.set, b.graph)
	if b.tiles, err = plan.Make(b.items, b.target); err != nil {
		return err
	}
	order, err := b.order()
	if err != nil {
		return err
	}
	files, shards, err := provenance.Sources(b.set)
	if err != nil {
		return err
	}
	d := &format.Draft{
		Target: b.target.Name, TunedFor: tunedFor(b.target),
		Model:    b.facts(),
		Compiler: format.Compiler{Name: compilerName, Revision: OutputRevision, Options: b.recipe().String()},
		Source:   shards, SourceFiles: files,
		Tokenizer: b.tokenizer, Template: []byte(b.template), Program: b.program,
		Tensors: b.tiles.Tensors, Slots: b.tiles.Slots, Order: order,
	}
	if b.laid, err = format.Lay(d); err != nil {
		return err
	}
	if err := checkProgram(b.program, format.TensorList(b.tiles.Tensors)); err != nil { // there is no container yet that could be corrupt
		return fmt.Errorf("%w: the model leads to what no program can be: %v", ErrUnsupported, err)
	}
	return nil
}

// pack writes the weights, and meanwhile computes the digests of the source's files.
func (b *build) pack(ctx context.Context, f *os.File) error {
	if err := f.Truncate(int64(b.laid.Length)); err != nil {
		return err
	}
	d := b.laid.Draft
	report := newMeter(b.opt.Progress, "pack", b.sourceBytes())
	sums := provenance.Start(ctx, b.set, d.Source)
	err := pack.Run(ctx, &pack.Input{
		Source: b.set, Items: b.items, Tensors: d.Tensors, Slots: d.Slots, Layouts: b.tiles.Layouts, Length: int64(b.laid.Length),
		Workers: b.opt.Workers, Progress: report.add,
	}, f)
	if err := errors.Join(err, sums.Wait(err == nil)); err != nil {
		return err
	}
	// Headers, gaps, weights and digests were read one after the other: they belong together only if the files stayed what they were.
	return b.set.Unchanged()
}

// seal computes the digests of what was packed and writes everything else.
func (b *build) seal(ctx context.Context, f *os.File) (err error) {
	report := newMeter(b.opt.Progress, "seal", b.slotBytes())
	b.root, err = format.Seal(ctx, f, b.laid, format.SealOptions{Workers: b.opt.Workers, Progress: report.at})
	return err
}

func (b *build) sourceBytes() (n uint64) {
	for _, t := range b.set.Tensors {
		n += t.Size
	}
	return n
}

func (b *build) slotBytes() (n uint64) {
	for _, s := range b.laid.Draft.Slots {
		n += s.Length
	}
	return n
}

// items lists the source's tensors with what the graph does with them.
func items(set *gguf.Set, g *arch.Graph) []plan.Item {
	out := make([]plan.Item, 0, len(set.Tensors))
	rows := make([]uint32, len(set.Files))
	for _, t := range set.Tensors {
		u := g.Uses[t]
		it := plan.Item{Tensor: t, Index: rows[t.Shard], Layer: u.Layer, Order: u.Order, Part: u.Part, Asked: u.Unknown}
		rows[t.Shard]++
		for _, r := range []struct {
			role arch.Role
			use  plan.Use
		}{
			{arch.RoleRows, plan.UseRows}, {arch.RoleMatrix, plan.UseMatrix}, {arch.RoleVector, plan.UseVector},
			{arch.RoleExperts, plan.UseExperts}, {arch.RoleAside, plan.UseAside},
		} {
			if u.Roles&r.role != 0 {
				it.Use |= r.use
			}
		}
		out = append(out, it)
	}
	return out
}
