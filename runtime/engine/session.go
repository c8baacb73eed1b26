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
	batch  exec.Batch
}

// NewSession makes an empty session.
func (e *Engine) NewSession() *Session {
	return &Session{e: e, cache: e.model.Store().NewCache(e.opts.Context)}
}

// Close gives the session's memory back to the engine.
func (s *Session) Close() { s.cache.Close(); s.tokens = nil }

// Tokens are the tokens seen so far; the caller must not change them.
func (s *Session) Tokens() []int32 { return s.tokens }

// Room is the number of tokens that still fit.
func (s *Session) Room() int { return s.cache.Limit() - s.cache.Len() }

// Bytes is the memory of the keys and values that the session holds, shared with forks or not.
func (s *Session) Bytes() int { return s.cache.Bytes() }

// Truncate forgets all but the first n tokens.
func (s *Session) Truncate(n int) error {
	if err := s.cache.Truncate(n); err != nil {
		return err
	}
	s.tokens = s.tokens[:n]
	return nil
}

// Reuse prepares the session for a prompt: it keeps what the prompt and the tokens seen so far have in common, forgets the rest, and returns the tokens that are
// left to be computed (at least one). When a window has dropped what would be needed, it starts again.
func (s *Session) Reuse(prompt []int32) ([]int32, error) {
	n := 0
	for n < len(prompt)-1 && n < len(s.tokens) && prompt[n] == s.tokens[n] {
		n++
	}
	err := s.Truncate(n)
	if errors.Is(err, kv.ErrGone) {
		n, err = 0, s.Truncate(0)
	}
	return prompt[n:], err
}

// forget undoes a batch that failed: what it stored from position n on is dropped, or all of it where a recurrent state cannot go back.
func (s *Session) forget(n int) error {
	err := s.Truncate(n)
	if errors.Is(err, kv.ErrGone) {
		err = s.Truncate(0)
	}
	return err
}

// Fork makes a session that has seen the same tokens; memory is shared until one of the two goes on.
func (s *Session) Fork() *Session {
	return &Session{e: s.e, cache: s.cache.Fork(), tokens: append([]int32(nil), s.tokens...)}
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
		return fmt.Errorf("%w: %d tokens, %d of %d positions left (raise it with --ctx)", kv.ErrFull, len(tokens), n, s.cache.Limit())
	}
	for from := 0; from < len(tokens); {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(len(tokens)-from, e.model.Rows())
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
		start := time.Now()
		err = e.model.Run(s.batch)
		if e.stream != nil {
			e.stream.cache.Ran(time.Since(start))
		}
		if err = e.ran(err); err != nil {
			return errors.Join(err, s.forget(before))
		}
		s.tokens = append(s.tokens, tokens[from:from+n]...)
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
		from += n
	}
	return nil
}
