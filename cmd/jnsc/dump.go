package main

import (
	"bufio"
	"context"
	"strings"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/format"
)

func dumpCommand() *cli.Command {
	return &cli.Command{
		Name: "dump", Usage: "show every field, record and operation of a container with its offset", ArgsUsage: "MODEL.jns",
		Description: "Equal containers give equal text, so that two dumps can be compared line by line.",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "section", Usage: "only the section of this `NAME` besides header and table of contents; may be given several times"},
			&cli.BoolFlag{Name: "full", Usage: "digests in full"},
			jsonFlag(),
		},
		Action: dump,
	}
}

func dump(_ context.Context, c *cli.Command) error {
	if err := jnscli.Args(c, 1, 1, "jnsc dump takes one container: jnsc dump MODEL.jns"); err != nil {
		return err
	}
	path := c.Args().First()
	f, k, err := open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	shown, err := sections(c.StringSlice("section"), k)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(stdout)
	if c.Bool("json") {
		d, err := describe(path, k)
		if err != nil {
			return err
		}
		err = jnscli.JSON(w, dumped{d, tensors(k), slots(k), operations(k)})
		if err != nil {
			return err
		}
		return w.Flush()
	}
	if err := format.Dump(w, k, format.DumpOptions{FullDigests: c.Bool("full"), Sections: shown}); err != nil {
		return err
	}
	return w.Flush()
}

// sections finds the sections by name; no name: all, which is nil.
func sections(names []string, k *format.Container) (map[format.SectionKind]bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	var known []string
	kinds := map[string]format.SectionKind{}
	for _, s := range k.TOC.Sections {
		known = append(known, s.Kind.String())
		kinds[s.Kind.String()] = s.Kind
	}
	shown := map[format.SectionKind]bool{}
	for _, n := range names {
		kind, ok := kinds[n]
		if !ok {
			return nil, jnscli.Usagef("there is no section %q; there are %s", n, strings.Join(known, ", "))
		}
		shown[kind] = true
	}
	return shown, nil
}

// Documents of dump.
type (
	dumped struct {
		*inspected
		TensorTable []tensor         `json:"tensor_table"`
		SlotTable   []slot           `json:"slot_table"`
		Ops         []map[string]any `json:"operations"`
	}
	tensor struct {
		Name         string `json:"name"`
		Shard        uint32 `json:"shard"`
		Index        uint32 `json:"index"`
		Type         uint32 `json:"ggml_type"`
		Layout       uint16 `json:"layout"`
		Reason       string `json:"reason"`
		Class        string `json:"class"`
		Rows         uint64 `json:"rows"`
		Cols         uint64 `json:"columns"`
		Count        uint64 `json:"count"`
		FirstSlot    uint32 `json:"first_slot"`
		Slots        uint32 `json:"slots"`
		RowsPerSlot  uint64 `json:"rows_per_slot"`
		SlotOffset   uint64 `json:"slot_offset"`
		TileRows     uint32 `json:"tile_rows"`
		TileRowBytes uint64 `json:"tile_row_bytes"`
		Digest       string `json:"blake3_of_source"`
	}
	slot struct {
		Offset uint64  `json:"offset"`
		Bytes  uint64  `json:"bytes"`
		Class  string  `json:"class"`
		Layer  *uint32 `json:"layer,omitempty"`
		Expert *uint32 `json:"expert,omitempty"`
		Digest string  `json:"blake3"`
	}
)

func tensors(k *format.Container) []tensor {
	out := make([]tensor, k.Tensors.Len())
	for i := range out {
		t := k.Tensors.At(i)
		out[i] = tensor{
			Name: t.Name, Shard: t.Shard, Index: t.Index, Type: t.Type, Layout: t.Layout, Reason: format.ReasonText(t.Reason), Class: t.Class.String(),
			Rows: t.Rows, Cols: t.Cols, Count: t.Count, FirstSlot: t.FirstSlot, Slots: t.Slots, RowsPerSlot: t.RowsPerSlot, SlotOffset: t.SlotOffset,
			TileRows: t.TileRows, TileRowBytes: t.TileRowBytes, Digest: hexOf(t.Digest),
		}
	}
	return out
}

func slots(k *format.Container) []slot {
	some := func(n uint32) *uint32 {
		if n == format.None {
			return nil
		}
		return &n
	}
	out := make([]slot, k.Slots.Len())
	for i := range out {
		s := k.Slots.At(i)
		out[i] = slot{s.Offset, s.Length, s.Class.String(), some(s.Layer), some(s.Expert), hexOf(s.Digest)}
	}
	return out
}

func operations(k *format.Container) []map[string]any {
	var out []map[string]any
	for _, op := range k.Program.Ops {
		out = append(out, map[string]any{"kind": op.Kind.String(), "version": op.Version, "params": op.Params})
	}
	return out
}
