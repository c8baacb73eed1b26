package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"jns/runtime/engine"
)

// table prints the rates and the ceilings.
func (b *benchRun) table(w io.Writer) {
	fmt.Fprintf(w, "%-8s %10s %10s %10s  tokens/s\n", "", "median", "min", "max")
	for _, r := range b.rates {
		fmt.Fprintf(w, "%-8s %10.1f %10.1f %10.1f", r.name, r.Median, r.Min, r.Max)
		for _, s := range r.meaning() {
			fmt.Fprintf(w, "  %s", s)
		}
		fmt.Fprintln(w)
	}
	for _, r := range b.rates {
		r.operations(w)
	}
	for _, c := range b.ceilings {
		fmt.Fprintf(w, "machine, %s\n", ceilingText(c))
	}
	if b.power != nil {
		fmt.Fprintf(w, "power: %s\n", b.power)
	}
}

// operations prints where the workers' time went, in parts of all of it: at work, of that in matrix kernels, and waiting for one another.
func (r *rate) operations(w io.Writer) {
	if len(r.Ops) == 0 {
		return
	}
	total := 0.0
	for _, o := range r.Ops {
		total += o.Seconds + o.Waiting
	}
	part := func(s float64) float64 { return 100 * s / total }
	fmt.Fprintf(w, "%s, %% of the workers' time:\n%8s %8s %8s %6s  operation\n", r.name, "work", "kernels", "wait", "steps")
	var work, kernels, wait float64
	for _, o := range r.Ops {
		fmt.Fprintf(w, "%8.2f %8.2f %8.2f %6d  %s\n", part(o.Seconds), part(o.Kernels), part(o.Waiting), o.Steps, o.Name)
		work, kernels, wait = work+o.Seconds, kernels+o.Kernels, wait+o.Waiting
	}
	fmt.Fprintf(w, "%8.2f %8.2f %8.2f         all\n", part(work), part(kernels), part(wait))
}

// meaning says what the tokens per second are in other units.
func (r *rate) meaning() []string {
	var all []string
	if r.GBps > 0 {
		s := fmt.Sprintf("%.1f GB/s of weights", r.GBps)
		if r.OfRead > 0 {
			s += fmt.Sprintf(", %.2f of memory's", r.OfRead)
		}
		if r.OfCached > 0 {
			s += fmt.Sprintf(", %.2f of reading them only", r.OfCached)
		}
		all = append(all, s)
	}
	if f := r.Fall; f != nil {
		s := fmt.Sprintf("%.2f of it without depth, %.2f by the bytes (%.1f MB of keys and values", f.Measured, f.Explained, f.KVBytes/1e6)
		if f.KVGBps > 0 {
			s += fmt.Sprintf(" at %.1f GB/s", f.KVGBps)
		}
		all = append(all, s+")")
	}
	if r.GOPS > 0 {
		s := fmt.Sprintf("%.0f GOPS in products", r.GOPS)
		if r.OfPeak > 0 {
			s += fmt.Sprintf(", %.2f of the peak", r.OfPeak)
		}
		all = append(all, s)
	}
	if r.Joules > 0 {
		all = append(all, fmt.Sprintf("%.3g J/token, %.3g above idle", r.Joules, r.Above))
	}
	return all
}

func ceilingText(c engine.Ceiling) string {
	s := fmt.Sprintf("%d threads: %.1f GB/s plain reads of %d MiB", c.Threads, c.Memory, c.Bytes>>20)
	if c.Threads == 1 {
		s = strings.Replace(s, "threads", "thread", 1)
	}
	if c.Weights > 0 {
		s += fmt.Sprintf(", %.1f of the weights", c.Weights)
	}
	if c.Int8 > 0 {
		s += fmt.Sprintf("; %.0f GOPS int8", c.Int8)
	}
	return s + " (" + c.Set + ")"
}

func (p *power) String() string {
	if p.Reason != "" {
		return p.Reason
	}
	return fmt.Sprintf("%s; idle %.1f W before, %.1f W after", strings.Join(p.Zones, " + "), p.IdleBefore, p.IdleAfter)
}

// report writes everything for somebody who was not there.
func (b *benchRun) report(w io.Writer, m map[string]any, rec engine.Receipt) {
	fmt.Fprintf(w, "# jns-run bench\n\ncontainer %s\n%d threads, batch %d, weights by %s\n\n## Machine\n\n", rec.RootDigest, rec.Threads, rec.Batch, rec.IO)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(w, "- %s: %v\n", k, m[k])
	}
	fmt.Fprintf(w, "\n## Rates (%d repetitions after a warm-up)\n\n```\n", b.reps)
	b.table(w)
	x := b.work
	fmt.Fprintf(w, "```\n\nA token reads %.1f MB of weights for %.1f million int8 and %.1f million float products; of these %.1f MB for logits only. Keys, values and the rows\n"+
		"that are looked up are not counted, nor is attention among the operations.\n\n## Kernels\n\nvector operations: %s\n\n",
		float64(x.Bytes)/1e6, float64(x.Int8)/1e6, float64(x.Float)/1e6, float64(x.LastBytes)/1e6, rec.KernelSet)
	for _, k := range slices.Sorted(maps.Keys(rec.Kernels)) {
		u := rec.Kernels[k]
		fmt.Fprintf(w, "- %s: %d calls, %d rows, %.1f MB of weights\n", k, u.Calls, u.Rows, float64(u.Bytes)/1e6)
	}
	for _, f := range rec.Fallbacks {
		fmt.Fprintf(w, "- %s: %s\n", f.Tensor, f.Reason)
	}
}

// cacheDir is where Linux describes the caches of the first processor.
const cacheDir = "/sys/devices/system/cpu/cpu0/cache"

// caches lists the caches of a processor as "L2 unified 2048K"; what cannot be read is left out.
func caches(dir string) []string {
	var all []string
	indexes, _ := filepath.Glob(filepath.Join(dir, "index*"))
	for _, d := range indexes {
		level, kind, size := oneLine(filepath.Join(d, "level")), oneLine(filepath.Join(d, "type")), oneLine(filepath.Join(d, "size"))
		if level != "" && size != "" {
			all = append(all, "L"+level+" "+strings.ToLower(kind)+" "+size)
		}
	}
	return all
}

// lastCache is the size of the largest cache in bytes, 0 where it is not known.
func lastCache(dir string) uint64 {
	var most uint64
	indexes, _ := filepath.Glob(filepath.Join(dir, "index*"))
	for _, d := range indexes {
		s := oneLine(filepath.Join(d, "size"))
		n, err := strconv.ParseUint(strings.TrimRight(s, "KM"), 10, 32)
		if err != nil {
			continue
		}
		switch {
		case strings.HasSuffix(s, "K"):
			n <<= 10
		case strings.HasSuffix(s, "M"):
			n <<= 20
		}
		most = max(most, n)
	}
	return most
}

// oneLine is the content of a file of one line, "" where there is none.
func oneLine(file string) string {
	b, _ := os.ReadFile(file)
	return strings.TrimSpace(string(b))
}

// machine says where the measurement was made.
func machine() map[string]any {
	m := map[string]any{"os": runtime.GOOS, "arch": runtime.GOARCH, "cpus": runtime.NumCPU(), "cpu": "unknown", "kernels": engine.KernelSets(), "go": runtime.Version()}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for _, l := range strings.Split(string(b), "\n") {
			if k, v, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(k) == "model name" {
				m["cpu"] = strings.TrimSpace(v)
				break
			}
		}
	}
	for key, file := range map[string]string{"system": "/proc/sys/kernel/osrelease", "load": "/proc/loadavg", "huge_pages": "/sys/kernel/mm/transparent_hugepage/enabled",
		"governor": "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"} {
		if s := oneLine(file); s != "" {
			m[key] = s
		}
	}
	if named := engine.NamedSets(); len(named) > 0 {
		m["kernels_if_named"] = named
	}
	if refused := engine.RefusedSets(); len(refused) > 0 {
		m["kernels_refused"] = refused
	}
	if c := caches(cacheDir); c != nil {
		m["caches"] = c
	}
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		first, _, _ := strings.Cut(string(b), "\n")
		m["memory"] = strings.Join(strings.Fields(strings.TrimPrefix(first, "MemTotal:")), " ")
	}
	return m
}
