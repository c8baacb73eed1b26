package arch

import (
	"errors"
	"fmt"
	"slices"

	"jns/compiler/internal/gguf"
)

// Architecture is one family of models, named as general.architecture names it.
type Architecture struct {
	Name  string
	build func(b *Builder)
}

var registry []Architecture

// register adds an architecture; two of one name are a mistake of ours.
func register(name string, build func(b *Builder)) Architecture {
	if _, ok := find(name); ok {
		panic("arch: duplicate architecture " + name)
	}
	a := Architecture{name, build}
	registry = append(registry, a)
	return a
}

func find(name string) (Architecture, bool) {
	i := slices.IndexFunc(registry, func(a Architecture) bool { return a.Name == name })
	if i < 0 {
		return Architecture{}, false
	}
	return registry[i], true
}

// Names lists the known architectures in alphabetical order.
func Names() []string {
	var names []string
	for _, a := range registry {
		names = append(names, a.Name)
	}
	slices.Sort(names)
	return names
}

// Options are the choices a user has about what is built.
type Options struct {
	KeepUnknown bool // tensors that the architecture does not know are kept aside instead of refused
}

// Build makes the graph of a model. Errors wrap gguf.ErrUnsupported (the file may be fine, but its architecture or a feature
// it uses is not known here) or gguf.ErrCorrupt (the metadata contradict the tensors); all that is missing is listed at once.
func Build(set *gguf.Set, opt Options) (*Graph, error) {
	name, err := Identify(set)
	if err != nil {
		return nil, err
	}
	a, ok := find(name)
	if !ok {
		return nil, notKnown(name)
	}
	b := newBuilder(set, name)
	func() {
		defer b.recoverStop()
		a.build(b)
	}()
	return b.finish(opt)
}

// Identify gives the architecture's name, or an error for files that are no language model of their own.
func Identify(set *gguf.Set) (string, error) {
	kind, _, err := set.Str("general.type")
	if err != nil {
		return "", err
	}
	name, ok, err := set.Str("general.architecture")
	switch {
	case err != nil:
		return "", err
	case kind == "adapter":
		return "", fmt.Errorf("%w: this is a LoRA adapter (general.type adapter), not a model; merge it into its base model first and compile that", gguf.ErrUnsupported)
	case kind == "mmproj" || name == "clip":
		return "", fmt.Errorf("%w: this is a multimodal projector (mmproj, architecture %q), not a language model; compile the language model beside it", gguf.ErrUnsupported, clip(name))
	case kind == "imatrix":
		return "", fmt.Errorf("%w: this is an importance matrix (general.type imatrix), not a model", gguf.ErrUnsupported)
	case !ok:
		return "", fmt.Errorf("%w: key general.architecture is missing; the file does not say what model it is", gguf.ErrCorrupt)
	}
	return name, nil
}

func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}

// errTooMany ends building early; the errors before it say enough.
var errTooMany = errors.New("arch: too many problems")
