// Package cmd_test holds the policies of the whole repository: what may import what, how long a file may be, what must not be mentioned where.
package cmd_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// policy says which of our packages a package may import. "…/*" means everything below, at any depth. A package that is not here fails the
// test, so that nobody adds one without placing it. Downwards only: nothing below a line may need the line.
var policy = map[string]string{
	// What both sides know.
	"format":            "",
	"format/check":      "format",
	"format/formattest": "format",
	"format/routing":    "",

	// Arithmetic: tiles and processors, no files, no models.
	"kernels/tile":       "",
	"kernels/arg":        "",
	"kernels/cpu":        "",
	"kernels/amd64":      "",
	"kernels/arm64":      "",
	"kernels/scalar":     "kernels/tile kernels/arg",
	"kernels":            "kernels/tile kernels/arg kernels/cpu kernels/scalar kernels/amd64 kernels/arm64",
	"kernels/cases":      "kernels kernels/tile kernels/cpu kernels/scalar",
	"kernels/selftest":   "kernels kernels/cases kernels/tile kernels/cpu",
	"kernels/kerneltest": "kernels kernels/cases kernels/tile kernels/arg kernels/cpu kernels/scalar",

	// The compiler. Only its face is public.
	"compiler/internal/gguf":          "",
	"compiler/internal/gguf/gguftest": "compiler/internal/gguf",
	"compiler/internal/vocab":         "compiler/internal/gguf format",
	"compiler/internal/arch":          "compiler/internal/gguf format",
	"compiler/internal/lower":         "compiler/internal/arch compiler/internal/gguf format",
	"compiler/internal/plan":          "compiler/internal/gguf format format/routing kernels/tile",
	"compiler/internal/roofline":      "compiler/internal/plan kernels/tile kernels/amd64 kernels/arm64",
	"compiler/internal/pack":          "compiler/internal/plan compiler/internal/gguf format kernels/tile",
	"compiler/internal/provenance":    "compiler/internal/gguf format",
	"compiler/internal/restore":       "compiler/internal/pack compiler/internal/plan compiler/internal/gguf format kernels/tile",
	"compiler":                        "compiler/internal/* format format/check format/routing kernels/tile kernels/cpu",

	// The runtime. It cannot import compiler/internal (the toolchain refuses) and must not import the rest of the compiler.
	"runtime/internal/store":   "",
	"runtime/internal/expert":  "runtime/internal/store format/routing",
	"runtime/internal/sched":   "",
	"runtime/internal/kv":      "",
	"runtime/internal/sample":  "",
	"runtime/internal/stream":  "",
	"runtime/internal/grammar": "",
	"runtime/internal/jinja":   "",
	"runtime/internal/token":   "format",
	"runtime/internal/chat":    "runtime/internal/jinja",
	"runtime/internal/exec":    "runtime/internal/kv runtime/internal/sched format kernels kernels/tile kernels/arg",
	"runtime/engine":           "runtime/internal/* format format/check format/routing kernels kernels/tile kernels/selftest",
	"runtime/server":           "runtime/engine",

	"manifests":          "format",
	"manifests/modelsmd": "manifests",

	// Commands: thin.
	"cmd":                        "",
	"cmd/internal/cli":           "",
	"cmd/internal/output":        "",
	"cmd/internal/progress":      "cmd/internal/cli",
	"cmd/jnsc":                   "compiler format manifests cmd/internal/cli cmd/internal/output cmd/internal/progress",
	"cmd/jns-get":                "cmd/jns-get/internal/fetch manifests compiler format cmd/internal/cli cmd/internal/progress",
	"cmd/jns-get/internal/fetch": "format",
	"cmd/jns-run":                "runtime/engine runtime/server format cmd/internal/cli cmd/internal/output",
	"cmd/internal/agree":         "compiler runtime/engine format cmd/internal/cli cmd/internal/peer/child",
	"cmd/internal/peer":          "cmd/internal/peer/child cmd/internal/cli",
	"cmd/internal/release":       "manifests cmd/internal/output",
	"cmd/internal/synth":         "kernels/tile",
	"cmd/internal/streamtest":    "",
	"cmd/internal/peer/child":    "",
}

// inTests says what the tests of a package may import besides itself, what it imports and the packages that exist for tests (…test).
var inTests = map[string]string{
	"format":                 "format/check",
	"format/check":           "format/formattest",
	"kernels":                "kernels/kerneltest",
	"runtime/internal/token": "compiler/internal/*",
	"runtime/internal/exec":  "format/check kernels/scalar",
	"runtime/engine":         "compiler",
	"runtime/server":         "compiler",
	"cmd/jns-run":            "compiler",
	"cmd/jnsc":               "format/routing",
	"cmd/internal/synth":     "compiler runtime/engine runtime/server",
}

// modules says which packages may import a module from outside. Each has its reason in RATIONALE.md.
var modules = map[string]string{
	"github.com/fxamacker/cbor/v2":             "format",
	"github.com/zeebo/blake3":                  "format format/formattest runtime/engine compiler compiler/internal/* cmd/jns-get/internal/fetch cmd/jnsc",
	"github.com/klauspost/cpuid/v2":            "kernels/cpu",
	"github.com/urfave/cli/v3":                 "cmd/*",
	"github.com/vbauerster/mpb/v8":             "cmd/*",
	"golang.org/x/term":                        "cmd/*",
	"golang.org/x/sys":                         "runtime/internal/store runtime/internal/sched kernels/cpu cmd/*",
	"golang.org/x/text":                        "runtime/internal/jinja runtime/internal/token compiler/internal/vocab",
	"aead.dev/minisign":                        "manifests cmd/jnsc cmd/internal/release",
	"github.com/santhosh-tekuri/jsonschema/v6": "manifests",
	"github.com/opencontainers/go-digest":      "cmd/jns-get/internal/fetch",
	"github.com/opencontainers/image-spec":     "cmd/jns-get/internal/fetch",
	"oras.land/oras-go/v2":                     "cmd/jns-get/internal/fetch",
	"github.com/prometheus":                    "tests",
	"github.com/openai/openai-go/v3":           "tests",
	"github.com/stretchr/testify":              "tests",
	"pgregory.net/rapid":                       "tests",
	"github.com/rogpeppe/go-internal":          "tests",
}

// file is one parsed Go file of the repository, whatever system it is for.
type file struct {
	path string // slash-separated, from the root
	pkg  string // folder
	test bool
	ast  *ast.File
	text []byte
}

const root = ".."

func files(t *testing.T) []file {
	var out []file
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if n := d.Name(); d.IsDir() && p != root && (strings.HasPrefix(n, ".") || n == "testdata" || n == "bin" || n == "_asm") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(p) != ".go" {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		tree, err := parser.ParseFile(fset, p, text, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		out = append(out, file{rel, path.Dir(rel), strings.HasSuffix(rel, "_test.go"), tree, text})
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, out)
	return out
}

// within reports whether a package is in a list of packages and patterns.
func within(pkg, list string) bool {
	return slices.ContainsFunc(strings.Fields(list), func(p string) bool {
		dir, all := strings.CutSuffix(p, "/*")
		return p == pkg || all && (pkg == dir || strings.HasPrefix(pkg, dir+"/"))
	})
}

func TestPackagesImportOnlyWhatThePolicyAllows(t *testing.T) {
	for _, f := range files(t) {
		allowed, ok := policy[f.pkg]
		if !ok {
			t.Errorf("%s: package %s is not in the table of cmd/deps_test.go: place it", f.path, f.pkg)
			continue
		}
		for _, i := range f.ast.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			require.NoError(t, err)
			switch ours, isOurs := strings.CutPrefix(name, "jns/"); {
			case isOurs:
				good := within(ours, allowed) || f.test && (ours == f.pkg || strings.HasSuffix(ours, "test") || within(ours, inTests[f.pkg]))
				if !good {
					t.Errorf("%s: %s must not import %s", f.path, f.pkg, ours)
				}
			case strings.Contains(strings.Split(name, "/")[0], "."):
				checkModule(t, f, name)
			}
		}
	}
}

func checkModule(t *testing.T, f file, name string) {
	for m, who := range modules {
		if name != m && !strings.HasPrefix(name, m+"/") {
			continue
		}
		if !(f.test || strings.HasSuffix(f.pkg, "test")) && !within(f.pkg, who) {
			t.Errorf("%s: %s must not import %s; allowed: %s", f.path, f.pkg, name, who)
		}
		return
	}
	t.Errorf("%s: module of %s is not in the table of cmd/deps_test.go", f.path, name)
}

// TestNoticesNameEveryModule: whoever brings a module in also says under which licence.
func TestNoticesNameEveryModule(t *testing.T) {
	notices, err := os.ReadFile(filepath.Join(root, "THIRD_PARTY_NOTICES.md"))
	require.NoError(t, err)
	for _, f := range files(t) {
		for _, i := range f.ast.Imports {
			name := strings.Trim(i.Path.Value, `"`)
			for m := range modules {
				if (name == m || strings.HasPrefix(name, m+"/")) && !strings.Contains(string(notices), "| "+m) {
					t.Errorf("%s imports %s, which THIRD_PARTY_NOTICES.md does not name", f.path, m)
				}
			}
		}
	}
}

func TestPolicyNamesNoPackageTwiceAndNothingUpwards(t *testing.T) {
	for pkg, allowed := range policy {
		for _, a := range strings.Fields(allowed) {
			require.NotEqual(t, pkg, a)
			if strings.HasPrefix(pkg, "runtime/") {
				require.False(t, strings.HasPrefix(a, "compiler"), "%s: the runtime must not know the compiler", pkg)
			}
			if strings.HasPrefix(pkg, "compiler") {
				require.False(t, strings.HasPrefix(a, "runtime"), "%s: the compiler must not know the runtime", pkg)
			}
		}
	}
}

func TestEveryPackageHasAComment(t *testing.T) {
	has := map[string]bool{}
	for _, f := range files(t) {
		if f.test && path.Base(f.path) != "deps_test.go" {
			continue
		}
		has[f.pkg] = has[f.pkg] || f.ast.Doc != nil && len(f.ast.Doc.Text()) > 40
	}
	for pkg, ok := range has {
		if !ok {
			t.Errorf("package %s has no comment that says what it is and what it must not know", pkg)
		}
	}
}

// generated reports whether a file was written by a program.
func generated(f file) bool {
	return ast.IsGenerated(f.ast)
}

func TestFilesHaveAtMost700Lines(t *testing.T) {
	for _, f := range files(t) {
		if n := bytes.Count(f.text, []byte("\n")); n > 700 && !generated(f) {
			t.Errorf("%s has %d lines: it wants to be two files", f.path, n)
		}
	}
}

// TestFilesOfArchitecturesHaveAtMost400Lines: a family is one file, which builds what it has of what all share.
func TestFilesOfArchitecturesHaveAtMost400Lines(t *testing.T) {
	seen := 0
	for _, f := range files(t) {
		if f.pkg != "compiler/internal/arch" {
			continue
		}
		seen++
		if n := bytes.Count(f.text, []byte("\n")); n > 400 {
			t.Errorf("%s has %d lines, at most 400 are allowed", f.path, n)
		}
	}
	require.Greater(t, seen, 100)
}

// namesOf matches the name of any architecture that the compiler registers, not within a longer word: "decimal" does not name "deci".
func namesOf(t *testing.T, all []file) *regexp.Regexp {
	var names []string
	for _, f := range all {
		if f.pkg != "compiler/internal/arch" || f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok && len(c.Args) > 0 {
				if id, ok := c.Fun.(*ast.Ident); ok && id.Name == "register" {
					if l, ok := c.Args[0].(*ast.BasicLit); ok {
						s, err := strconv.Unquote(l.Value)
						require.NoError(t, err)
						names = append(names, s)
					}
				}
			}
			return true
		})
	}
	require.Contains(t, names, "llama", "the names of architectures were not found where they are registered")
	for i := range names {
		names[i] = regexp.QuoteMeta(names[i])
	}
	return regexp.MustCompile(`(?i)(?:^|[^a-z])(` + strings.Join(names, "|") + `)(?:$|[^a-z])`)
}

// namedIn lists what strings and identifiers of a file name an architecture.
func namedIn(f *ast.File, named *regexp.Regexp) (out []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if n.Kind == token.STRING && named.MatchString(n.Value) {
				out = append(out, n.Value)
			}
		case *ast.Ident:
			if m := named.FindString(n.Name); m == n.Name && m != "" {
				out = append(out, n.Name)
			}
		}
		return true
	})
	return out
}

// TestRuntimeMentionsNoArchitecture keeps model families data: no string or identifier in the runtime names one that the compiler registers.
func TestRuntimeMentionsNoArchitecture(t *testing.T) {
	all := files(t)
	named, seen := namesOf(t, all), 0
	for _, f := range all {
		if f.test || !strings.HasPrefix(f.pkg, "runtime/") && f.pkg != "cmd/jns-run" {
			continue
		}
		seen++
		for _, s := range namedIn(f.ast, named) {
			if f.pkg == "runtime/internal/token" && !strings.ContainsAny(s, "\"`") {
				continue // rules of splitting words have the names of those who first had them, whatever architecture uses them
			}
			t.Errorf("%s: %s names an architecture; the program in the container must say it instead", f.path, s)
		}
	}
	require.Greater(t, seen, 50)
}

func TestNamesOfArchitecturesWouldBeFound(t *testing.T) {
	named := namesOf(t, files(t))
	for text, want := range map[string][]string{
		`if c.Arch == "llama" {}`:         {`"llama"`},
		`if c.Arch == "x-Qwen3moe" {}`:    {`"x-Qwen3moe"`},
		`switch a { case "kimi-k3": }`:    {`"kimi-k3"`},
		`mamba2()`:                        {"mamba2"},
		`fmt.Print("decimal llamas 1.5")`: nil,
		`deciliter()`:                     nil,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nimport \"llama\"\nfunc x() { "+text+" }", 0)
		require.NoError(t, err, text)
		require.Equal(t, want, namedIn(f, named), text)
	}
}

// TestNoFileNamesThisMachine: what a clone holds makes sense on every machine.
func TestNoFileNamesThisMachine(t *testing.T) {
	for _, f := range files(t) {
		if path.Base(f.path) == "deps_test.go" {
			continue
		}
		for _, s := range []string{"/root/", "/work/"} {
			require.NotContains(t, string(f.text), s, f.path)
		}
	}
}
