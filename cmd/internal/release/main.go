// Command release builds the commands for every platform twice, in two directories and with two caches, refuses if a byte differs, and writes the binaries with their
// bill of materials, checksums and, if a key is named, a signature.
//
// Its nouns: a platform, a build (all binaries of one directory), the bill of materials of a binary. It must not know what the commands do. It builds what is committed:
// each directory is a clone of HEAD.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"aead.dev/minisign"

	"jns/cmd/internal/output"
	"jns/manifests"
)

var commands = []string{"jnsc", "jns-run", "jns-get"}

const platforms = "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64"

func main() {
	out := flag.String("o", "dist", "directory to write")
	which := flag.String("platforms", platforms, "platforms to build for")
	toolchain := flag.String("toolchain", "", "the Go version to build with, such as go1.26.8")
	key := flag.String("key", os.Getenv("JNS_RELEASE_KEY"), "minisign private key to sign the checksums with; its password is in JNS_KEY_PASSWORD")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := release(ctx, *out, strings.Fields(*which), *toolchain, *key); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is the main path: clone twice, build twice, compare, describe, sum, sign.
func release(ctx context.Context, out string, which []string, toolchain, key string) error {
	if toolchain == "" {
		return errors.New("name the Go version with -toolchain: a release is built by a pinned one")
	}
	k, err := signingKey(key) // a wrong one is known at once, not after all is built
	if err != nil {
		return err
	}
	work, remove, err := output.TempDir("jns-release-")
	if err != nil {
		return err
	}
	defer remove()
	head, err := run(ctx, "", nil, "git", "rev-parse", "HEAD") // once: the branch may move while the first build runs
	if err != nil {
		return err
	}
	// Names of different length: a path that leaked into a binary would change its size too.
	a, b := filepath.Join(work, "a"), filepath.Join(work, "another-directory", "b")
	var builds [2]map[string][]byte
	for i, dir := range []string{a, b} {
		if builds[i], err = build(ctx, dir, strings.TrimSpace(string(head)), filepath.Join(work, fmt.Sprint("cache", i)), which, toolchain); err != nil {
			return err
		}
	}
	if err := same(builds[0], builds[1]); err != nil {
		return err
	}
	return write(ctx, out, a, builds[0], k)
}

// build clones a revision into dir and builds every command for every platform there. It returns the binaries by name.
func build(ctx context.Context, dir, revision, cache string, which []string, toolchain string) (map[string][]byte, error) {
	if _, err := run(ctx, "", nil, "git", "clone", "--quiet", "--no-hardlinks", "--no-checkout", ".", dir); err != nil {
		return nil, err
	}
	if _, err := run(ctx, dir, nil, "git", "checkout", "--quiet", "--detach", revision); err != nil {
		return nil, err
	}
	made := map[string][]byte{}
	for _, p := range which {
		goos, arch, ok := strings.Cut(p, "/")
		if !ok {
			return nil, fmt.Errorf("%q is no platform: write OS/ARCH", p)
		}
		// Nothing of the caller's settings may reach the binaries.
		env := []string{"GOOS=" + goos, "GOARCH=" + arch, "CGO_ENABLED=0", "GOFLAGS=", "GOENV=off", "GOTOOLCHAIN=" + toolchain, "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0",
			"GOWORK=off", "GOCACHE=" + cache}
		for _, c := range commands {
			name := c + "-" + goos + "-" + arch
			if goos == "windows" {
				name += ".exe"
			}
			target := filepath.Join(cache+"-out", name) // outside of the clone, which must stay unchanged
			fmt.Fprintf(os.Stderr, "%s: %s\n", filepath.Base(dir), name)
			if _, err := run(ctx, dir, env, "go", "build", "-trimpath", "-buildvcs=true", "-mod=readonly", "-ldflags=-s -w -buildid=", "-o", target, "./cmd/"+c); err != nil {
				return nil, err
			}
			b, err := os.ReadFile(target)
			if err != nil {
				return nil, err
			}
			made[name] = b
		}
	}
	return made, nil
}

func run(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	b, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, stderr.Bytes())
	}
	return b, nil
}

// same compares two builds byte for byte.
func same(a, b map[string][]byte) error {
	if len(a) != len(b) {
		return fmt.Errorf("%d binaries in the first build, %d in the second", len(a), len(b))
	}
	for _, name := range names(a) {
		if !bytes.Equal(a[name], b[name]) {
			return fmt.Errorf("%s is not reproducible: SHA-256 %s and %s", name, digest(a[name]), digest(b[name]))
		}
	}
	return nil
}

func names(m map[string][]byte) []string {
	var out []string
	for n := range m {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

func digest(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// write fills the directory: binaries, a bill of materials for each, SHA256SUMS of all, its signature.
func write(ctx context.Context, out, source string, made map[string][]byte, key *minisign.PrivateKey) error {
	licences, err := readNotices(filepath.Join(source, "THIRD_PARTY_NOTICES.md"))
	if err != nil {
		return err
	}
	graph, err := run(ctx, source, []string{"GOFLAGS=-mod=readonly", "GOWORK=off"}, "go", "mod", "graph")
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	for name, b := range made {
		files[name] = b
		if files[name+".cdx.json"], err = billOfMaterials(name, b, parseGraph(graph), licences); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return put(out, files, made, key)
}

// put writes files, those that are programs with the right to run, and what proves them.
func put(out string, files, programs map[string][]byte, key *minisign.PrivateKey) error {
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	// The sums speak for the files beside them: those of an earlier release go first, the new ones come last.
	sumsFile := filepath.Join(out, "SHA256SUMS")
	for _, old := range []string{sumsFile + manifests.SignatureSuffix, sumsFile} {
		if err := os.Remove(old); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	var sums strings.Builder
	for _, name := range names(files) {
		fmt.Fprintf(&sums, "%s  %s\n", digest(files[name]), name)
		mode := os.FileMode(0o666)
		if programs[name] != nil {
			mode = 0o777
		}
		if err := output.WriteBytes(filepath.Join(out, name), mode, files[name]); err != nil {
			return err
		}
	}
	if err := output.WriteBytes(sumsFile, 0o666, []byte(sums.String())); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d binaries, twice the same; wrote %s\n", len(programs), out)
	if key == nil {
		fmt.Fprintln(os.Stderr, "not signed: name a key with -key or JNS_RELEASE_KEY")
		return nil
	}
	comment := fmt.Sprintf("timestamp:%d\tfile:%s", time.Now().Unix(), filepath.Base(sumsFile))
	return output.WriteBytes(sumsFile+manifests.SignatureSuffix, 0o666, append(minisign.SignWithComments(*key, []byte(sums.String()), comment, "checksums of a release"), '\n'))
}

// signingKey reads the key of that file; without a name there is none.
func signingKey(path string) (*minisign.PrivateKey, error) {
	if path == "" {
		return nil, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	k, err := manifests.ParsePrivateKey(b, os.Getenv("JNS_KEY_PASSWORD"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &k, nil
}
