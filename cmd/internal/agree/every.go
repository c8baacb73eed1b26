package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"jns/cmd/internal/peer/child"
)

// exactness is what else must hold of a file, beside the error of its logits.
type exactness struct {
	Restored bool `json:"restored"` // the source comes back byte for byte
	Scalar   bool `json:"scalar"`   // the scalar kernels give the bits of the fast ones
	Batches  bool `json:"batches"`  // so do other batches and numbers of threads
}

// history is how many tokens the runs that are compared bit for bit see. Windows of the models are 16 or 32 wide: it is beyond.
const history = 40

// exact checks what is promised of every file, whatever its logits are.
func (j judge) exact(ctx context.Context, m model, jns string) (exactness, error) {
	var x exactness
	back := filepath.Join(j.tmp, "restored.gguf")
	defer os.Remove(back)
	if _, err := child.Run(ctx, j.ours.Jnsc, "restore", jns, "-o", back); err != nil {
		return x, err
	}
	var err error
	if x.Restored, err = equalFiles(back, m.path); err != nil {
		return x, err
	}
	ids := make([]int, history)
	for i := range ids {
		ids[i] = (i*37 + 11) % 120
	}
	want, err := j.bits(ctx, jns, ids)
	if err != nil {
		return x, err
	}
	same := func(args ...string) (bool, error) {
		got, err := j.bits(ctx, jns, ids, args...)
		return bytes.Equal(want, got), err
	}
	if x.Scalar, err = same("--kernels", "scalar"); err != nil {
		return x, err
	}
	x.Batches = true
	for _, args := range [][]string{{"--batch", "1"}, {"--batch", "7", "--threads", "3"}} {
		ok, err := same(args...)
		if err != nil {
			return x, err
		}
		x.Batches = x.Batches && ok
	}
	return x, nil
}

// bits are the logits after every token, as written.
func (j judge) bits(ctx context.Context, jns string, ids []int, args ...string) ([]byte, error) {
	out := filepath.Join(j.tmp, "bits.f32")
	defer os.Remove(out)
	if _, err := child.Run(ctx, j.ours.Run, append([]string{"logits", jns, "--tokens", child.Tokens(ids), "-o", out}, args...)...); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(out)
	if err == nil && len(b) == 0 {
		err = errors.New("jns-run logits wrote nothing")
	}
	return b, err
}

func equalFiles(a, b string) (bool, error) {
	f, err := os.Open(a)
	if err != nil {
		return false, err
	}
	defer f.Close()
	g, err := os.Open(b)
	if err != nil {
		return false, err
	}
	defer g.Close()
	p, q := make([]byte, 1<<16), make([]byte, 1<<16)
	for {
		n, err := io.ReadFull(f, p)
		m, err2 := io.ReadFull(g, q)
		switch {
		case !bytes.Equal(p[:n], q[:m]):
			return false, nil
		case err == nil && err2 == nil:
			continue
		case ended(err) && ended(err2):
			return true, nil
		case ended(err):
			return false, err2
		}
		return false, err
	}
}

func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// failures puts what does not hold into words.
func (x exactness) failures() []string {
	var out []string
	for _, c := range []struct {
		ok   bool
		what string
	}{{x.Restored, "restore does not give the source back"}, {x.Scalar, "scalar kernels give other bits"}, {x.Batches, "other batches or threads give other bits"}} {
		if !c.ok {
			out = append(out, c.what)
		}
	}
	return out
}

// makeSixteen lets the script beside the models make the sixteen F16 ones; they are the same bytes everywhere, which it checks.
func makeSixteen(ctx context.Context, o options, dir string) error {
	script, err := filepath.Abs(filepath.Join(o.shared, "models", "make-synth"))
	if err != nil {
		return err
	}
	if !exists(script) {
		return fmt.Errorf("%s is not there", script)
	}
	models, err := filepath.Abs(o.models)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, script, dir)
	if exists(filepath.Join(models, "SmolLM2-135M-Instruct-Q4_1.gguf")) {
		cmd.Env = append(os.Environ(), "MODELS="+models)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, child.LastLine(string(out)))
	}
	return nil
}

func (o options) madeDir(tmp string) string {
	if o.made != "" {
		return o.made
	}
	return filepath.Join(tmp, "made")
}

func mark(ok bool) string {
	if ok {
		return "equal"
	}
	return "NO"
}

func printEveryHead(w io.Writer) {
	fmt.Fprintf(w, "errors against exact arithmetic, relative to the logits' deviation; rms: ours / llama.cpp's; restored: the source byte for byte; scalar, batches: bit for bit, %s tokens\n\n", strconv.Itoa(history))
	fmt.Fprintf(w, "%-34s %-6s %6s %9s %9s %6s %7s  %-8s %-6s %-7s\n", "file", "class", "steps", "max ours", "llama.cpp", "rms", "limit", "restored", "scalar", "batches")
}

func (r result) printEvery(w io.Writer) {
	if r.Refused != "" {
		fmt.Fprintf(w, "%-34s %-6s refused: %s\n", r.File, r.Class, r.Refused)
		return
	}
	limit := "rule 1"
	if r.halves() {
		limit = fmt.Sprint(limitArchs)
	}
	errors, theirs, rms, steps := "no oracle", "", "", 0
	if len(r.Prompts) > 0 {
		for _, p := range r.Prompts {
			steps += len(p.steps)
		}
		rms = fmt.Sprintf("%6.3f", r.Ratio)
		errors, theirs = fmt.Sprintf("%9.6f", r.Ours.Max), fmt.Sprintf("%9.6f", r.Theirs.Max)
	}
	state := ""
	if len(r.Failures) > 0 {
		state = "FAILED"
	}
	fmt.Fprintf(w, "%-34s %-6s %6d %9s %9s %6s %7s  %-8s %-6s %-7s %s\n", r.File, r.Class, steps, errors, theirs, rms, limit, mark(r.Exact.Restored), mark(r.Exact.Scalar), mark(r.Exact.Batches), state)
	for _, f := range r.Failures {
		fmt.Fprintf(w, "    FAILED %s: %s\n", r.File, f)
	}
}

// halves says whether rule 3 judges a file: of an architecture, with F16 weights. The sixteen have F16 weights too, but families among them whose attention is so steep that the rounding
// of keys to halves, which llama.cpp's default run has as well, is beyond that limit: they are judged as the other generated ones are, beside that run.
func (r result) halves() bool { return r.Class == "archs" || r.Class == "more" }
