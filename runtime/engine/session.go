package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"jns/runtime/internal/exec"
	"jns/runtime/internal/kv"
)

// Session is one conversation: the tokens seen so far and their keys and values.
type Session struct {
	e      *Engine
	cache  *kv.Cache
	tokens []int32
	chosen int32 // the token chosen to follow them, which has not been computed; −1: none
	batch  exec.Batch
}

// NewSession makes an empty session.
func (e *Engine) NewSession() *Session {
	e.mapped.Do(e.mapAhead)
	return &Session{e: e, cache: e.model.Store().NewCache(e.room), chosen: -1}
}

// raise says how a session gets more room.
func (e *Engine) raise() string {
	if e.room < e.opts.Context {
		return "grant more with --memory, or use --kv q8_0 or a --ctx"
	}
	return "raise it with --ctx"
}

// SessionBytes is the memory that keys, values and states of a session of so many tokens take at most; KVLimit what there is of it for all sessions, 0: no limit. Marks are not counted:
// they make way.
func (e *Engine) SessionBytes(tokens int) uint64 {
	return kvBytes(e.c.Program, e.opts, min(tokens, e.room))
}

// KVLimit is described with SessionBytes.
func (e *Engine) KVLimit() uint64 { return e.model.Store().Limit() }

// Close gives the session's memory back to the engine.
func (s *Session) Close() { s.cache.Close(); s.tokens = nil }

// Tokens are the tokens seen so far; the caller must not change them.
func (s *Session) Tokens() []int32 { return s.tokens }

// Pending is the token that a generation has chosen last and not gone on from; there may be none.
func (s *Session) Pending() []int32 {
	if s.chosen < 0 {
		return nil
	}
	return []int32{s.chosen}
}

// Ended says that the token chosen last ends a text: what would be generated after it is no part of an answer.
func (s *Session) Ended() (bool, error) {
	if s.chosen < 0 || !s.e.HasVocab() {
		return false, nil
	}
	return s.e.isEOG(s.chosen)
}

// Room is the number of tokens that still fit.
func (s *Session) Room() int { return s.cache.Limit() - s.cache.Len() }

// Bytes is the memory of the keys and values that the session holds, shared with forks or not.
func (s *Session) Bytes() int { return s.cache.Bytes() }

// Truncate forgets all but the first n tokens. It fails where a window or a recurrent state has gone past n and no mark was set there; see Reach.
func (s *Session) Truncate(n int) error {
	if err := s.cache.Truncate(n); err != nil {
		return err
	}
	if n < len(s.tokens) {
		s.chosen = -1
	}
	s.tokens = s.tokens[:n]
	return nil
}

// Reach is the largest number of tokens, at most n, to which the session can be truncated: n itself where every position is kept, else that of a mark before.
func (s *Session) Reach(n int) int { return s.cache.Reach(n) }

// Reuse prepares the session for a prompt: it keeps what the prompt and the tokens seen so far have in common, forgets the rest, and returns the tokens that are
// left to be computed (at least one). Where a window or a recurrent state has gone past the first difference, it goes back to the last mark before it.
func (s *Session) Reuse(prompt []int32) ([]int32, error) {
	n := 0
	for n < len(prompt)-1 && n < len(s.tokens) && prompt[n] == s.tokens[n] {
		n++
	}
	n, err := s.cut(n)
	return prompt[n:], err
}

// cut truncates to n tokens or as many before as can be reached, and gives their number.
func (s *Session) cut(n int) (int, error) {
	for {
		n = s.Reach(n)
		err := s.Truncate(n)
		if !errors.Is(err, kv.ErrGone) { // another session's need of memory may have taken the mark meanwhile
			return n, err
		}
	}
}

// Fork makes a session that has seen the same tokens; memory is shared until one of the two goes on.
func (s *Session) Fork() *Session {
	return &Session{e: s.e, cache: s.cache.Fork(), tokens: append([]int32(nil), s.tokens...), chosen: s.chosen}
}

// Eval computes tokens in batches. For each token whose logits are wanted it calls each(i, logits), i counting tokens; logits (Vocab values) are valid during the call.
// want nil means the last token only.
func (s *Session) Eval(ctx context.Context, tokens []int32, want func(i int) bool, each func(i int, logits []float32) error) error {
	if s.e.Embeds() {
		return ErrNoLogits
	}
	return s.eval(ctx, tokens, want, each)
}

// eval is Eval for whatever the results are.
func (s *Session) eval(ctx context.Context, tokens []int32, want func(i int) bool, each func(i int, result []float32) error) error {
	e := s.e
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return ErrClosed
	}
	if n := s.cache.Limit() - s.cache.Len(); len(tokens) > n {
		return fmt.Errorf("%w: %d tokens, %d of %d positions left (%s)", kv.ErrFull, len(tokens), n, s.cache.Limit(), e.raise())
	}
	for i, t := range tokens {
		if t < 0 || int(t) >= e.Vocab() {
			return fmt.Errorf("%w: token %d of the prompt is %d, the vocabulary has %d tokens", ErrOption, i, t, e.Vocab())
		}
	}
	for from := 0; from < len(tokens); {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(len(tokens)-from, e.model.Rows(), s.cache.UntilMark())
		before := s.cache.Len()
		first, err := s.cache.Extend(n)
		if err != nil {
			return err
		}
		s.batch = s.batch[:0]
		for i, t := range tokens[from : from+n] {
			k := from + i
			wanted := k == len(tokens)-1
			if want != nil {
				wanted = want(k)
			}
			s.batch = append(s.batch, exec.Row{Token: t, Cache: s.cache, Pos: first + i, Logits: wanted && each != nil})
		}
		e.model.Until(nil)
		if n > 1 { // a single row is done sooner than its state could be made anew
			e.model.Until(ctx.Done())
		}
		start := time.Now()
		err = e.model.Run(s.batch)
		if e.stream != nil {
			e.stream.cache.Ran(time.Since(start))
		}
		if errors.Is(err, exec.ErrStopped) {
			err = ctx.Err()
		}
		if err = e.ran(err); err != nil {
			_, back := s.cut(before)
			return errors.Join(err, back)
		}
		s.tokens, s.chosen = append(s.tokens, tokens[from:from+n]...), -1
		k := 0
		for i := range s.batch {
			if !s.batch[i].Logits {
				continue
			}
			l, err := e.model.Logits(k)
			if err != nil {
				return fmt.Errorf("position %d: %w", s.batch[i].Pos, err)
			}
			if err := each(from+i, l); err != nil {
				return err
			}
			k++
		}
		s.cache.Slide()
		if s.cache.Due() {
			s.cache.Mark()
		}
		from += n
	}
	return nil
}
