package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// peerLimit ends a run of the peer that takes too long: with less memory than it needs it may read the same bytes for hours.
const peerLimit = 20 * time.Minute

// other is llama.cpp, with the model's GGUF mapped.
type other struct {
	t       *test
	program string
	gguf    string
	memory  string
	n       int // tokens to decode
}

// rates are tokens per second.
type rates struct{ decode, prompt float64 }

// measure runs it three times, each under the limit and with a cold page cache: its times are differences of runs, so that loading does not count, and what it decodes comes after a
// prompt and a token that fill the page cache.
func (o *other) measure() (r rates, err error) {
	const few = 2
	var took [3]time.Duration
	for i, run := range [][2]int{{few, few}, {few, few + o.n}, {benchPrompt, few}} {
		if took[i], err = o.once(run[0], run[1]); err != nil {
			return r, fmt.Errorf("llama.cpp: %w", err)
		}
	}
	token := (took[1] - took[0]).Seconds() / float64(o.n)
	r.decode = 1 / token
	r.prompt = benchPrompt / ((took[2] - took[0]).Seconds() + token) // two tokens of prompt cost at least what one of the answer does
	if token <= 0 || r.prompt <= 0 {
		return r, fmt.Errorf("llama.cpp: runs of %v: the longer one took less time; give more tokens with -peer-n", took)
	}
	return r, nil
}

func (o *other) once(prompt, n int) (time.Duration, error) {
	tokens := make([]string, prompt)
	for i := range tokens {
		tokens[i] = strconv.Itoa(i * 7919 % int(o.t.shape.voc))
	}
	dropCache(o.gguf)
	// --exact: weights rearranged at load would be anonymous memory, which the limit does not allow.
	c, g, err := o.t.limited(o.memory, o.program, "logits", o.gguf, "--tokens", strings.Join(tokens, ","), "--prompt", strconv.Itoa(prompt), "--generate", strconv.Itoa(n),
		"-o", os.DevNull, "--exact", "-t", "2")
	if err != nil {
		return 0, err
	}
	defer g.remove()
	c.Stderr = os.Stderr
	start := time.Now()
	if err := c.Start(); err != nil {
		return 0, err
	}
	end := time.AfterFunc(peerLimit, func() { c.Process.Kill() })
	defer end.Stop()
	if err := c.Wait(); err != nil {
		return 0, fmt.Errorf("a prompt of %d tokens and %d of answer, after %v: %w", prompt, n, time.Since(start).Round(time.Second), err)
	}
	return time.Since(start), nil
}

// limited is a group with a limit of memory, and a command that runs in it.
func (t *test) limited(memory, name string, args ...string) (*exec.Cmd, *group, error) {
	limit, err := strconv.ParseUint(bytesOf(memory), 10, 64)
	if err != nil {
		return nil, nil, fmt.Errorf("-memory %s: %w", memory, err)
	}
	g, err := newGroup(t.group, limit)
	if err != nil {
		return nil, nil, err
	}
	return g.command(name, args...), g, nil
}
