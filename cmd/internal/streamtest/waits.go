package main

import (
	"errors"
	"fmt"
	"os"
)

// waits compares the time that tokens took with the longer of two times: of computing, which is that of the same tokens with every weight in memory, and of reading, which is what was
// read at the rate that the way of reading was measured with just before. Where the work is steady the ratio should not be above 1.15: reads go on while something is computed.
// What is steady is the difference of two runs, the second with twice as many tokens: the prompt and the first half of the tokens, which fill the memory, are in both. Prompts are not
// steady; they are printed beside, by the shorter run. All times are medians of so many rounds (-pairs), in each of which everything runs once: a virtual machine may stand still for
// seconds, which a difference of two single runs shows twice.
// It is printed, not judged: other programs take part of the processor and of the disk.
func (t *test) waits(times int) error {
	if err := t.make(); err != nil {
		return err
	}
	if len(t.grants) == 0 {
		return errors.New("give -memory")
	}
	var prompt, token []float64 // computing, in memory
	rounds := make([]round, len(t.grants))
	for range times {
		if err := t.compute(&prompt, &token); err != nil {
			return err
		}
		if err := t.streams(rounds); err != nil {
			return err
		}
	}
	fmt.Printf("%-10s %-8s %9s %9s %9s %9s %9s %9s %7s\n", "memory", "", "took s", "waited s", "compute s", "read MiB", "MB/s", "reading s", "ratio")
	for i, g := range t.grants {
		r := &rounds[i]
		rate := median(r.rate)
		for _, p := range []struct {
			name    string
			compute float64
			*phases
		}{{"prompt", median(prompt), &r.prompt}, {"tokens", median(token) * float64(t.n), &r.tokens}} {
			reading, took := float64(p.bytes)/rate, median(p.took)
			fmt.Printf("%-10s %-8s %9.2f %9.2f %9.2f %9d %9.0f %9.2f %7.2f\n", g, p.name, took, median(p.waited), p.compute, p.bytes>>20, rate/1e6, reading, took/max(reading, p.compute))
		}
	}
	return nil
}

// round is what the rounds of one grant gave.
type round struct {
	prompt, tokens phases
	rate           []float64 // bytes a second of the way of reading
}

// phases are seconds of every round, and bytes, which are the same in each.
type phases struct {
	took, waited []float64
	bytes        uint64
}

func (ps *phases) add(p phase) {
	ps.took, ps.waited, ps.bytes = append(ps.took, p.RanMS/1000), append(ps.waited, p.WaitedMS/1000), p.Bytes
}

// compute adds the seconds of a prompt and of a token in memory. A run before brings all that the tokens use into the system's cache: only then are they those of computing.
func (t *test) compute(prompt, token *[]float64) error {
	whole := t.n
	defer func() { t.n = whole }()
	t.n *= 2
	if _, err := t.once("", "auto", ""); err != nil {
		return err
	}
	r, err := t.once("", "auto", "")
	if err != nil {
		return err
	}
	*prompt, *token = append(*prompt, float64(t.prompt)/r.Timings.PrefillTPS), append(*token, 1/r.Timings.DecodeTPS)
	return nil
}

// streams adds a round to every grant. The rate of reading is measured in each: what an earlier run found does not count.
func (t *test) streams(rounds []round) (err error) {
	if t.cache, err = os.MkdirTemp("", "stream-test"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(t.cache)); t.cache = "" }()
	for i, g := range t.grants {
		dropCache(t.model)
		if err := t.stream(g, &rounds[i]); err != nil {
			return err
		}
	}
	return nil
}

// stream adds a round of two runs, the second of which goes on for as many tokens again.
func (t *test) stream(memory string, to *round) error {
	whole := t.n
	defer func() { t.n = whole }()
	a, err := t.once(memory, "auto", "")
	if err != nil {
		return err
	}
	t.n *= 2
	b, err := t.once(memory, "auto", "")
	if err != nil {
		return err
	}
	if a.Receipt.Stream == nil || b.Receipt.Stream == nil || b.Receipt.Stream.Rate == 0 {
		return fmt.Errorf("--memory %s: nothing was streamed, or the file is too small to measure the disk", memory)
	}
	to.prompt.add(a.Receipt.Stream.Cache.Prompts)
	to.tokens.add(b.Receipt.Stream.Cache.Tokens.less(a.Receipt.Stream.Cache.Tokens))
	to.rate = append(to.rate, b.Receipt.Stream.Rate)
	return nil
}

func (p phase) less(q phase) phase {
	return phase{p.RanMS - q.RanMS, p.WaitedMS - q.WaitedMS, p.Bytes - q.Bytes}
}
