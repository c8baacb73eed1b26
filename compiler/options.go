package compiler

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"jns/compiler/internal/arch"
	"jns/compiler/internal/gguf"
	"jns/compiler/internal/plan"
)

// OutputRevision is raised by hand whenever the bytes of any container change for the same source and options. It is part
// of the container, so that two that differ say so.
const OutputRevision = 3

// compilerName is the other half of the compiler's identity in a container.
const compilerName = "jnsc"

// Errors of this package wrap one of these where the input is to blame.
var (
	// ErrNotGGUF means that the source is something else.
	ErrNotGGUF = gguf.ErrNotGGUF
	// ErrCorrupt means that the source contradicts itself or is cut short.
	ErrCorrupt = gguf.ErrCorrupt
	// ErrUnsupported means that the source may be sound but needs an architecture, type or feature that is not known here.
	ErrUnsupported = gguf.ErrUnsupported
	// ErrMissingPart means that parts of a split model are missing.
	ErrMissingPart = gguf.ErrMissingPart
	// ErrTarget means that the target's name is unknown.
	ErrTarget = plan.ErrTarget
	// ErrVerify means that a container does not say the truth about its source.
	ErrVerify = errors.New("verification failed")
	// ErrOutput means that nothing can be written where the options say: it is the source, or no file, or its directory is not there.
	ErrOutput = errors.New("output refused")
	// ErrBusy means that another process is writing the same output.
	ErrBusy = errors.New("output is being written by another process")
)

// Options say what to compile and how. The zero value of every field is the default.
type Options struct {
	Source      string // a GGUF, or any part of a split set
	Output      string // a file; or a directory (it exists, or ends in a separator) for name.TARGET.jns; empty: beside the source
	Target      string // empty: plan.Default, whatever machine compiles; "native": the target of this machine
	Profile     string // a routing trace, by which experts lie in the file; empty: by layer and number
	KeepUnknown bool   // keep tensors that the architecture does not know instead of refusing them

	Workers  int            // 0: GOMAXPROCS. Has no influence on the output.
	Progress func(Progress) // called now and then, never by two goroutines at once
}

// Progress says how far a long operation is.
type Progress struct {
	Phase       string // "pack", "seal", "verify", "restore"
	Done, Total uint64 // bytes
}

// target resolves the target's name.
func (o *Options) target() (plan.Target, error) {
	if o.Target == "native" {
		return plan.FindTarget(Native()[0])
	}
	return plan.FindTarget(o.Target)
}

var partSuffix = regexp.MustCompile(`-\d{5}-of-\d{5}$`)

// OutputPath is the path under which Compile writes the container.
func (o *Options) OutputPath() (string, error) {
	t, err := o.target()
	if err != nil {
		return "", err
	}
	return o.output(t), nil
}

// output is the path of the container.
func (o *Options) output(t plan.Target) string {
	dir, name := filepath.Split(o.Source)
	if o.Output != "" {
		if st, err := os.Stat(o.Output); !o.makesDir() && (err != nil || !st.IsDir()) {
			return o.Output
		}
		dir = o.Output
	}
	name = strings.TrimSuffix(name, ".gguf")
	name = partSuffix.ReplaceAllString(name, "")
	return filepath.Join(dir, name+"."+t.Name+".jns")
}

// makesDir reports whether Output can only be a directory.
func (o *Options) makesDir() bool {
	return o.Output != "" && os.IsPathSeparator(o.Output[len(o.Output)-1])
}

// Targets lists the targets that Options.Target may name, besides "native".
func Targets() []Target {
	var out []Target
	for _, t := range plan.Targets() {
		out = append(out, Target{Name: t.Name, Layouts: string(t.Family), Arch: t.Arch, Features: t.Features, VectorBits: t.Vector, Words: t.Words, Default: t.Name == plan.Default})
	}
	return out
}

// Target is a row of facts about a kind of machine.
type Target struct {
	Name       string   `json:"name"`
	Layouts    string   `json:"layouts"`
	Arch       string   `json:"arch,omitempty"`
	Features   []string `json:"features,omitempty"`
	VectorBits int      `json:"vector_bits,omitempty"`
	Words      string   `json:"words"`
	Default    bool     `json:"default,omitempty"`
}

// Architectures lists the architectures that can be compiled.
func Architectures() []string { return arch.Names() }
