package main

import (
	"strconv"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/runtime/engine"
)

// sampleFlags are the flags that say how tokens are chosen.
func sampleFlags() []cli.Flag {
	d := engine.DefaultSampling()
	return []cli.Flag{
		&cli.Float64Flag{Name: "temp", Usage: "temperature; 0 always takes the most probable token", Value: float(d.Temperature)},
		&cli.IntFlag{Name: "top-k", Usage: "keep the k most probable tokens; 0: off", Value: d.TopK},
		&cli.Float64Flag{Name: "top-p", Usage: "keep the most probable tokens up to this probability; 1: off", Value: float(d.TopP)},
		&cli.Float64Flag{Name: "min-p", Usage: "keep tokens at least this fraction as probable as the best; 0: off", Value: float(d.MinP)},
		&cli.Float64Flag{Name: "typical", Usage: "keep tokens of typical surprise up to this probability; 1: off", Value: float(d.Typical)},
		&cli.Float64Flag{Name: "repeat-penalty", Usage: "divide the logits of recent tokens; 1: off", Value: float(d.RepeatPenalty)},
		&cli.Float64Flag{Name: "frequency-penalty", Usage: "subtract per occurrence among recent tokens; 0: off", Value: float(d.FrequencyPenalty)},
		&cli.Float64Flag{Name: "presence-penalty", Usage: "subtract once if among recent tokens; 0: off", Value: float(d.PresencePenalty)},
		&cli.IntFlag{Name: "repeat-last-n", Usage: "how many recent tokens the penalties see; -1: all", Value: d.PenaltyWindow},
		&cli.Uint64Flag{Name: "seed", Usage: "the same seed gives the same text", Value: d.Seed},
		&cli.StringSliceFlag{Name: "logit-bias", Usage: "ID=VALUE added to a token's logit; -inf forbids it; may be given several times"},
	}
}

// float widens without inventing decimals: 0.95 stays 0.95 in help texts.
func float(x float32) float64 {
	v, err := strconv.ParseFloat(strconv.FormatFloat(float64(x), 'g', -1, 32), 64)
	if err != nil {
		panic(err) // a formatted float parses
	}
	return v
}

func sampleParams(c *cli.Command) (engine.SampleParams, error) {
	p := engine.DefaultSampling()
	f := func(name string) float32 { return float32(c.Float64(name)) }
	p.Temperature, p.TopK, p.TopP, p.MinP, p.Typical = f("temp"), c.Int("top-k"), f("top-p"), f("min-p"), f("typical")
	p.RepeatPenalty, p.FrequencyPenalty, p.PresencePenalty = f("repeat-penalty"), f("frequency-penalty"), f("presence-penalty")
	p.PenaltyWindow, p.Seed = c.Int("repeat-last-n"), c.Uint64("seed")
	for _, s := range c.StringSlice("logit-bias") {
		id, v, ok := cut(s)
		if !ok {
			return p, jnscli.Usagef("--logit-bias %q: want ID=VALUE", s)
		}
		if p.LogitBias == nil {
			p.LogitBias = map[int32]float32{}
		}
		p.LogitBias[id] = v
	}
	if err := p.Validate(); err != nil {
		return p, jnscli.Usagef("%v", err)
	}
	return p, nil
}

func cut(s string) (id int32, v float32, ok bool) {
	for i := range s {
		if s[i] != '=' {
			continue
		}
		n, err := strconv.ParseInt(s[:i], 10, 32)
		f, err2 := strconv.ParseFloat(s[i+1:], 32)
		return int32(n), float32(f), err == nil && err2 == nil
	}
	return 0, 0, false
}
