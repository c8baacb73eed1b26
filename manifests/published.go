package manifests

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed published
var published embed.FS

//go:embed keys
var keyFiles embed.FS

// Published is a manifest of the embedded set with the bytes that a signature covers.
type Published struct {
	*Manifest
	Bytes     []byte
	Signature []byte // empty: not signed
}

var all = sync.OnceValues(func() ([]Published, error) { return readAll(published, "published") })

// All gives the embedded manifests in the order of names and targets.
func All() ([]Published, error) { return all() }

// readAll reads every manifest of a directory and its signature.
func readAll(fsys fs.FS, dir string) ([]Published, error) {
	names, err := fs.Glob(fsys, path.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var out []Published
	for _, n := range names {
		b, err := fs.ReadFile(fsys, n)
		if err != nil {
			return nil, err
		}
		m, err := Parse(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n, err)
		}
		if path.Base(n) != m.FileName() {
			return nil, fmt.Errorf("%s: %w: it must be called %s", n, ErrManifest, m.FileName())
		}
		sig, err := fs.ReadFile(fsys, n+SignatureSuffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // one that cannot be read is not the same as none
			return nil, err
		}
		out = append(out, Published{m, b, sig})
	}
	slices.SortFunc(out, func(a, b Published) int {
		return strings.Compare(a.Name+"\x00"+a.Target, b.Name+"\x00"+b.Target)
	})
	return out, nil
}

// ReadDir reads every manifest of a directory of the file system, in the order of names and targets.
func ReadDir(fsys fs.FS) ([]Published, error) { return readAll(fsys, ".") }

// Find gives the embedded manifest of a model for a target; errors wrap ErrUnknown and list what there is.
func Find(name, target string) (*Published, error) {
	ms, err := All()
	if err != nil {
		return nil, err
	}
	var targets, names []string
	for i := range ms {
		if ms[i].Name == name {
			if ms[i].Target == target {
				return &ms[i], nil
			}
			targets = append(targets, ms[i].Target)
		}
		names = append(names, ms[i].Name)
	}
	if len(targets) > 0 {
		return nil, fmt.Errorf("%w: %s is not published for target %q; there is: %s", ErrUnknown, name, target, strings.Join(targets, ", "))
	}
	names = slices.Compact(names)
	return nil, fmt.Errorf("%w: %q; there is: %s", ErrUnknown, name, strings.Join(names, ", "))
}

// ProjectKeys gives the embedded public keys: those of the project.
func ProjectKeys() ([]Key, error) {
	names, err := fs.Glob(keyFiles, "keys/*.pub")
	if err != nil {
		return nil, err
	}
	var keys []Key
	for _, n := range names {
		b, err := fs.ReadFile(keyFiles, n)
		if err != nil {
			return nil, err
		}
		ks, err := ParseKeys(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n, err)
		}
		keys = append(keys, ks...)
	}
	return keys, nil
}
