package compiler

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"jns/compiler/internal/plan"
	"jns/format"
	"jns/format/routing"
)

// Errors about profiles wrap one of these.
var (
	// ErrProfile means that a profile was recorded with a model of another shape, or that it is not the one that a container was made with.
	ErrProfile = plan.ErrProfile
	// ErrNoProfile means that a container was made with a profile that is not at hand.
	ErrNoProfile = errors.New("the profile is not at hand")
	// ErrTrace means that a profile is no routing trace, or a damaged one.
	ErrTrace = routing.ErrTrace
	// ErrTraceVersion means that a profile is a routing trace of another version.
	ErrTraceVersion = routing.ErrVersion
)

// Recipe is the options that influence the bytes of a container, besides the target. Its text stands in the container.
type Recipe struct {
	KeepUnknown bool
	Profile     string // SHA-256 that the routing trace ends with, hexadecimal; empty: none, experts lie in the table's order
}

// String is the canonical text.
func (r Recipe) String() string {
	s := fmt.Sprintf("keep-unknown=%t", r.KeepUnknown)
	if r.Profile != "" {
		s += " profile=" + r.Profile
	}
	return s
}

// ParseRecipe reads the text of a container or a manifest. The error wraps format.ErrUnsupported: this compiler writes no such text.
func ParseRecipe(text string) (Recipe, error) {
	var r Recipe
	first, profile, _ := strings.Cut(text, " profile=")
	r.KeepUnknown = first == Recipe{KeepUnknown: true}.String()
	if b, err := hex.DecodeString(profile); err == nil && len(b) == 32 && hex.EncodeToString(b) == profile {
		r.Profile = profile
	}
	if r.String() != text {
		return r, fmt.Errorf("the container was made with options %q, which this compiler does not write: %w; use the version that made it", text, format.ErrUnsupported)
	}
	return r, nil
}

// readProfile reads a recorded routing. Errors name the file.
func readProfile(path string) (*routing.Trace, error) {
	f, _, err := format.OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := routing.Read(f)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", path, err)
	}
	return t, nil
}

// ProfileSum gives the SHA-256 of the profile at path, hexadecimal, for a container that was made with the recipe: empty if it was made without. Errors wrap ErrNoProfile if there is
// none although one is needed, ErrProfile in the other case.
func (r Recipe) ProfileSum(path string) (string, error) {
	switch {
	case path == "" && r.Profile == "":
		return "", nil
	case path == "":
		return "", fmt.Errorf("%w: the container's experts lie by a recorded routing with SHA-256 %s; whoever published it has that file; name it with --profile", ErrNoProfile, r.Profile)
	case r.Profile == "":
		return "", fmt.Errorf("%w: the container was made without one; leave --profile out", ErrProfile)
	}
	t, err := readProfile(path)
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(t.Sum[:]), nil
}

// order decides in which order experts lie: by the profile where there is one. Of a container that is compiled again it is the one that the container has.
func (b *build) order() ([]uint32, error) {
	if b.profile == nil {
		return b.asFound, nil
	}
	order, err := plan.Order(b.tiles.Slots, b.profile)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", b.opt.Profile, err)
	}
	return order, nil
}

// recipe is what goes into the container.
func (b *build) recipe() Recipe {
	if b.profile != nil {
		return Recipe{KeepUnknown: b.opt.KeepUnknown, Profile: hex.EncodeToString(b.profile.Sum[:])}
	}
	return Recipe{KeepUnknown: b.opt.KeepUnknown}
}

// LayerOrder is how the experts of a layer lie in the file.
type LayerOrder struct {
	Layer   uint32   `json:"layer"`
	Experts []uint32 `json:"experts"` // the first first
}

// ExpertOrder lists the experts of every layer as they lie in the file; nil: in the table's order. Slots know their offsets.
func ExpertOrder(slots format.Slots) []LayerOrder {
	var out []LayerOrder
	for _, i := range format.DiskOrder(slots) {
		s := slots.At(int(i))
		if k := len(out) - 1; k < 0 || out[k].Layer != s.Layer {
			out = append(out, LayerOrder{Layer: s.Layer})
		}
		l := &out[len(out)-1]
		l.Experts = append(l.Experts, s.Expert)
	}
	return out
}

// String lists the first experts of the layer.
func (l LayerOrder) String() string {
	const most = 16
	var b strings.Builder
	fmt.Fprintf(&b, "layer %d:", l.Layer)
	for _, e := range l.Experts[:min(most, len(l.Experts))] {
		fmt.Fprintf(&b, " %d", e)
	}
	if n := len(l.Experts) - most; n > 0 {
		fmt.Fprintf(&b, " … (%d more)", n)
	}
	return b.String()
}

// OrderText says for people how experts lie.
func OrderText(profile string, order []LayerOrder) string {
	if order == nil {
		return "lie by the profile " + profile + ", which leads to the table's order"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "lie by the profile %s", profile)
	for _, l := range order {
		fmt.Fprintf(&b, "\n           %s", l)
	}
	return b.String()
}

// profileOrder proves that a container's experts lie as a profile leads to.
func profileOrder(c *format.Container, r Recipe, path string) error {
	t, err := readProfile(path)
	if err != nil {
		return err
	}
	if sum := hex.EncodeToString(t.Sum[:]); sum != r.Profile {
		made := "without a profile"
		if r.Profile != "" {
			made = "with the profile " + r.Profile
		}
		return fmt.Errorf("%w: %s is the profile %s, the container was made %s", ErrProfile, path, sum, made)
	}
	slots := make([]format.Slot, c.Slots.Len())
	for i := range slots {
		slots[i] = c.Slots.At(i)
	}
	want, err := plan.Order(slots, t)
	if err != nil {
		return fmt.Errorf("profile %s: %w", path, err)
	}
	have := format.DiskOrder(c.Slots)
	if have == nil && slices.IsSorted(want) {
		return nil
	}
	if !slices.Equal(have, want) {
		return fmt.Errorf("the experts do not lie in the order that the profile %s leads to", path)
	}
	return nil
}
