package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/cmd/jns-get/internal/fetch"
	"jns/format"
	"jns/manifests"
)

// Media types of the layers of an artifact.
const (
	containerType = "application/vnd.jns.container.v1"
	manifestType  = "application/vnd.jns.manifest.v1+json"
	besideType    = "application/octet-stream"
)

// besides are the files that jnsc publish may write for a manifest NAME.json: NAME and these.
var besides = []string{".json" + manifests.SignatureSuffix, ".slsa.json", ".sig"}

func pushCommand() *cli.Command {
	return &cli.Command{
		Name: "push", Usage: "publish what jnsc publish wrote in an OCI registry", ArgsUsage: "DIR oci:HOST/REPOSITORY:TAG",
		Description: "Every manifest of DIR with its container, which is compared with it first, its signature and its statements become one artifact. Prints the\n" +
			"address of each manifest, for jns-get --manifest. User and password: JNS_OCI_USERNAME, JNS_OCI_PASSWORD. A directory on any static\n" +
			"web server needs no push: jns-get --manifest https://HOST/DIR/NAME.TARGET.json.",
		Flags:  []cli.Flag{&cli.BoolFlag{Name: "offline", Usage: "ask nobody: compare, and say what would be published"}, jsonFlag()},
		Action: push,
	}
}

func push(ctx context.Context, c *cli.Command) error {
	if err := jnscli.Args(c, 2, 2, "jns-get push takes a directory and an address: jns-get push DIR oci:HOST/REPOSITORY:TAG"); err != nil {
		return err
	}
	dir, to := c.Args().First(), c.Args().Get(1)
	if !strings.HasPrefix(to, "oci:") {
		return jnscli.Usagef("jns-get push publishes in OCI registries: give oci:HOST/REPOSITORY:TAG")
	}
	if st, err := os.Stat(dir); err != nil {
		return err
	} else if !st.IsDir() {
		return jnscli.Usagef("%s is no directory; jns-get push takes the one that jnsc publish wrote into", dir)
	}
	o, end, err := fetchOptions(c, true)
	if err != nil {
		return err
	}
	if err := fetch.CheckPlace(to, o); err != nil { // before everything is compared, which takes a while
		end(err)
		return jnscli.Usagef("%v", err)
	}
	layers, published, err := artifact(ctx, dir, o)
	if err != nil {
		end(err)
		return err
	}
	if o.Offline {
		end(nil)
		return wouldPush(c, to, layers, published)
	}
	digest, err := fetch.Push(ctx, to, layers, o)
	end(err)
	if err != nil {
		return err
	}
	places := placesOf(to, published)
	if c.Bool("json") {
		return jnscli.JSON(stdout, map[string]any{"artifact": to, "digest": digest, "files": len(layers), "manifests": places})
	}
	fmt.Fprintf(os.Stderr, "%d files published as %s\n", len(layers), digest)
	_, err = fmt.Fprintln(stdout, strings.Join(places, "\n"))
	return err
}

// placesOf gives the addresses of manifests in an artifact.
func placesOf(to string, manifests []string) []string {
	var out []string
	for _, name := range manifests {
		out = append(out, to+"#"+name)
	}
	return out
}

// wouldPush says what push would publish.
func wouldPush(c *cli.Command, to string, layers []fetch.Layer, published []string) error {
	places := placesOf(to, published)
	if c.Bool("json") {
		type file struct {
			File   string           `json:"file"`
			Bytes  int64            `json:"bytes"`
			SHA256 manifests.Digest `json:"sha256"`
		}
		var files []file
		for _, l := range layers {
			files = append(files, file{l.Title, l.Size, l.SHA256})
		}
		return jnscli.JSON(stdout, map[string]any{"artifact": to, "offline": true, "would_publish": files, "manifests": places})
	}
	for _, l := range layers {
		fmt.Fprintf(os.Stderr, "would publish %s, %s\n", jnscli.Printable(l.Title), jnscli.Size(uint64(l.Size)))
	}
	_, err := fmt.Fprintln(stdout, strings.Join(places, "\n"))
	return err
}

// artifact lists what a directory has to publish, after every container was compared with its manifest, and the names of the manifests.
func artifact(ctx context.Context, dir string, o fetch.Options) (layers []fetch.Layer, published []string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	add := func(path, kind string) error {
		sum, size, err := fileSHA256(path)
		if err == nil {
			layers = append(layers, fetch.Layer{Path: path, Title: filepath.Base(path), MediaType: kind, SHA256: sum, Size: size})
		}
		return err
	}
	for _, path := range files {
		if slices.ContainsFunc(besides, func(s string) bool { return strings.HasSuffix(path, s) }) {
			continue
		}
		m, err := readManifest(path)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		container := filepath.Join(dir, m.Container.File)
		spec := fetch.Spec{Path: container, Size: m.Container.Bytes, Root: (*[32]byte)(&m.Container.Root), Chunks: digests(m.Container.Chunks)}
		if _, err := fetch.Verify(ctx, spec, o); err != nil {
			return nil, nil, fmt.Errorf("%s does not describe what lies beside it: %w", path, err)
		}
		if !seen[container] {
			seen[container] = true
			layers = append(layers, fetch.Layer{Path: container, Title: m.Container.File, MediaType: containerType, SHA256: m.Container.SHA256, Size: m.Container.Bytes})
		}
		if err := add(path, manifestType); err != nil {
			return nil, nil, err
		}
		published = append(published, filepath.Base(path))
		for _, suffix := range besides {
			if err := add(strings.TrimSuffix(path, ".json")+suffix, besideType); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, nil, err
			}
		}
	}
	if len(published) == 0 {
		return nil, nil, jnscli.Usagef("there is no manifest in %s; jnsc publish writes them", dir)
	}
	return layers, published, nil
}

func readManifest(path string) (*manifests.Manifest, error) {
	f, _, err := format.OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := manifests.Read(f)
	if err != nil {
		return nil, err
	}
	return manifests.Parse(text)
}
