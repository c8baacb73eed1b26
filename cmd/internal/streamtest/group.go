package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// A control group of memory bounds what a run charges to it: pages of its own, and those of the page cache that it was the first to want. Swap is forbidden, so that memory which is too
// little shows as a run that is slow or killed and not as one that seems to do with it.

// group is a control group of one run.
type group struct {
	dir string
	v2  bool
}

// charge is what a control group counted while a run was in it.
type charge struct {
	known bool
	peak  uint64 // the most bytes at once, page cache included
	hits  uint64 // how often the limit was reached: the kernel took page cache away, or had to find memory otherwise
	oom   uint64 // how often there was none to be found
}

// groupVersion tells a folder of version 2 from one of version 1.
func groupVersion(dir string) (v2 bool, err error) {
	if _, err = os.Stat(filepath.Join(dir, "memory.limit_in_bytes")); err == nil {
		return false, nil
	}
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	switch {
	case err != nil:
		return false, fmt.Errorf("-cgroup %s is no control group with memory, neither of version 1 nor of version 2: %w", dir, err)
	case !has(string(b), "memory"):
		return false, fmt.Errorf("-cgroup %s: the memory controller is not to be had there; its parent's cgroup.subtree_control has to name it", dir)
	}
	return true, nil
}

func has(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if w == word {
			return true
		}
	}
	return false
}

var made int // groups so far

// newGroup makes a group with a limit below a folder.
func newGroup(parent string, limit uint64) (g *group, err error) {
	v2, err := groupVersion(parent)
	if err != nil {
		return nil, err
	}
	made++                                                                                              // one that cannot be removed yet must not count for the next
	g = &group{dir: filepath.Join(parent, fmt.Sprintf("stream-test-%d-%d", os.Getpid(), made)), v2: v2} // others may test at the same time
	if v2 {
		if b, err := os.ReadFile(filepath.Join(parent, "cgroup.subtree_control")); err != nil || !has(string(b), "memory") {
			if err := write(filepath.Join(parent, "cgroup.subtree_control"), "+memory"); err != nil {
				return nil, fmt.Errorf("groups below it get no memory controller (it must hold no process itself): %w", err)
			}
		}
	}
	if err := os.MkdirAll(g.dir, 0o755); err != nil {
		return nil, err
	}
	if err := g.limit(strconv.FormatUint(limit, 10)); err != nil {
		return nil, errors.Join(err, g.remove())
	}
	return g, nil
}

// limit bounds the memory and forbids swap. Version 1 bounds memory and swap together, to no less than memory alone; a kernel that does not count swap has no file for it.
func (g *group) limit(bytes string) error {
	name, swap, none := "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", bytes
	if g.v2 {
		name, swap, none = "memory.max", "memory.swap.max", "0"
	}
	if err := write(filepath.Join(g.dir, name), bytes); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(g.dir, swap)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return write(filepath.Join(g.dir, swap), none)
}

// write writes a file of a control group, which is there.
func write(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// command is a command that runs in the group.
func (g *group) command(name string, args ...string) *exec.Cmd {
	return exec.Command("/bin/sh", append([]string{"-c", `echo $$ > "$0" && exec "$@"`, filepath.Join(g.dir, "cgroup.procs"), name}, args...)...)
}

// charge tells what the group counted so far. A kernel before 5.19 does not keep the peak of version 2.
func (g *group) charge() (c charge, err error) {
	number := func(name string) (n uint64) {
		b, e := os.ReadFile(filepath.Join(g.dir, name))
		if e == nil {
			n, e = strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
		}
		err = errors.Join(err, e)
		return n
	}
	if !g.v2 {
		c.peak, c.hits = number("memory.max_usage_in_bytes"), number("memory.failcnt")
		c.oom = event(g.dir, "memory.oom_control", "oom_kill")
		c.known = err == nil
		return c, err
	}
	c.hits, c.oom = event(g.dir, "memory.events", "max"), event(g.dir, "memory.events", "oom")
	if _, e := os.Stat(filepath.Join(g.dir, "memory.peak")); errors.Is(e, os.ErrNotExist) {
		return c, nil
	}
	c.peak = number("memory.peak")
	c.known = err == nil
	return c, err
}

// judge says whether what was charged stayed within the grant, as far as it is known.
func (c charge) judge(grant string) error {
	n, err := strconv.ParseUint(grant, 10, 64)
	switch {
	case c.oom > 0:
		return fmt.Errorf("there was no memory %d times", c.oom)
	case err != nil || !c.known:
		return nil
	case c.peak == 0:
		return errors.New("nothing was charged to its control group: it did not run there")
	case c.peak > n:
		return fmt.Errorf("%d bytes were charged, page cache included", c.peak)
	}
	return nil
}

// event reads one line of a file of names and numbers; 0 if it is not there.
func event(dir, file, name string) uint64 {
	b, _ := os.ReadFile(filepath.Join(dir, file))
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			n, _ := strconv.ParseUint(f[1], 10, 64)
			return n
		}
	}
	return 0
}

// remove removes the group, which is empty again.
func (g *group) remove() error { return os.Remove(g.dir) }
