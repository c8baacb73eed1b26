package main

import (
	"errors"
	"fmt"
	"os"
)

// waits compares the time that tokens took with the longer of two times: of computing, which is that of the same tokens with every weight in memory, and of reading, which is what was
// read at the rate that the way of reading was measured with just before. Where the work is steady the ratio should not be above 1.15: reads go on while something is computed.
// What is steady is the difference of two runs, the second with twice as many tokens: the prompt and the first half of the tokens, which fill the memory, are in both. Prompts are not
// steady; they are printed beside, by the shorter run.
// It is printed, not judged: other programs take part of the processor and of the disk.
func (t *test) waits() (err error) {
	if err := t.make(); err != nil {
		return err
	}
	if len(t.grants) == 0 {
		return errors.New("give -memory")
	}
	if _, err := t.halves(""); err != nil { // brings all that the tokens use into the system's cache: only then is the next time that of computing
		return err
	}
	memory, err := t.halves("")
	if err != nil {
		return err
	}
	if t.cache, err = os.MkdirTemp("", "stream-test"); err != nil { // what an earlier run measured does not count
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(t.cache)) }()
	fmt.Printf("%-10s %-8s %9s %9s %9s %9s %9s %9s %7s\n", "memory", "", "took s", "waited s", "compute s", "read MiB", "MB/s", "reading s", "ratio")
	for _, g := range t.grants {
		dropCache(t.model)
		r, err := t.halves(g)
		if err != nil {
			return err
		}
		if r[0].Receipt.Stream == nil || r[0].Receipt.Stream.Rate == 0 {
			return fmt.Errorf("--memory %s: nothing was streamed, or the file is too small to measure the disk", g)
		}
		a, b := r[0].Receipt.Stream, r[1].Receipt.Stream
		for _, p := range []struct {
			name    string
			compute float64
			phase
		}{{"prompt", memory[0].prefill(t.prompt), a.Cache.Prompts}, {"tokens", memory[1].decode(2*t.n) - memory[0].decode(t.n), b.Cache.Tokens.less(a.Cache.Tokens)}} {
			reading, took := float64(p.Bytes)/b.Rate, p.RanMS/1000
			fmt.Printf("%-10s %-8s %9.2f %9.2f %9.2f %9d %9.0f %9.2f %7.2f\n", g, p.name, took, p.WaitedMS/1000, p.compute, p.Bytes>>20, b.Rate/1e6, reading, took/max(reading, p.compute))
		}
	}
	return nil
}

// halves are two runs, the second of which goes on for as many tokens again.
func (t *test) halves(memory string) (r [2]*result, err error) {
	whole := t.n
	defer func() { t.n = whole }()
	for i := range r {
		t.n = whole * (i + 1)
		if r[i], err = t.once(memory, "auto", ""); err != nil {
			return r, err
		}
	}
	return r, nil
}

// prefill and decode are the seconds that a run took for its prompt, and for its n tokens after the first.
func (r *result) prefill(n int) float64 { return float64(n) / r.Timings.PrefillTPS }

func (r *result) decode(n int) float64 { return float64(n-1) / r.Timings.DecodeTPS }

func (p phase) less(q phase) phase {
	return phase{p.RanMS - q.RanMS, p.WaitedMS - q.WaitedMS, p.Bytes - q.Bytes}
}
