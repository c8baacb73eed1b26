package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// What both sides do: a prompt of so many tokens, and then, on our side, so many tokens of answer. The peer decodes as few as -peer-n says, since it may take seconds for each.
const (
	benchPrompt = 1024
	benchTokens = 64
)

// beside measures us and llama.cpp on the same model in alternation – a b, b a, a b … – so that what else the machine does meets both. Each run has the same limit of memory and begins
// with a cold page cache. Beside each pair stands what the disk gives to plain reads at that moment.
func (t *test) beside(peer, memory string, pairs, peerTokens int) (err error) {
	if t.group == "" {
		return errors.New("-peer needs -cgroup: without a limit nothing is larger than memory")
	}
	o := &other{t: t, program: peer, gguf: filepath.Join(t.dir, "stream-"+t.shape.name+".gguf"), memory: memory, n: peerTokens}
	if _, err := os.Stat(o.gguf); err != nil {
		return fmt.Errorf("llama.cpp runs the GGUF of which the container was made: %w; remove %s to make both anew", err, t.model)
	}
	if t.cache, err = os.MkdirTemp("", "stream-bench"); err != nil { // how reads are best done is measured here and now
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(t.cache)) }()
	t.prompt, t.n = benchPrompt, benchTokens
	fmt.Printf("%-5s %10s %10s %8s %12s %10s %8s %11s %10s\n", "pair", "decode/s", "llama.cpp", "ratio", "prompt/s", "llama.cpp", "ratio", "disk GB/s", "read GB/s")
	var decode, prompt, disk []float64
	var last *result
	for i := range pairs {
		var own *result
		var its rates
		sides := []func() error{
			func() (err error) {
				dropCache(t.model)
				own, err = t.once(memory, "auto", "")
				return err
			},
			func() (err error) { its, err = o.measure(); return err },
		}
		if i%2 == 1 {
			slices.Reverse(sides)
		}
		gives, err := plainRate(o.gguf)
		for _, side := range sides {
			if err == nil {
				err = side()
			}
		}
		if err != nil {
			return err
		}
		last = own
		d, p := own.Timings.DecodeTPS/its.decode, own.Timings.PrefillTPS/its.prompt
		decode, prompt, disk = append(decode, d), append(prompt, p), append(disk, gives/1e9)
		fmt.Printf("%-5d %10.2f %10.3f %8.2f %12.1f %10.2f %8.2f %11.2f %10s\n", i+1, own.Timings.DecodeTPS, its.decode, d, own.Timings.PrefillTPS, its.prompt, p, gives/1e9, own.readRate())
	}
	fmt.Printf("--memory %s, a limit of the same for both, batches of %d, %s; llama.cpp decoded %d tokens a run, we %d\n", memory, last.Receipt.Batch, last.Receipt.IO, o.n, benchTokens)
	fmt.Printf("times llama.cpp: decoding %s, a prompt of %d tokens %s; the disk gave %s GB/s\n", spread(decode), benchPrompt, spread(prompt), spread(disk))
	return nil
}

// readRate is what the tokens after the prompt read, per second.
func (r *result) readRate() string {
	s := r.Receipt.Stream
	if s == nil || s.Cache.Tokens.RanMS == 0 {
		return "in memory"
	}
	return fmt.Sprintf("%.2f", float64(s.Cache.Tokens.Bytes)/1e6/s.Cache.Tokens.RanMS)
}

// spread gives the median and, of several, the least and the greatest.
func spread(v []float64) string {
	s := slices.Sorted(slices.Values(v))
	if len(s) == 1 {
		return fmt.Sprintf("%.2f", s[0])
	}
	return fmt.Sprintf("%.2f (%.2f … %.2f)", median(v), s[0], s[len(s)-1])
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// plainRate is the bytes a second that two plain readers get of a file of which nothing is in the page cache: large reads one behind the other.
func plainRate(name string) (float64, error) {
	const piece, most = 8 << 20, 1 << 30
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	dropCache(name)
	var next, got atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, 2)
	start := time.Now()
	for w := range errs {
		wg.Go(func() {
			b := make([]byte, piece)
			for {
				at := next.Add(piece) - piece
				if at >= most {
					return
				}
				n, err := f.ReadAt(b, at)
				got.Add(int64(n))
				if err != nil {
					if !errors.Is(err, io.EOF) {
						errs[w] = err
					}
					return
				}
			}
		})
	}
	wg.Wait()
	rate := float64(got.Load()) / time.Since(start).Seconds()
	dropCache(name)
	return rate, errors.Join(errs...)
}
