package main

import (
	"errors"
	"fmt"
	"os"
)

// waits compares the time that prompts and tokens took with the longer of two times: of computing, which is that of the same work with every weight in memory, and of reading, which is
// what was read at the rate that the way of reading was measured with just before. Where the work is steady the ratio should not be above 1.15: reads go on while something is computed.
// It is printed, not judged: other programs take part of the processor and of the disk.
func (t *test) waits() (err error) {
	if err := t.make(); err != nil {
		return err
	}
	if len(t.grants) == 0 {
		return errors.New("give -memory")
	}
	if _, err := t.once("", "auto", ""); err != nil { // brings the file into the system's cache
		return err
	}
	memory, err := t.once("", "auto", "")
	if err != nil {
		return err
	}
	if t.cache, err = os.MkdirTemp("", "stream-test"); err != nil { // what an earlier run measured does not count
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(t.cache)) }()
	fmt.Printf("%-10s %-8s %9s %9s %9s %9s %9s %7s\n", "memory", "", "took s", "compute s", "read MiB", "MB/s", "reading s", "ratio")
	for _, g := range t.grants {
		dropCache(t.model)
		r, err := t.once(g, "auto", "")
		if err != nil {
			return err
		}
		s := r.Receipt.Stream
		if s == nil || s.Rate == 0 {
			return fmt.Errorf("--memory %s: nothing was streamed, or the file is too small to measure the disk", g)
		}
		for _, p := range []struct {
			name    string
			compute float64
			phase
		}{{"prompt", float64(t.prompt) / memory.Timings.PrefillTPS, s.Cache.Prompts}, {"tokens", float64(t.n-1) / memory.Timings.DecodeTPS, s.Cache.Tokens}} {
			reading, took := float64(p.Bytes)/s.Rate, p.RanMS/1000
			fmt.Printf("%-10s %-8s %9.2f %9.2f %9d %9.0f %9.2f %7.2f\n", g, p.name, took, p.compute, p.Bytes>>20, s.Rate/1e6, reading, took/max(reading, p.compute))
		}
	}
	return nil
}
