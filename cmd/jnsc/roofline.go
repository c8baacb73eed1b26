package main

import (
	"fmt"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/compiler"
)

// rooflineFlags ask explain for what bounds a model's products, and say what a machine can do.
func rooflineFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "roofline", Usage: "only what bounds decoding: bytes and instructions for a weight in each kernel, counted by the kernels' generators, beside what the target's machine can do"},
		&cli.FloatFlag{Name: "bandwidth", Usage: "with --roofline: reads of memory by all cores, in GB/s", HideDefault: true},
		&cli.FloatFlag{Name: "ghz", Usage: "with --roofline: the clock", HideDefault: true},
		&cli.FloatFlag{Name: "ipc", Usage: "with --roofline: instructions that a core ends in a cycle", HideDefault: true},
		&cli.IntFlag{Name: "cores", Usage: "with --roofline: cores that decode", HideDefault: true},
	}
}

// rooflineOf prints the roofline of an explanation.
func rooflineOf(c *cli.Command, ex *compiler.Explanation) error {
	f := compiler.MachineFacts{Bandwidth: c.Float("bandwidth"), GHz: c.Float("ghz"), IPC: c.Float("ipc"), Cores: c.Int("cores")}
	if f.Bandwidth < 0 || f.GHz < 0 || f.IPC < 0 || f.Cores < 0 {
		return jnscli.Usagef("--bandwidth, --ghz, --ipc and --cores are positive numbers")
	}
	r, err := ex.Roofline(c.String("target"), f)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return jnscli.JSON(stdout, r)
	}
	_, err = fmt.Fprint(stdout, jnscli.Printable(r.Text()))
	return err
}
