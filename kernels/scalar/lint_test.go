package scalar

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// allowedMath lists what product code may use of package math: operations whose results IEEE 754 or plain bit casting fixes on every
// platform. Everything else (Exp, Sin, Pow, …) has assembly or other variants whose last bits differ.
var allowedMath = map[string]bool{
	"Float32bits": true, "Float32frombits": true, "Float64bits": true, "Float64frombits": true, "FMA": true, "Sqrt": true,
	"Floor": true, "Ceil": true, "Trunc": true, "Round": true, "RoundToEven": true, "Abs": true, "Copysign": true, "Signbit": true,
	"Inf": true, "NaN": true, "IsNaN": true, "IsInf": true, "Max": true, "Min": true, "Mod": true, "Modf": true,
	"Frexp": true, "Ldexp": true, "Nextafter": true, "Nextafter32": true,
}

// Packages of test support (kerneltest, gguftest, …) are left out like test files.
func TestNoTranscendentalsOfPackageMath(t *testing.T) {
	root := moduleRoot(t)
	fset := token.NewFileSet()
	files := 0
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			if n := e.Name(); path != root && (n[0] == '.' || n[0] == '_' || n == "testdata" || n == "vendor" || strings.HasSuffix(n, "test")) {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil // the compiler's to report
		}
		files++
		name := ""
		for _, im := range f.Imports {
			if p, _ := strconv.Unquote(im.Path.Value); p == "math" {
				name = "math"
				if im.Name != nil {
					name = im.Name.Name
				}
			}
		}
		if name == "." {
			t.Errorf("%s: package math must not be imported with a dot", path)
		}
		if name == "" {
			return nil
		}
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := s.X.(*ast.Ident)
			if !ok || x.Name != name || allowedMath[s.Sel.Name] || constant(s.Sel.Name) {
				return true
			}
			t.Errorf("%s: math.%s gives different bits on different platforms; use kernels/scalar's functions or write one",
				fset.Position(s.Pos()), s.Sel.Name)
			return true
		})
		return nil
	})
	require.NoError(t, err)
	require.NotZero(t, files)
}

// constant reports whether a name of package math is a constant.
func constant(name string) bool {
	for _, p := range []string{"Max", "Min", "Smallest", "Sqrt"} {
		if strings.HasPrefix(name, p) && len(name) > len(p) {
			return true
		}
	}
	switch name {
	case "Pi", "E", "Phi", "Ln2", "Ln10", "Log2E", "Log10E":
		return true
	}
	return false
}

func moduleRoot(t *testing.T) string {
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		require.NotEqual(t, dir, up, "no go.mod above the package")
		dir = up
	}
}
