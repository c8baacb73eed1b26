package engine

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/zeebo/blake3"

	"jns/format"
	"jns/runtime/internal/kv"
)

// A session as a file: all that is needed to go on as if the process had never ended. Little-endian:
//
//	 0  magic      8 bytes, 8a 4a 4e 53 53 0d 0a 1a
//	 8  version    u32, 1
//	12  kv         u32: 0 keys and values are halves, 1 they are in eight bits
//	16  root       32 bytes, the root digest of the container
//	48  long       u32: 1 if rotations have the frequencies of long contexts, where a model has two sets
//	52  chosen     u32: 1 if the last token has been chosen but not computed
//	56  positions  u64, tokens computed
//	64  seed       u64, the sampler's; its place in the sequence of random numbers follows from the number of tokens
//	72  name       u32, its length, at most 255
//	76  note       u32, its length, at most 16 MiB
//	80  name       the model's, for messages
//	    note       the caller's
//	    tokens     positions + chosen times u32
//	    states     as package kv writes them
//	    digest     32 bytes, BLAKE3 of all before
//
// The file is whatever somebody gave us: every length is bounded before memory is taken, every token is in the vocabulary, and nothing is used before the digest fits and
// nothing follows it. Numbers in it are numbers, whichever they are: no address or size follows from them.

var sessionMagic = [8]byte{0x8a, 'J', 'N', 'S', 'S', 0x0d, 0x0a, 0x1a}

const (
	sessionVersion = 1
	sessionHead    = 80
	maxName        = 255
	maxNote        = 16 << 20
)

// Errors of session files.
var (
	ErrSessionFile    = errors.New("damaged, or no session of jns-run; use another file, or remove it")
	ErrSessionVersion = errors.New("a session of another version of jns-run")
	ErrSessionModel   = errors.New("a session of another model")
)

// Saved is what a session file holds beside the session.
type Saved struct {
	Seed uint64
	Note []byte // the caller's, at most 16 MiB
}

// Save writes the session. Equal sessions give equal bytes.
func (s *Session) Save(w io.Writer, x Saved) error {
	if len(x.Note) > maxNote {
		return fmt.Errorf("%w: a session's note of %d MiB, %d at most", ErrOption, len(x.Note)>>20, maxNote>>20)
	}
	e := s.e
	hash := blake3.New()
	both := io.MultiWriter(w, hash)
	le := binary.LittleEndian
	name := e.sessionName()
	root := e.c.Root()
	b := append([]byte(nil), sessionMagic[:]...)
	b = le.AppendUint32(b, sessionVersion)
	b = le.AppendUint32(b, flag(e.opts.KV == KVQ8))
	b = append(b, root[:]...)
	b = le.AppendUint32(b, flag(e.longContext()))
	b = le.AppendUint32(b, flag(s.chosen >= 0))
	b = le.AppendUint64(b, uint64(len(s.tokens)))
	b = le.AppendUint64(b, x.Seed)
	b = le.AppendUint32(b, uint32(len(name)))
	b = le.AppendUint32(b, uint32(len(x.Note)))
	b = append(append(b, name...), x.Note...)
	for _, t := range append(s.tokens[:len(s.tokens):len(s.tokens)], s.Pending()...) {
		b = le.AppendUint32(b, uint32(t))
	}
	if _, err := both.Write(b); err != nil {
		return err
	}
	if err := s.cache.Save(both); err != nil {
		return err
	}
	_, err := w.Write(hash.Sum(nil))
	return err
}

// sessionName is the model's name as a file has it.
func (e *Engine) sessionName() string {
	name := strings.ToValidUTF8(e.c.TOC.Model.Name, "?")
	return name[:min(len(name), maxName)]
}

func flag(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// longContext says whether a rotation takes its frequencies for long contexts.
func (e *Engine) longContext() bool {
	for _, r := range e.c.Program.Ropes {
		if len(r.Long) > 0 && e.opts.Context > int(r.LongFrom) {
			return true
		}
	}
	return false
}

// LoadSession reads a session that Save has written with this container.
func (e *Engine) LoadSession(r io.Reader) (_ *Session, x Saved, err error) {
	if e.model == nil {
		return nil, x, fmt.Errorf("%w: this container computes nothing", format.ErrUnsupported)
	}
	hash := blake3.New()
	in := io.TeeReader(r, hash)
	h, err := e.sessionHead(in)
	if err != nil {
		return nil, x, err
	}
	x.Seed = h.seed
	if x.Note, err = take(in, h.note); err != nil {
		return nil, x, err
	}
	s := &Session{e: e, chosen: -1}
	if s.tokens, err = e.sessionTokens(in, h.positions+int(h.chosen)); err != nil {
		return nil, x, err
	}
	if h.chosen == 1 {
		s.chosen, s.tokens = s.tokens[h.positions], s.tokens[:h.positions]
	}
	if s.cache, err = e.model.Store().Load(in, h.positions, e.room); err != nil {
		if errors.Is(err, kv.ErrSaved) {
			err = fmt.Errorf("%w: %w", ErrSessionFile, err)
		}
		return nil, x, err
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	want := hash.Sum(nil)
	got, err := take(r, len(want))
	if err != nil {
		return nil, x, err
	}
	if string(got) != string(want) {
		return nil, x, fmt.Errorf("%w: its digest is %x, its bytes have %x", ErrSessionFile, got[:8], want[:8])
	}
	if n, err := r.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) {
		return nil, x, fmt.Errorf("%w: bytes follow its end (%v)", ErrSessionFile, err)
	}
	return s, x, nil
}

// sessionFacts are what a head says, once it is known to suit this engine.
type sessionFacts struct {
	chosen    uint32
	positions int
	seed      uint64
	note      int
}

// sessionHead reads the head and the model's name.
func (e *Engine) sessionHead(r io.Reader) (h sessionFacts, err error) {
	b, err := take(r, sessionHead)
	if err != nil {
		return h, err
	}
	le := binary.LittleEndian
	u32 := func(at int) uint32 { return le.Uint32(b[at:]) }
	if [8]byte(b) != sessionMagic {
		return h, fmt.Errorf("%w: it does not begin as one", ErrSessionFile)
	}
	if v := u32(8); v != sessionVersion {
		return h, fmt.Errorf("%w: %d, this one knows %d", ErrSessionVersion, v, sessionVersion)
	}
	eight, long, chosen, positions, nameLen, noteLen := u32(12), u32(48), u32(52), le.Uint64(b[56:]), u32(72), u32(76)
	if eight > 1 || long > 1 || chosen > 1 || positions > MaxContext || nameLen > maxName || noteLen > maxNote {
		return h, fmt.Errorf("%w: a field of its head is out of range", ErrSessionFile)
	}
	name, err := take(r, int(nameLen))
	if err != nil {
		return h, err
	}
	if root := e.c.Root(); [32]byte(b[16:48]) != root {
		return h, fmt.Errorf("%w: it belongs to %q, container %s; this is %q, container %s; use another file, or that container", ErrSessionModel, name, short(b[16:48]), e.c.TOC.Model.Name, short(root[:]))
	}
	if string(name) != e.sessionName() {
		return h, fmt.Errorf("%w: the model's name is %q", ErrSessionFile, name)
	}
	if eight != flag(e.opts.KV == KVQ8) {
		return h, fmt.Errorf("%w: the session's keys and values are %s, not %s; use --kv %[2]s", ErrOption, []string{KVF16, KVQ8}[eight], e.opts.KV)
	}
	if long != flag(e.longContext()) {
		return h, fmt.Errorf("%w: the session was made with another --ctx, for which this model turns positions by other angles", ErrOption)
	}
	if positions > uint64(e.room) {
		return h, fmt.Errorf("%w: the session has %d positions, the context holds %d; %s", ErrOption, positions, e.room, e.raise())
	}
	return sessionFacts{chosen, int(positions), le.Uint64(b[64:]), int(noteLen)}, nil
}

func short(digest []byte) string { return hex.EncodeToString(digest[:8]) }

// sessionTokens reads n tokens.
func (e *Engine) sessionTokens(r io.Reader, n int) ([]int32, error) {
	b, err := take(r, 4*n)
	if err != nil {
		return nil, err
	}
	out := make([]int32, n)
	for i := range out {
		v := binary.LittleEndian.Uint32(b[4*i:])
		if uint64(v) >= uint64(e.Vocab()) {
			return nil, fmt.Errorf("%w: token %d is %d, the vocabulary has %d", ErrSessionFile, i, v, e.Vocab())
		}
		out[i] = int32(v)
	}
	return out, nil
}

// take reads n bytes, a piece at a time: a length that lies takes no more memory than there are bytes.
func take(r io.Reader, n int) ([]byte, error) {
	const piece = 1 << 16
	b := make([]byte, 0, min(n, piece))
	for len(b) < n {
		k := len(b)
		b = append(b, make([]byte, min(n-k, piece))...)
		if _, err := io.ReadFull(r, b[k:]); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				err = fmt.Errorf("%w: it ends too early", ErrSessionFile)
			}
			return nil, err
		}
	}
	return b, nil
}
