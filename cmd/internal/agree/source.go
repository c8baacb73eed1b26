package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"jns/cmd/internal/peer/child"
)

// model is a file to be judged. ref is the folder with its references; empty when it has none.
type model struct{ path, class, ref string }

func (m model) name() string { return strings.TrimSuffix(filepath.Base(m.path), ".gguf") }

// find lists the models of the classes, or the named files. A file has references when one of the folders has its name.
func (o options) find() ([]model, error) {
	refs := filepath.Join(o.shared, "reference")
	paths := map[string][]string{}
	classes := []string{"real", "types", "synth"}
	if o.archs {
		classes = []string{"archs", "synth", "made", "more"}
	}
	if len(o.files) > 0 {
		paths[""] = o.files
		classes = []string{""}
	} else {
		for class, dir := range map[string]string{
			"real": o.models, "types": filepath.Join(o.shared, "models", "types"), "synth": filepath.Join(o.shared, "models", "synth"), "archs": filepath.Join(o.shared, "archs"),
		} {
			paths[class], _ = filepath.Glob(filepath.Join(dir, "*.gguf"))
		}
		if o.archs && o.made != "" {
			paths["made"], _ = filepath.Glob(filepath.Join(o.made, "*.gguf"))
		}
		for _, dir := range o.dirs {
			more, _ := filepath.Glob(filepath.Join(dir, "*.gguf"))
			paths["more"] = append(paths["more"], more...)
		}
	}
	var out []model
	for _, class := range classes {
		for _, p := range paths[class] {
			m := model{path: p, class: class}
			if o.only != nil && !o.only.MatchString(m.name()) {
				continue
			}
			for _, c := range []string{"real", "types", "synth", "archs"} {
				if (class == "" || c == class || c == "synth" && class == "made") && exists(filepath.Join(refs, c, m.name()+".exact.json")) {
					m.ref = filepath.Join(refs, c)
					if m.class == "" {
						m.class = c
					}
				}
			}
			if m.ref == "" && !o.newPrompts() && class != "more" {
				if class == "" {
					return nil, fmt.Errorf("%s has no references; give -peer with -prompt, -ids or -more", p)
				}
				continue
			}
			out = append(out, m)
		}
		if len(paths[class]) == 0 && o.only == nil && class != "more" && class != "made" {
			fmt.Fprintf(os.Stderr, "agree: no models of class %q found (real: run `make models`; others: they lie in %s)\n", class, o.shared)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("no models to judge")
	}
	return out, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// judge is one session of comparing.
type judge struct {
	o    options
	ours child.Ours
	tmp  string
}

// file compiles a model, runs it over every prompt and judges it. What goes wrong with this file is a failure in the result.
func (j judge) file(ctx context.Context, m model) result {
	r := result{File: m.name(), Class: m.class}
	jns := filepath.Join(j.tmp, m.name()+".jns")
	defer os.Remove(jns)
	err := j.ours.Compile(ctx, m.path, jns, j.o.target)
	if err == nil {
		switch {
		case m.class == "more" && j.o.peer == "": // no oracle
		case j.o.peer != "" && (!j.o.archs || m.class == "more"):
			r.Prompts, err = j.withPeer(ctx, m, jns)
		default:
			r.Prompts, err = j.stored(ctx, m, jns)
		}
	}
	if err == nil && j.o.archs {
		var x exactness
		if x, err = j.exact(ctx, m, jns); err == nil {
			r.Exact = &x
			r.Failures = append(r.Failures, x.failures()...)
		}
	}
	if why, ok := child.Unsupported(err); ok {
		// The program's words begin with its name and the path, which the table has already.
		if _, words, ok := strings.Cut(why, m.path+": "); ok {
			why = words
		}
		r.Refused = why
		if j.o.archs && m.class != "more" {
			r.Failures = append(r.Failures, "refused: "+why)
		}
		return r
	}
	var bad *tokensError
	if errors.As(err, &bad) {
		r.Failures = append(r.Failures, bad.Error())
		err = nil
	}
	if err != nil {
		r.Failures = append(r.Failures, err.Error())
		if r.Exact == nil {
			r.Exact = &exactness{}
		}
		return r
	}
	if len(r.Prompts) == 0 {
		return r
	}
	return r.judged(j.o.leastSteps, r.halves())
}

// tokensError is a prompt that our tokenizer takes apart differently. The prompts are judged all the same, over the reference's ids.
type tokensError struct{ lines []string }

func (e *tokensError) Error() string { return strings.Join(e.lines, "; ") }

func (e *tokensError) orNil() error {
	if len(e.lines) == 0 {
		return nil
	}
	return e
}

// tokens checks our tokenizer on a prompt.
func (j judge) tokens(ctx context.Context, jns string, r run, bad *tokensError) error {
	if r.Prompt == "" {
		return nil
	}
	var v struct {
		Tokens []int `json:"tokens"`
	}
	if _, err := child.JSON(ctx, &v, j.ours.Run, "tokenize", jns, "-p", r.Prompt, "--json"); err != nil {
		return err
	}
	if !slices.Equal(v.Tokens, r.PromptIDs) {
		i := 0
		for i < min(len(v.Tokens), len(r.PromptIDs)) && v.Tokens[i] == r.PromptIDs[i] {
			i++
		}
		bad.lines = append(bad.lines, fmt.Sprintf("tokenizer: %s: differs from token %d on", r.Name, i))
	}
	return nil
}

// rows runs our program over the history of a run and gives the logits of its steps.
func (j judge) rows(ctx context.Context, jns string, r run) ([][]float32, error) {
	ids := slices.Concat(r.PromptIDs, r.Generated)
	ids = ids[:len(ids)-1] // the last choice is nobody's history
	out := filepath.Join(j.tmp, "ours.f32")
	defer os.Remove(out)
	args := []string{"logits", jns, "--tokens", child.Tokens(ids), "-o", out}
	if j.o.threads > 0 {
		args = append(args, "--threads", strconv.Itoa(j.o.threads))
	}
	if j.o.kernels != "" {
		args = append(args, "--kernels", j.o.kernels)
	}
	if j.o.batch > 0 {
		args = append(args, "--batch", strconv.Itoa(j.o.batch))
	}
	if _, err := child.Run(ctx, j.ours.Run, args...); err != nil {
		return nil, err
	}
	size, err := child.FileSize(out)
	if err != nil {
		return nil, err
	}
	return child.ReadRows(out, int(size/4/int64(len(ids))), len(r.PromptIDs)-1, len(r.Generated))
}

// stored judges against the references at hand.
func (j judge) stored(ctx context.Context, m model, jns string) ([]prompt, error) {
	exact, err := readReference(m.ref, m.name(), "exact")
	if err != nil {
		return nil, err
	}
	peer, err := readReference(m.ref, m.name(), "llamacpp")
	if err != nil {
		return nil, err
	}
	if len(exact.Runs) != len(peer.Runs) {
		return nil, fmt.Errorf("the references of %s have different prompts", m.name())
	}
	bad := &tokensError{}
	var out []prompt
	for i, e := range exact.Runs {
		if !slices.Equal(e.PromptIDs, peer.Runs[i].PromptIDs) {
			return nil, fmt.Errorf("the references of %s have different ids for prompt %q", m.name(), e.Name)
		}
		if err := j.tokens(ctx, jns, e, bad); err != nil {
			return nil, err
		}
		rows, err := j.rows(ctx, jns, e)
		if err != nil {
			return nil, err
		}
		var ef, pf [][]float32
		if i == 0 {
			ef, pf = exact.full, peer.full
		}
		steps, err := storedSteps(e, peer.Runs[i], ef, pf, rows)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name, err)
		}
		out = append(out, prompt{Name: e.Name, Tokens: len(e.PromptIDs), steps: steps})
	}
	return out, bad.orNil()
}

// withPeer makes references anew: the oracle is llama.cpp on the same weights as F32, in its exact setting; its other run is the default one.
// Both and ours see the oracle's history, so that all logits of all steps are compared.
func (j judge) withPeer(ctx context.Context, m model, jns string) ([]prompt, error) {
	dense := filepath.Join(j.tmp, m.name()+".f32.gguf")
	defer os.Remove(dense)
	if _, err := child.Run(ctx, j.o.peer, "dequantise", m.path, dense); err != nil {
		return nil, err
	}
	runs, stored, err := j.runs(ctx, m)
	if err != nil {
		return nil, err
	}
	bad := &tokensError{}
	var out []prompt
	for i, r := range runs {
		if err := j.tokens(ctx, jns, r, bad); err != nil {
			return nil, err
		}
		exact, err := j.peerRows(ctx, dense, &r, true)
		if err != nil {
			return nil, err
		}
		peer, err := j.peerRows(ctx, m.path, &r, false)
		if err != nil {
			return nil, err
		}
		rows, err := j.rows(ctx, jns, r)
		if err != nil {
			return nil, err
		}
		p := prompt{Name: r.Name, Tokens: len(r.PromptIDs), steps: make([]step, len(rows))}
		for k := range rows {
			if err := p.steps[k].full(exact[k], rows[k], peer[k]); err != nil {
				return nil, fmt.Errorf("%s: step %d: %w", r.Name, k, err)
			}
		}
		if i == 0 && stored != nil {
			for k := range min(len(stored.full), len(exact)) {
				d, err := compare(stored.full[k], exact[k], deviation(exact[k]))
				if err != nil {
					return nil, err
				}
				p.Drift = max(p.Drift, d.RMS)
			}
		}
		out = append(out, p)
	}
	return out, bad.orNil()
}

// runs are the prompts that the peer shall answer: the new ones, else those of the stored references, which are also given.
func (j judge) runs(ctx context.Context, m model) ([]run, *reference, error) {
	if m.class == "more" && !j.o.newPrompts() {
		return []run{{Name: "ids", PromptIDs: []int{82, 38, 101, 12, 18, 24, 93, 14, 54, 9, 22, 111}}}, nil, nil
	}
	if !j.o.newPrompts() {
		ref, err := readReference(m.ref, m.name(), "exact")
		if err != nil {
			return nil, nil, err
		}
		return ref.Runs, ref, nil
	}
	var out []run
	for i, ids := range j.o.ids {
		out = append(out, run{Name: fmt.Sprintf("ids %d", i+1), PromptIDs: ids})
	}
	for i, text := range j.o.prompts {
		var v struct {
			Tokens []int `json:"tokens"`
		}
		if _, err := child.JSON(ctx, &v, j.o.peer, "tokenize", m.path, "-x", text); err != nil {
			return nil, nil, err
		}
		out = append(out, run{Name: fmt.Sprintf("prompt %d", i+1), Prompt: text, PromptIDs: v.Tokens})
	}
	return out, nil, nil
}

// peerRows runs the peer. A run that has no continuation yet gets one.
func (j judge) peerRows(ctx context.Context, path string, r *run, exact bool) ([][]float32, error) {
	out := filepath.Join(j.tmp, "peer.f32")
	defer os.Remove(out)
	args := []string{"logits", path, "-t", "1", "--prompt", strconv.Itoa(len(r.PromptIDs)), "-o", out}
	if len(r.Generated) == 0 {
		args = append(args, "--tokens", child.Tokens(r.PromptIDs), "--generate", strconv.Itoa(j.o.n))
	} else {
		args = append(args, "--tokens", child.Tokens(slices.Concat(r.PromptIDs, r.Generated)))
	}
	if exact {
		args = append(args, "--exact")
	}
	var v struct {
		Vocab  int   `json:"vocab"`
		Steps  int   `json:"steps"`
		Tokens []int `json:"tokens"`
	}
	if _, err := child.JSON(ctx, &v, j.o.peer, args...); err != nil {
		return nil, err
	}
	if len(v.Tokens) != len(r.PromptIDs)+v.Steps {
		return nil, fmt.Errorf("the peer gave %d ids for %d steps", len(v.Tokens), v.Steps)
	}
	r.Generated = v.Tokens[len(r.PromptIDs):]
	return child.ReadRows(out, v.Vocab, 0, v.Steps)
}
