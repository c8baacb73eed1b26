package main

import (
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"
	"github.com/rogpeppe/go-internal/testscript"

	"jns/compiler"
	"jns/manifests"
)

var update = flag.Bool("update", false, "write golden files anew")

const tinyDir = "../../testdata/models/tiny"

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"jns-get": main})
}

// TestStories runs what a user could type, failures included: testdata/*.txtar. $PUB is a directory with a container of the repository's tiny model, its source and its
// manifest, signed; $URL serves it; $KEY is the file of the public key; $REGISTRY is an OCI registry. jnsc can be called too.
func TestStories(t *testing.T) {
	dir := publish(t)
	reg := newRegistry(t)
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			s := httptest.NewServer(http.FileServer(http.Dir(dir)))
			e.Defer(s.Close)
			for k, v := range map[string]string{"PUB": filepath.ToSlash(dir), "URL": s.URL, "KEY": filepath.Join(dir, "us.pub"), "OTHER": filepath.Join(dir, "them.pub"), "NO_COLOR": "1",
				"HF_ENDPOINT": s.URL, "REGISTRY": strings.TrimPrefix(reg.URL, "http://"), "HOME": e.WorkDir, "XDG_CONFIG_HOME": e.WorkDir} {
				e.Setenv(k, v)
			}
			sum, err := os.ReadFile(filepath.Join(dir, "sha256"))
			e.Setenv("SHA256", string(sum))
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "flip": flip, "serve": serve},
	})
}

// publish makes the directory that the stories fetch from. It writes what jnsc publish would, by the same packages.
func publish(t *testing.T) string {
	dir := t.TempDir()
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	source := filepath.Join(tinyDir, "jns-tiny.gguf")
	out := filepath.Join(dir, "jns-tiny.portable.jns")
	_, err := compiler.Compile(t.Context(), compiler.Options{Source: source, Output: out, Target: "portable"})
	check(err)
	bin := t.TempDir()
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	build := filepath.Join(bin, "jnsc")
	check(exec.Command("go", "build", "-o", build, "../jnsc").Run())
	_, private, err := minisign.GenerateKey(nil)
	check(err)
	text, err := private.MarshalText()
	check(err)
	key := filepath.Join(t.TempDir(), "key")
	check(os.WriteFile(key, text, 0o600))
	if b, err := exec.Command(build, "publish", dir, "--source", source, "--key", key).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	gguf, err := os.ReadFile(source)
	check(err)
	check(os.WriteFile(filepath.Join(dir, "jns-tiny.gguf"), gguf, 0o666))
	check(os.WriteFile(filepath.Join(dir, "us.pub"), []byte(private.Public().(minisign.PublicKey).String()+" us\n"), 0o666))
	other, _, err := minisign.GenerateKey(nil)
	check(err)
	check(os.WriteFile(filepath.Join(dir, "them.pub"), []byte(other.String()+" them\n"), 0o666))
	b, err := os.ReadFile(filepath.Join(dir, "jns-tiny.portable.json"))
	check(err)
	m, err := manifests.Parse(b)
	check(err)
	check(os.WriteFile(filepath.Join(dir, "sha256"), []byte(m.Container.SHA256.String()), 0o666))
	hub := filepath.Join(dir, "org", "repo", "resolve", "main")
	check(os.MkdirAll(hub, 0o777))
	check(os.Symlink(out, filepath.Join(hub, "jns-tiny.portable.jns")))
	return dir
}

var zeroTime time.Time

// serve DIR: a static server of the directory, whose address is $SITE.
func serve(ts *testscript.TestScript, _ bool, args []string) {
	s := httptest.NewServer(http.FileServer(http.Dir(ts.MkAbs(args[0]))))
	ts.Defer(s.Close)
	ts.Setenv("SITE", s.URL)
}

// exits CODE COMMAND…: the command ends with the exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var e *exec.ExitError
		if !errors.As(err, &e) {
			ts.Fatalf("%v", err)
		}
		code = e.ExitCode()
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, wanted %s", code, args[0])
	}
}

// flip FILE OFFSET…: one bit of the byte at each offset.
func flip(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_RDWR, 0)
	ts.Check(err)
	defer f.Close()
	for _, a := range args[1:] {
		at, err := strconv.ParseInt(a, 0, 64)
		ts.Check(err)
		b := make([]byte, 1)
		_, err = f.ReadAt(b, at)
		ts.Check(err)
		b[0] ^= 8
		_, err = f.WriteAt(b, at)
		ts.Check(err)
	}
}
