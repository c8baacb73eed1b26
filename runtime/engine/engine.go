package engine

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"

	"jns/format"
	"jns/format/check"
	"jns/kernels/tile"
	"jns/runtime/internal/chat"
	"jns/runtime/internal/exec"
	"jns/runtime/internal/kv"
	"jns/runtime/internal/sched"
	"jns/runtime/internal/store"
	"jns/runtime/internal/token"
)

// Errors of an engine.
var (
	ErrClosed     = errors.New("engine is closed")
	ErrNoVocab    = errors.New("the model has no vocabulary; use token ids")
	ErrNoTemplate = errors.New("the model has no chat template; use --raw")
	ErrFault      = errors.New("the container cannot be read any more")
	ErrMemory     = kv.ErrMemory // keys and values would take more memory than there is
	ErrPanic      = sched.ErrPanic
)

// Engine is an open container.
type Engine struct {
	opts  Options
	file  *store.File
	c     *format.Container
	crews *crews
	model *exec.Model
	tok   *token.Tokenizer // nil without a vocabulary

	stream *streaming // nil: every weight stays in memory
	room   int        // positions of a session
	memory [][]byte   // of the model
	mapped sync.Once
	ahead  *store.Populating // weights are mapped while the first prompt is prepared

	mu     sync.Mutex // held while the model computes
	closed bool

	shapes   shapeVocab
	chatOnce sync.Once
	chatTmpl *chat.Template
	chatErr  error
}

// ErrNotRegular is wrapped by errors about directories, pipes and devices where a file is wanted.
var ErrNotRegular = store.ErrNotRegular

// OpenRegular opens a file for reading, and nothing else: a pipe would be waited for. Errors name the file; they wrap ErrNotRegular or the system's.
func OpenRegular(path string) (*os.File, os.FileInfo, error) { return store.OpenRegular(path) }

// Open maps a container, checks its small parts, proves its program and binds kernels. Weights are not read.
func Open(path string, o Options) (*Engine, error) {
	file, err := store.Open(path)
	if err != nil {
		return nil, err
	}
	e := &Engine{file: file}
	if err := e.guard(func() error { return e.load(o) }); err != nil {
		e.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return e, nil
}

func (e *Engine) load(o Options) (err error) {
	var looking <-chan surroundings
	if !o.TokenizerOnly {
		looking = look()
	}
	if string(e.file.Bytes(0, 4)) == "GGUF" { // said here with the file's name, which the format does not know
		return fmt.Errorf("%w: this is a GGUF file; compile it first: jnsc compile %s", format.ErrMagic, e.file.Path())
	}
	if e.c, err = format.Open(e.file, e.file.Size()); err != nil {
		return err
	}
	if e.c.Program.VocabularyOnly() || o.TokenizerOnly {
		return e.loadTokenizer(o.TokenizerOnly)
	}
	if e.opts, err = o.resolve(int(e.c.Program.Context)); err != nil {
		return err
	}
	around := <-looking
	if e.crews, err = newCrews(e.opts.Schedule, e.opts.Threads, around); err != nil {
		return err
	}
	e.opts.Threads = e.crews.Workers()
	if err = check.Program(e.c.Program, e.c.Tensors, TileSize); err != nil {
		return err
	}
	if e.Embeds() && o.Batch == 0 {
		e.opts.Batch = min(e.opts.Context, MaxBatch) // a text is computed as a whole
	}
	memory := around.memory
	if o.Memory != 0 {
		memory = o.Memory
	}
	if e.opts.Batch, err = fitBatch(e.c.Program, e.opts, o.Batch != 0, memory); err != nil {
		return err
	}
	if err = e.loadTokenizer(true); err != nil {
		return err
	}
	stream, err := e.openStream(o, memory)
	if err != nil {
		return err
	}
	if o.Verify {
		if err = e.verifyResident(stream); err != nil {
			return err
		}
	}
	if stream != nil {
		e.crews.decide("the first choice: weights are read from disk, whose times would decide")
	} else {
		e.file.LargePages()
		if dir, err := os.UserCacheDir(); err == nil {
			e.crews.remember(filepath.Join(dir, "jns", "pools"), e.Root(), e.opts.Kernels)
		}
	}
	e.model, err = exec.New(exec.Config{Set: e.opts.Kernels, Teams: e.crews, Batch: e.opts.Batch, Context: e.opts.Context, KV8: e.opts.KV == KVQ8, Program: e.c.Program,
		Tensors: e.c.Tensors, Slots: e.c.Slots, Bytes: e.file, Stream: stream, Memory: e.newMemory, Skip: e.stream.skip(o.Skip)})
	if err != nil {
		return err
	}
	e.room = e.opts.Context
	switch {
	case e.stream != nil:
		e.model.Store().SetLimit(max(e.stream.plan.KV, 1))
		e.room = fitContext(e.c.Program, e.opts, e.stream.plan.KV)
	case memory != 0:
		e.model.Store().SetLimit(max(memory-memory/arenaShare, 1))
	}
	return nil
}

// newMemory gives memory for the model's arena and for keys and values: in the heap it would call the collector, before the first token and while tokens are made.
func (e *Engine) newMemory(n int) (b []byte, err error) {
	if b, err = store.Memory(n); err == nil {
		e.memory = append(e.memory, b)
	}
	return b, err
}

// mapAhead begins to map the weights of a model that is about to be run.
func (e *Engine) mapAhead() {
	if e.stream != nil { // the workers need every processor themselves, but what is resident is read from the same disk
		e.model.Extents(func(off, length uint64) {
			if b, err := e.file.Range(off, length); err == nil {
				e.stream.backend.Find(b)
			}
		})
		return
	}
	if e.opts.Threads >= runtime.GOMAXPROCS(0) {
		return // the workers need every processor themselves
	}
	var all []store.Extent
	e.model.Extents(func(off, length uint64) { all = append(all, store.Extent{Off: off, Length: length}) })
	e.ahead = e.file.Populate(all)
}

// loadTokenizer opens the vocabulary. enough says that the caller needs nothing else.
func (e *Engine) loadTokenizer(enough bool) error {
	if b := e.c.Tokenizer(); len(b) > 0 {
		t, err := format.ParseTokenizer(b)
		if err != nil {
			return err
		}
		tok, err := token.New(t)
		if err != nil {
			return err
		}
		if tok.HasText() {
			e.tok = tok
		}
	}
	if !enough {
		return fmt.Errorf("%w: this container holds only a vocabulary; it can be used with: jns-run tokenize", format.ErrUnsupported)
	}
	return nil
}

// TileSize tells the program's verifier how large the tile rows of a layout are.
func TileSize(layout uint16, rows, cols uint64) (tileRows, tileRowBytes uint64, float, ok bool) {
	l, found := tile.ByID(tile.ID(layout))
	if !found || cols == 0 || cols > 1<<31 || cols%uint64(l.Codec.Elems) != 0 {
		return 0, 0, false, false
	}
	return uint64(l.Rows), uint64(l.RowBytes(int(cols))), l.Codec.Float(), true
}

// guard runs f and turns a fault on the mapped file, which means that the file was cut or its device failed, into an error.
func (e *Engine) guard(f func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	defer func() {
		if v := recover(); v != nil {
			if fe := e.fault(v); fe != nil {
				err = fe
				return
			}
			panic(v)
		}
	}()
	return f()
}

// fault recognises a panic that a memory fault in the mapping caused.
func (e *Engine) fault(v any) error {
	f, ok := v.(interface{ Addr() uintptr })
	if !ok {
		return nil
	}
	off, ok := e.file.Offset(f.Addr())
	if !ok {
		return nil
	}
	return fmt.Errorf("%w: %s at offset %d: the file was truncated or its device failed while in use; check it with: jnsc verify: %w",
		ErrFault, e.file.Path(), off, format.ErrCorrupt)
}

// ran turns the error of a region into the caller's: a fault names file and offset, a panic of ours stays one.
func (e *Engine) ran(err error) error {
	if err == nil {
		return nil // before p, which is on the heap
	}
	var p *sched.PanicError
	if !errors.As(err, &p) {
		if re := readError(err); re != nil {
			return re
		}
		return err
	}
	if fe := e.fault(p.Value); fe != nil {
		return fe
	}
	if re := readError(p.Value); re != nil {
		return re
	}
	fmt.Fprintf(os.Stderr, "internal error: %v\n%s\n", p.Value, p.Stack)
	return err
}

// Close ends the workers and unmaps the file. Sessions must not be used afterwards.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	if e.crews != nil {
		e.crews.close()
	}
	var root [32]byte
	if e.c != nil {
		root = e.c.Root()
	}
	e.mapped.Do(func() {}) // none begins from here on
	e.ahead.Stop()
	err := errors.Join(e.stream.close(root), e.file.Close())
	for _, b := range e.memory {
		err = errors.Join(err, store.FreeMemory(b))
	}
	return err
}

// Options are the options in force, defaults filled in. Context is what a session has room for: less than the default where weights are read from disk and the memory does not hold more.
func (e *Engine) Options() Options {
	o := e.opts
	if e.room > 0 {
		o.Context = e.room
	}
	return o
}

// Container gives the open container's header, table of contents and tables.
func (e *Engine) Container() *format.Container { return e.c }

// Vocab is the number of logits of a row.
func (e *Engine) Vocab() int { return int(e.c.Program.Vocab) }

// Root is the container's root digest in hexadecimal.
func (e *Engine) Root() string {
	r := e.c.Root()
	return hex.EncodeToString(r[:])
}

// HasVocab reports whether text can be used.
func (e *Engine) HasVocab() bool { return e.tok != nil }

// Tokenize turns text into ids. special: the tokens that the model puts around a text are added; parse: texts of special tokens in it become those tokens.
func (e *Engine) Tokenize(text string, special, parse bool) (ids []int32, err error) {
	if e.tok == nil {
		return nil, ErrNoVocab
	}
	err = e.guard(func() error {
		ids, err = e.tok.Encode(text, token.Options{AddSpecial: special, ParseSpecial: parse})
		return err
	})
	return ids, err
}

// Detokenize turns ids into text.
func (e *Engine) Detokenize(ids []int32) (text string, err error) {
	if e.tok == nil {
		return "", ErrNoVocab
	}
	err = e.guard(func() error { text = e.tok.Decode(ids); return nil })
	return text, err
}

// isEOG reports whether a token ends generation.
func (e *Engine) isEOG(id int32) (yes bool, err error) {
	err = e.guard(func() error { yes = e.tok.IsEOG(id); return nil })
	return yes, err
}

// HasTemplate reports whether the model brings a chat template.
func (e *Engine) HasTemplate() bool { return e.c.Template() != "" }

// Template gives the model's own chat template, parsed at first use.
func (e *Engine) Template() (*chat.Template, error) {
	e.chatOnce.Do(func() {
		if e.c.Template() == "" {
			e.chatErr = ErrNoTemplate
			return
		}
		e.chatTmpl, e.chatErr = chat.New(e.c.Template())
	})
	return e.chatTmpl, e.chatErr
}
