package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/format"
	"jns/runtime/engine"
)

func infoCommand() *cli.Command {
	return &cli.Command{
		Name: "info", Usage: "say what a container is, and what this machine would run it with", ArgsUsage: "[MODEL.jns]",
		Description: "Without a container: the processor's cores, the kernel sets, and which processors would read prompts and which decode (--policy, --threads).\n" +
			"JNS_CORES=FILE names a JSON file that says more about cores than is known here: {\"cores\": [{\"implementer\": \"0x41\", \"part\": \"0xd8e\", \"name\": \"Neoverse-N3\",\n" +
			"\"class\": \"big\", \"in_order\": false, \"vectors\": 2, \"matmul\": 2, \"kernels\": \"i8mm\", \"prefetch\": 512}], \"processors\": {\"0\": {\"name\": \"fast\", \"class\": \"big\", \"speed\": 1}}}.",
		Flags: engineFlags(), Action: info,
	}
}

func info(ctx context.Context, c *cli.Command) error {
	if c.Args().Len() == 0 {
		return machineInfo(c)
	}
	return with(containerInfo)(ctx, c)
}

func containerInfo(_ context.Context, c *cli.Command, e *engine.Engine) error {
	k, r, o := e.Container(), e.Receipt(), e.Options()
	if c.Bool("json") {
		return jnscli.JSONLine(stdout, map[string]any{
			"model": facts(k.TOC.Model), "root_digest": r.RootDigest, "length": k.Header.Length, "tensors": k.Tensors.Len(), "slots": k.Slots.Len(),
			"operations": len(k.Program.Ops), "arena_bytes": r.ArenaBytes, "threads": o.Threads, "context": o.Context, "kernel_set": o.Kernels,
			"fallbacks": r.Fallbacks, "pools": r.Pools, "machine": machine(),
		})
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "model\t%s\n", k.TOC.Model.Name)
	fmt.Fprintf(w, "parameters\t%d\n", k.TOC.Model.Params)
	fmt.Fprintf(w, "vocabulary\t%d\n", k.TOC.Model.Vocab)
	fmt.Fprintf(w, "context\t%d trained, %d in this run\n", k.TOC.Model.Context, o.Context)
	fmt.Fprintf(w, "container\t%s, %d tensors, %d slots, %d operations\n", jnscli.Size(k.Header.Length), k.Tensors.Len(), k.Slots.Len(), len(k.Program.Ops))
	fmt.Fprintf(w, "root digest\t%s\n", r.RootDigest)
	fmt.Fprintf(w, "compiler\t%s revision %d, %s\n", k.TOC.Compiler.Name, k.TOC.Compiler.Revision, k.TOC.Compiler.Options)
	fmt.Fprintf(w, "would run\t%d threads, kernels %s, arena %s\n", o.Threads, o.Kernels, jnscli.Size(uint64(r.ArenaBytes)))
	fmt.Fprintf(w, "prompts on\t%s: processors %s\n", r.Pools.Prefill.Name, r.Pools.Prefill.Processors)
	fmt.Fprintf(w, "decoding on\t%s: processors %s (%s)\n", r.Pools.Decode.Name, r.Pools.Decode.Processors, r.Pools.Decode.Why)
	for _, f := range r.Fallbacks {
		fmt.Fprintf(w, "not accelerated\t%s: %s\n", f.Tensor, f.Reason)
	}
	w.Flush()
	_, err := fmt.Fprint(stdout, jnscli.Printable(b.String()))
	return err
}

// facts spells the facts of a model as jnsc inspect does.
func facts(m format.Model) map[string]any {
	all := map[string]string{}
	for _, f := range m.Facts {
		all[f.Key] = f.Value
	}
	return map[string]any{"name": m.Name, "vocabulary": m.Vocab, "context": m.Context, "parameters": m.Params, "facts": all}
}
