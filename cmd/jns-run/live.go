package main

import (
	"fmt"
	"io"
	"time"

	jnscli "jns/cmd/internal/cli"
	"jns/runtime/engine"
)

// liveEvery is how often the line is written anew.
const liveEvery = 200 * time.Millisecond

// live is a line on a terminal that tells how a run streams, written over again and again.
type live struct {
	w       io.Writer // nil: nobody looks
	start   time.Time
	last    time.Time
	n       int
	written bool
}

// token counts a token and writes the line if it is time to. stats is asked only then.
func (l *live) token(now time.Time, stats func() *engine.StreamReceipt) {
	if l.w == nil {
		return
	}
	if l.n++; l.n == 1 {
		l.start = now
	}
	if now.Sub(l.last) < liveEvery {
		return
	}
	l.last = now
	rate := 0.0
	if s := now.Sub(l.start).Seconds(); s > 0 {
		rate = float64(l.n-1) / s
	}
	text := fmt.Sprintf("%d tokens, %.1f/s", l.n, rate)
	if r := stats(); r != nil {
		c := r.Cache
		text += fmt.Sprintf("; read %s, waited %.1f of %.1f s; %.1f %% of the experts were there", jnscli.Size(c.Bytes), c.WaitedMS/1000,
			(c.Prompts.RanMS+c.Tokens.RanMS)/1000, 100*c.HitRate)
	}
	fmt.Fprintf(l.w, "\r\x1b[K%s", text)
	l.written = true
}

// end takes the line away.
func (l *live) end() {
	if l.written {
		fmt.Fprint(l.w, "\r\x1b[K")
	}
}
