package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/cmd/jns-get/internal/fetch"
	"jns/format"
	"jns/manifests"
)

func verifyCommand() *cli.Command {
	return &cli.Command{
		Name: "verify", Usage: "prove a file on disk", ArgsUsage: "FILE [NAME]",
		Description: "Against the manifest of NAME or --manifest, the embedded manifest that has the file's root digest, --sha256 or --root; else against the list of\n" +
			"chunks that the container carries. jnsc verify proves more: that the container says the truth about its source.",
		Flags:  append(append(manifestFlags(), sourceFlags()...), bareFlags()...),
		Action: verify,
	}
}

func repairCommand() *cli.Command {
	return &cli.Command{
		Name: "repair", Usage: "fetch again what is damaged in a file, and nothing else", ArgsUsage: "FILE [NAME | ADDRESS]",
		Description: "The manifest is found as by verify; with an address, or --mirror, the container's own list of chunks says what is damaged.",
		Flags:       append(append(manifestFlags(), sourceFlags()...), bareFlags()...),
		Action:      repair,
	}
}

// specOf finds out what a file on disk should be. name may be empty.
func specOf(ctx context.Context, c *cli.Command, path, name string) (spec fetch.Spec, local bool, against string, err error) {
	if spec.SHA256, err = digestFlag(c, "sha256"); err != nil {
		return spec, false, "", err
	}
	if spec.Root, err = digestFlag(c, "root"); err != nil {
		return spec, false, "", err
	}
	spec.Path, spec.Name, spec.Sources, local = path, filepath.Base(path), c.StringSlice("mirror"), true
	switch {
	case spec.SHA256 != nil || spec.Root != nil:
		return spec, true, "the digest given", nil
	case name != "" || c.String("manifest") != "":
		f, err := findManifest(ctx, c, name)
		if err != nil {
			return spec, false, "", err
		}
		return f.containerSpec(c, path), f.local, "the manifest of " + f.Name + " for " + f.Target, nil
	}
	if p := byRoot(path); p != nil {
		f := &found{Manifest: p.Manifest, local: true, beside: func(string) string { return "" }}
		return f.containerSpec(c, path), true, "the manifest of " + p.Name + " for " + p.Target, nil
	}
	if c.Bool("require-signature") {
		return spec, false, "", fmt.Errorf("%w: no manifest is known for this file", manifests.ErrSignature)
	}
	return spec, true, "what the container says of itself", nil
}

// byRoot finds the embedded manifest of a file by the root digest in its header.
func byRoot(path string) *manifests.Published {
	f, _, err := format.OpenFile(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, format.HeaderSize)
	if n, _ := f.ReadAt(b, 0); n < len(b) {
		return nil
	}
	h, err := format.DecodeHeader(b)
	if err != nil {
		return nil
	}
	all, err := manifests.All()
	if err != nil {
		return nil
	}
	for i := range all {
		if all[i].Container.Root == h.Digest {
			return &all[i]
		}
	}
	return nil
}

func verify(ctx context.Context, c *cli.Command) error {
	if err := jnscli.Args(c, 1, 2, "jns-get verify takes a file, and perhaps the name it is published under"); err != nil {
		return err
	}
	path := c.Args().First()
	spec, local, against, err := specOf(ctx, c, path, c.Args().Get(1))
	if err != nil {
		return err
	}
	o, end, err := fetchOptions(c, local)
	if err != nil {
		return err
	}
	proof, err := fetch.Verify(ctx, spec, o)
	end(err)
	if errors.Is(err, format.ErrMagic) {
		err = fmt.Errorf("%w; any other file needs --sha256 HEX or a manifest to be compared with", err)
	}
	if c.Bool("json") {
		doc := map[string]any{"file": path, "good": err == nil, "against": against}
		if err != nil {
			doc["error"] = err.Error()
		} else {
			doc["proof"] = proof
		}
		if e := jnscli.JSON(stdout, doc); e != nil {
			return e
		}
		return err
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s: good, compared with %s by %s\n", path, against, proof)
	return err
}

func repair(ctx context.Context, c *cli.Command) error {
	if err := jnscli.Args(c, 1, 2, "jns-get repair takes a file, and perhaps the name or address it came from"); err != nil {
		return err
	}
	path, from := c.Args().First(), c.Args().Get(1)
	name := from
	if isAddress(from) {
		name = ""
	}
	spec, local, _, err := specOf(ctx, c, path, name)
	if err != nil {
		return err
	}
	if isAddress(from) {
		spec.Sources = append([]string{from}, spec.Sources...)
	}
	o, end, err := fetchOptions(c, local)
	if err != nil {
		return err
	}
	res, err := fetch.Repair(ctx, spec, o)
	end(err)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return jnscli.JSON(stdout, got{File: path, Bytes: res.Size, Already: res.Already, Fetched: res.Fetched, Bad: res.Bad, Proof: res.Proof})
	}
	if res.Already {
		fmt.Fprintln(os.Stderr, "nothing is damaged")
	} else {
		fmt.Fprintf(os.Stderr, "%d chunks mended, %s fetched; proved by %s\n", res.Bad, jnscli.Size(uint64(res.Fetched)), res.Proof)
	}
	_, err = fmt.Fprintln(stdout, path)
	return err
}

func isAddress(s string) bool {
	for _, p := range []string{"https:", "http:", "hf:", "oci:", "file:"} {
		if len(s) > len(p) && s[:len(p)] == p {
			return true
		}
	}
	return false
}
