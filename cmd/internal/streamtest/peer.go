package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// beside runs llama.cpp on the same model with a mapped file, under the same limit and with a cold page cache, and prints how much faster we are. Its times are differences of two
// runs, so that loading does not count; ours are what the receipt says.
func (t *test) beside(peer, memory string) error {
	if t.group == "" {
		return fmt.Errorf("-peer needs -cgroup: without a limit nothing is larger than memory")
	}
	gguf := filepath.Join(t.dir, "stream-"+t.shape.name+".gguf")
	once := func(prompt, n int) (time.Duration, error) {
		tokens := make([]string, prompt)
		for i := range tokens {
			tokens[i] = strconv.Itoa(i * 7919 % int(t.shape.voc))
		}
		dropCache(gguf)
		// --exact: weights rearranged at load would be anonymous memory, which the limit does not allow.
		c, done, err := t.limited(memory, peer, "logits", gguf, "--tokens", strings.Join(tokens, ","), "--prompt", strconv.Itoa(prompt), "--generate", strconv.Itoa(n), "-o", os.DevNull, "--exact", "-t", "2")
		if err != nil {
			return 0, err
		}
		defer done()
		c.Stderr = os.Stderr
		start := time.Now()
		err = c.Run()
		return time.Since(start), err
	}
	var took [3]time.Duration
	for i, r := range [][2]int{{2, 2}, {2, 8}, {1024, 2}} {
		var err error
		if took[i], err = once(r[0], r[1]); err != nil {
			return fmt.Errorf("llama.cpp: %w", err)
		}
	}
	dropCache(t.model)
	t.prompt, t.n = 1024, 64
	r, err := t.once(memory, "auto", "")
	if err != nil {
		return err
	}
	token := (took[1] - took[0]).Seconds() / 6
	decode, prompt := 1/token, 1024/((took[2]-took[0]).Seconds()+token) // two tokens of prompt cost at least what one of the answer does
	fmt.Printf("--memory %s, batches of %d, tokens/s: decoding %.2f, llama.cpp %.3f: %.1f ×; a prompt of 1024 tokens %.1f, llama.cpp %.2f: %.1f ×\n", memory, r.Receipt.Batch,
		r.Timings.DecodeTPS, decode, r.Timings.DecodeTPS/decode, r.Timings.PrefillTPS, prompt, r.Timings.PrefillTPS/prompt)
	return nil
}

// limited is a command in a control group with a limit of memory.
func (t *test) limited(memory, name string, args ...string) (*exec.Cmd, func(), error) {
	g := filepath.Join(t.group, "stream-test")
	if err := os.MkdirAll(g, 0o755); err != nil {
		return nil, nil, err
	}
	if err := os.WriteFile(filepath.Join(g, "memory.limit_in_bytes"), []byte(bytesOf(memory)), 0o644); err != nil {
		return nil, nil, err
	}
	c := exec.Command("/bin/sh", append([]string{"-c", `echo $$ > "$0" && exec "$@"`, filepath.Join(g, "cgroup.procs"), name}, args...)...)
	return c, func() { os.Remove(g) }, nil
}
