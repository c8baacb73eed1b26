package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/cmd/jns-get/internal/fetch"
	"jns/manifests"
)

// got is the JSON document of a fetched file.
type got struct {
	File    string `json:"file"`
	Bytes   int64  `json:"bytes"`
	Already bool   `json:"already"`
	Resumed int64  `json:"bytes_resumed"`
	Fetched int64  `json:"bytes_fetched"`
	Bad     int    `json:"bad_chunks"`
	Proof   string `json:"proof"`
	Signer  string `json:"signed_by,omitempty"`
}

func getAction(ctx context.Context, c *cli.Command) error {
	arg := c.Args().First()
	if c.Args().Len() > 0 && arg == "" { // by a variable of a shell that is not set, say
		return jnscli.Usagef("the name is empty (see jns-get --help)")
	}
	if arg == "" && c.String("manifest") == "" && c.NumFlags() > 0 {
		return jnscli.Usagef("name what to fetch: a published model, an address with --sha256 HEX, or --manifest FILE|ADDRESS (see jns-get --help)")
	}
	if arg == "" && c.String("manifest") == "" {
		return noVerb(ctx, c)
	}
	if c.Args().Len() > 1 {
		return jnscli.Usagef("jns-get takes one name or address; options go before or after it (see jns-get --help)")
	}
	if strings.Contains(arg, ":") {
		return bare(ctx, c, arg)
	}
	if c.String("sha256") != "" || c.String("root") != "" {
		return jnscli.Usagef("--sha256 and --root belong to an address; a published name has its digests in its manifest")
	}
	f, err := findManifest(ctx, c, arg)
	if errors.Is(err, manifests.ErrUnknown) && c.String("manifest") == "" && (strings.ContainsAny(arg, `/\`) || path.Ext(arg) == ".jns" || path.Ext(arg) == ".json") {
		return fmt.Errorf("%w; for a file of yours: jns-get verify FILE, for a manifest: --manifest FILE", err)
	}
	if err != nil {
		return err
	}
	out, err := outputPath(c.String("output"), f.Container.File)
	if err != nil {
		return err
	}
	spec := f.containerSpec(c, out)
	if len(spec.Sources) == 0 && !fileExists(out) {
		return fmt.Errorf("%w: no place is published for %s; compile it here: jns-get compile %s", fetch.ErrSource, f.Container.File, f.Name)
	}
	signer := ""
	if f.signed != nil {
		signer = f.signed.Key.ID()
	}
	return get(ctx, c, spec, f.local, signer)
}

// bare fetches an address that has no manifest.
func bare(ctx context.Context, c *cli.Command, address string) error {
	sum, err := digestFlag(c, "sha256")
	if err != nil {
		return err
	}
	root, err := digestFlag(c, "root")
	if err != nil {
		return err
	}
	if sum == nil && root == nil {
		return jnscli.Usagef("an address needs --sha256 HEX, or --root HEX for a container: without one nothing proves what arrives")
	}
	if c.Bool("require-signature") {
		return jnscli.Usagef("an address has no signature; name its manifest with --manifest")
	}
	name, err := nameOf(address)
	if err != nil && c.String("output") == "" {
		return err
	}
	out, err := outputPath(c.String("output"), name)
	if err != nil {
		return err
	}
	sources := append([]string{address}, c.StringSlice("mirror")...)
	for i, m := range sources {
		if strings.HasSuffix(m, "/") && i > 0 {
			sources[i] = m + name
		}
	}
	return get(ctx, c, fetch.Spec{Path: out, Name: name, SHA256: sum, Root: root, Sources: sources, Force: c.Bool("force")}, true, "")
}

// nameOf takes a plain file name off the end of an address.
func nameOf(address string) (string, error) {
	scheme, rest, _ := strings.Cut(address, ":")
	switch scheme {
	case "https", "http":
		if u, err := url.Parse(address); err == nil {
			rest = u.Path
		}
	case "hf":
		rest, _, _ = strings.Cut(rest, "@")
	case "oci":
		_, rest, _ = strings.Cut(rest, "#")
	}
	name := path.Base(filepath.ToSlash(rest))
	if !manifests.PlainName(name) {
		return "", jnscli.Usagef("the address does not end in a plain file name; give one with -o FILE")
	}
	return name, nil
}

// outputPath is where a file goes: the name given, or the file's own in the directory given or at hand.
func outputPath(output, name string) (string, error) {
	if output == "-" {
		return "", jnscli.Usagef("-o -: it cannot be written to standard output; name a file")
	}
	if output == "" {
		output = "."
	}
	st, err := os.Stat(output)
	isDir := err == nil && st.IsDir()
	if !isDir && strings.HasSuffix(output, "/") {
		return "", jnscli.Usagef("there is no directory %s", output)
	}
	if !isDir {
		return output, nil
	}
	if !manifests.PlainName(name) {
		return "", jnscli.Usagef("%q is no plain file name; give one with -o FILE", name)
	}
	return filepath.Join(output, name), nil
}

func get(ctx context.Context, c *cli.Command, spec fetch.Spec, local bool, signer string) error {
	o, end, err := fetchOptions(c, local)
	if err != nil {
		return err
	}
	res, err := fetch.Get(ctx, spec, o)
	end(err)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return jnscli.JSON(stdout, got{res.Path, res.Size, res.Already, res.Resumed, res.Fetched, res.Bad, res.Proof, signer})
	}
	what := fmt.Sprintf("%s fetched", jnscli.Size(uint64(res.Fetched)))
	if res.Already {
		what = "it was there"
	}
	if signer != "" {
		what += ", signed by " + signer
	}
	fmt.Fprintf(os.Stderr, "%s, %s; proved by %s\n", jnscli.Size(uint64(res.Size)), what, res.Proof)
	_, err = fmt.Fprintln(stdout, res.Path)
	return err
}
