package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
	"jns/cmd/jns-get/internal/fetch"
	"jns/compiler"
	"jns/manifests"
)

// found is a manifest and where it was.
type found struct {
	*manifests.Manifest
	signed  *manifests.Signed // nil: not signed by a trusted key
	local   bool              // it lies on this machine, or is embedded
	ownHost bool              // a server of this machine gave it
	beside  func(name string) string
}

// findManifest finds the manifest that the flags and a name ask for, and checks its signature. name may be empty with --manifest.
func findManifest(ctx context.Context, c *cli.Command, name string) (*found, error) {
	keys, err := trustedKeys(c.String("trusted-keys"))
	if err != nil {
		return nil, err
	}
	f := &found{local: true, beside: func(string) string { return "" }}
	var text, sig []byte
	if place := c.String("manifest"); place != "" {
		if text, sig, err = f.read(ctx, c, place); err != nil {
			return nil, err
		}
	} else {
		p, err := embedded(name, c.String("target"))
		if err != nil {
			return nil, err
		}
		text, sig = p.Bytes, p.Signature
	}
	// The signature comes first: what nobody vouches for is not even parsed when a voucher is asked for.
	switch f.signed, err = manifests.Verify(text, sig, keys, time.Now()); {
	case err != nil && c.Bool("require-signature"):
		return nil, err
	case err != nil && len(sig) > 0:
		fmt.Fprintf(os.Stderr, "jns-get: note: %s\n", jnscli.Printable(err.Error()))
	}
	if f.Manifest, err = manifests.Parse(text); err != nil {
		if place := c.String("manifest"); place != "" {
			err = fmt.Errorf("%s: %w", place, err)
		}
		return nil, err
	}
	if name != "" && f.Name != name {
		return nil, fmt.Errorf("%w: the manifest is of %s, not of %s", manifests.ErrUnknown, f.Name, jnscli.Printable(name))
	}
	if t := c.String("target"); t != "" && t != "native" && f.Target != t && c.String("manifest") != "" && c.Name != "compile" {
		return nil, fmt.Errorf("%w: the manifest is for target %s, not %s", manifests.ErrUnknown, f.Target, jnscli.Printable(t))
	}
	return f, nil
}

// read reads a manifest and its signature from a file or an address.
func (f *found) read(ctx context.Context, c *cli.Command, place string) (text, sig []byte, err error) {
	if !strings.Contains(place, ":") || filepath.IsAbs(place) || fileExists(place) {
		abs, err := filepath.Abs(place)
		if err != nil {
			return nil, nil, err
		}
		place = "file:" + filepath.ToSlash(abs)
	}
	f.local, f.ownHost = strings.HasPrefix(place, "file:"), strings.HasPrefix(place, "http:")
	o, end, err := fetchOptions(c, f.local)
	if err != nil {
		return nil, nil, err
	}
	defer func() { end(err) }()
	o.Note = nil
	if text, err = fetch.Small(ctx, place, manifests.MaxManifest, o); err != nil {
		return nil, nil, err
	}
	if sig, err = fetch.Small(ctx, siblingOf(place, "", manifests.SignatureSuffix), 8<<10, o); errors.Is(err, fetch.ErrAbsent) {
		sig, err = nil, nil
	}
	f.beside = func(name string) string { return siblingOf(place, name, "") }
	return text, sig, err
}

func fileExists(path string) bool { _, err := os.Stat(path); return err == nil }

// siblingOf gives the address of another file of the same directory: its name, or the same name and a suffix.
func siblingOf(place, name, suffix string) string {
	query := ""
	if u, err := url.Parse(place); err == nil && (u.Scheme == "https" || u.Scheme == "http") {
		query = u.RawQuery
		u.RawQuery, u.Fragment = "", ""
		place = u.String()
	}
	if strings.HasPrefix(place, "oci:") { // another layer of the artifact
		artifact, title, _ := strings.Cut(place, "#")
		if name == "" {
			name = title
		}
		return artifact + "#" + name + suffix
	}
	rev := ""
	if strings.HasPrefix(place, "hf:") {
		if i := strings.LastIndexByte(place, '@'); i >= 0 {
			place, rev = place[:i], place[i:]
		}
	}
	if name != "" {
		place = place[:strings.LastIndexAny(place, "/:")+1] + name
	}
	if place += suffix + rev; query != "" {
		place += "?" + query
	}
	return place
}

// trustedKeys reads the user's file of keys and adds the project's own.
func trustedKeys(path string) ([]manifests.Key, error) {
	keys, err := manifests.ProjectKeys()
	if err != nil {
		return nil, err
	}
	named := path != ""
	if !named {
		dir, err := os.UserConfigDir()
		if err != nil {
			return keys, nil
		}
		path = filepath.Join(dir, "jns", "trusted-keys")
	}
	b, err := jnscli.ReadSmall(path, jnscli.MaxKeys)
	if !named && errors.Is(err, os.ErrNotExist) {
		return keys, nil
	}
	if err != nil {
		return nil, err
	}
	more, err := manifests.ParseKeys(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return append(keys, more...), nil
}

// embedded finds a published manifest: for the target asked for, or for the best that fits this machine.
func embedded(name, target string) (*manifests.Published, error) {
	if target != "" && target != "native" {
		return manifests.Find(name, target)
	}
	fit := compiler.Native()
	for _, t := range fit {
		if p, err := manifests.Find(name, t); err == nil {
			return p, nil
		}
	}
	_, err := manifests.Find(name, fit[0])
	return nil, err
}

// sources gives the addresses of a file of the manifest: those it names, the mirrors of the command line, the file beside the manifest.
func (f *found) sources(c *cli.Command, file string, at []string) []string {
	var out []string
	for _, m := range c.StringSlice("mirror") {
		if strings.HasSuffix(m, "/") {
			m += file
		}
		out = append(out, m)
	}
	for _, a := range at {
		// A manifest from elsewhere has no business with this machine's own servers and files.
		if own := strings.HasPrefix(a, "http:") || strings.HasPrefix(a, "file:"); !own || f.local || f.ownHost {
			out = append(out, a)
		}
	}
	if b := f.beside(file); b != "" {
		out = append(out, b)
	}
	var unique []string
	for _, a := range out {
		if !slices.Contains(unique, a) {
			unique = append(unique, a)
		}
	}
	return unique
}

// digests gives a list of the manifest in the form that package fetch takes.
func digests(ds []manifests.Digest) [][32]byte {
	if len(ds) == 0 {
		return nil
	}
	out := make([][32]byte, len(ds))
	for i, d := range ds {
		out[i] = d
	}
	return out
}

// containerSpec says what the published container is.
func (f *found) containerSpec(c *cli.Command, path string) fetch.Spec {
	k := &f.Container
	return fetch.Spec{
		Path: path, Name: k.File, Size: k.Bytes, SHA256: (*[32]byte)(&k.SHA256), Root: (*[32]byte)(&k.Root), Chunks: digests(k.Chunks),
		Sources: f.sources(c, k.File, k.At), Force: c.Bool("force"),
	}
}

// sourceSpec says what a file of the source is.
func (f *found) sourceSpec(c *cli.Command, s *manifests.SourceFile, path string) fetch.Spec {
	return fetch.Spec{
		Path: path, Name: s.File, Size: s.Bytes, SHA256: (*[32]byte)(&s.SHA256), Chunks: digests(s.Chunks), Sources: f.sources(c, s.File, s.At), Force: c.Bool("force"),
	}
}
