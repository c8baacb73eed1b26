// Package sample chooses the next token from a row of logits.
//
// The choice is a pure function of the logits, the parameters (with the seed) and the tokens so far:
// no clock, no hidden random state, and no arithmetic that differs by platform. Running the same
// request again, alone or in a batch, here or on another machine, gives the same tokens.
//
// The nouns: Params (what the user asks for), Sampler (Params with scratch memory for one
// vocabulary). The package must not know models, text or tokenizers, and imports nothing of ours.
package sample

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ErrParams says that a parameter is outside its range; ErrLogits that a row of logits cannot be
// sampled from (wrong length, NaN or infinite values, every token forbidden).
var (
	ErrParams = errors.New("sampling parameters")
	ErrLogits = errors.New("logits")
)

// Params says how to choose. The stages run in the order of the fields: bias, penalties, then the
// truncations on the model's own distribution, then temperature, so that a truncation means the
// same at every temperature.
type Params struct {
	// LogitBias is added to the logits of single tokens; -Inf forbids a token.
	LogitBias map[int32]float32

	// RepeatPenalty divides positive logits and multiplies negative ones of tokens that occur in
	// the window; 1: off.
	RepeatPenalty float32
	// FrequencyPenalty is subtracted once per occurrence in the window; 0: off.
	FrequencyPenalty float32
	// PresencePenalty is subtracted once if the token occurs in the window; 0: off.
	PresencePenalty float32
	// PenaltyWindow is how many of the last tokens the penalties see; 0: none, -1: all.
	PenaltyWindow int

	// TopK keeps the k most probable tokens; 0: off.
	TopK int
	// Typical keeps the tokens whose surprise is nearest the expected one, up to this much
	// probability (Meister et al. 2022, "Locally Typical Sampling"); 1: off.
	Typical float32
	// TopP keeps the most probable tokens up to this much probability; 1: off.
	TopP float32
	// MinP keeps tokens at least this fraction as probable as the most probable; 0: off.
	MinP float32

	// Temperature divides the logits; 0: always the greatest, lowest id first ("greedy").
	Temperature float32
	// Seed chooses among the possible outcomes.
	Seed uint64
}

// Defaults returns the parameters used where the user says nothing.
func Defaults() Params {
	return Params{RepeatPenalty: 1, PenaltyWindow: 64, TopK: 40, Typical: 1, TopP: 0.95, MinP: 0.05, Temperature: 0.8}
}

// Greedy returns parameters that always take the most probable token.
func Greedy() Params {
	return Params{RepeatPenalty: 1, Typical: 1, TopP: 1}
}

// Validate returns an error wrapping ErrParams that names the first bad parameter and its range.
func (p *Params) Validate() error {
	between := func(name string, v, lo, hi float32) error {
		if v >= lo && v <= hi { // false for NaN
			return nil
		}
		return fmt.Errorf("%w: %s is %v, must be between %v and %v", ErrParams, name, v, lo, hi)
	}
	err := errors.Join(
		between("temperature", p.Temperature, 0, 100),
		between("top_p", p.TopP, 0, 1),
		between("min_p", p.MinP, 0, 1),
		between("typical", p.Typical, 0, 1),
		between("repeat_penalty", p.RepeatPenalty, 0.01, 100),
		between("frequency_penalty", p.FrequencyPenalty, -100, 100),
		between("presence_penalty", p.PresencePenalty, -100, 100),
	)
	if err != nil {
		return err
	}
	if p.TopK < 0 {
		return fmt.Errorf("%w: top_k is %d, must not be negative (0: off)", ErrParams, p.TopK)
	}
	if p.PenaltyWindow < -1 {
		return fmt.Errorf("%w: penalty_window is %d, must be -1 (all tokens) or more", ErrParams, p.PenaltyWindow)
	}
	for _, id := range slices.Sorted(maps.Keys(p.LogitBias)) {
		b := p.LogitBias[id]
		if id < 0 || b != b || b > math.MaxFloat32 {
			return fmt.Errorf("%w: logit_bias of token %d is %v, must be a finite number or -Inf", ErrParams, id, b)
		}
	}
	return nil
}

// String is the canonical text form: every field, in fixed order, shortest decimals, biases by id.
func (p Params) String() string {
	f := func(v float32) string { return strconv.FormatFloat(float64(v), 'g', -1, 32) }
	var b strings.Builder
	fmt.Fprintf(&b, "temperature=%s top_k=%d top_p=%s min_p=%s typical=%s repeat_penalty=%s frequency_penalty=%s presence_penalty=%s penalty_window=%d seed=%d",
		f(p.Temperature), p.TopK, f(p.TopP), f(p.MinP), f(p.Typical), f(p.RepeatPenalty), f(p.FrequencyPenalty), f(p.PresencePenalty), p.PenaltyWindow, p.Seed)
	for i, id := range slices.Sorted(maps.Keys(p.LogitBias)) {
		sep := ","
		if i == 0 {
			sep = " logit_bias="
		}
		fmt.Fprintf(&b, "%s%d:%s", sep, id, f(p.LogitBias[id]))
	}
	return b.String()
}
