package main

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"
	"github.com/stretchr/testify/require"

	"jns/manifests"
)

// TestBillOfMaterialsNamesWhatIsLinked describes a command as a release would, and holds the document to what CycloneDX demands of it.
func TestBillOfMaterialsNamesWhatIsLinked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jns-get")
	_, err := run(t.Context(), "../../..", nil, "go", "build", "-trimpath", "-o", path, "./cmd/jns-get")
	require.NoError(t, err)
	binary, err := os.ReadFile(path)
	require.NoError(t, err)
	licences, err := readNotices("../../../THIRD_PARTY_NOTICES.md")
	require.NoError(t, err)
	text, err := run(t.Context(), "../../..", nil, "go", "mod", "graph")
	require.NoError(t, err)
	graph := parseGraph(text)
	doc, err := billOfMaterials("jns-get", binary, graph, licences)
	require.NoError(t, err)
	again, err := billOfMaterials("jns-get", binary, graph, licences)
	require.NoError(t, err)
	require.Equal(t, string(doc), string(again))
	type component struct {
		Type, Name, Version, Purl string
		Ref                       string `json:"bom-ref"`
		Hashes                    []struct{ Alg, Content string }
		Licenses                  []struct {
			License    struct{ ID string }
			Expression string
		}
	}
	var d struct {
		BomFormat, SpecVersion, SerialNumber string
		Metadata                             struct{ Component component }
		Components                           []component
		Dependencies                         []struct {
			Ref       string
			DependsOn []string
		}
	}
	require.NoError(t, json.Unmarshal(doc, &d))
	require.Equal(t, "CycloneDX", d.BomFormat)
	require.Equal(t, "1.6", d.SpecVersion)
	require.Regexp(t, "^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$", d.SerialNumber)
	main := d.Metadata.Component
	require.Equal(t, "application", main.Type)
	require.Equal(t, digest(binary), main.Hashes[0].Content)
	refs := map[string]bool{main.Ref: true}
	var names []string
	for _, c := range d.Components {
		require.False(t, refs[c.Ref], "%s twice", c.Ref)
		refs[c.Ref] = true
		names = append(names, c.Name)
		require.Equal(t, "library", c.Type)
		require.Equal(t, "pkg:golang/"+c.Name+"@"+c.Version, c.Purl)
		require.Len(t, c.Licenses, 1, c.Name)
		for _, id := range strings.Split(cmp.Or(c.Licenses[0].License.ID, c.Licenses[0].Expression), " AND ") {
			require.Contains(t, []string{"MIT", "Apache-2.0", "BSD-3-Clause", "CC0-1.0", "Unlicense"}, id, "%s: no SPDX identifier known here", c.Name)
		}
	}
	require.Subset(t, names, []string{"std", "aead.dev/minisign", "oras.land/oras-go/v2", "github.com/zeebo/blake3"})
	require.Len(t, d.Dependencies, len(d.Components)) // the command itself stands for the standard library, which has none
	for _, x := range d.Dependencies {
		require.True(t, refs[x.Ref], x.Ref)
		for _, on := range x.DependsOn {
			require.True(t, refs[on], on)
		}
	}
	_, err = billOfMaterials("jns-get", binary, graph, map[string]string{})
	require.ErrorContains(t, err, "does not name")
}

func TestBuildsThatDifferAreRefused(t *testing.T) {
	require.NoError(t, same(map[string][]byte{"a": {1}}, map[string][]byte{"a": {1}}))
	require.ErrorContains(t, same(map[string][]byte{"a": {1}}, map[string][]byte{"a": {2}}), "not reproducible")
	require.Error(t, same(map[string][]byte{"a": {1}}, nil))
}

func TestChecksumsAreSigned(t *testing.T) {
	public, private, err := minisign.GenerateKey(nil)
	require.NoError(t, err)
	text, err := private.MarshalText()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "key"), text, 0o600))
	key, err := signingKey(filepath.Join(dir, "key"))
	require.NoError(t, err)
	out, path := filepath.Join(dir, "out"), filepath.Join(dir, "out", "SHA256SUMS")
	files := map[string][]byte{"program": []byte("x"), "program.json": []byte("{}")}
	require.NoError(t, put(out, files, map[string][]byte{"program": []byte("x")}, key))
	sums, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, digest([]byte("x"))+"  program\n"+digest([]byte("{}"))+"  program.json\n", string(sums))
	sig, err := os.ReadFile(path + ".minisig")
	require.NoError(t, err)
	require.True(t, minisign.Verify(public, sums, sig[:len(sig)-1]))
	st, err := os.Stat(filepath.Join(out, "program"))
	require.NoError(t, err)
	require.NotZero(t, st.Mode()&0o100)

	// the signature of an earlier release would be wrong
	require.NoError(t, put(out, files, nil, nil))
	require.NoFileExists(t, path+".minisig")

	// nor do old sums stay where a file could not be written
	require.NoError(t, os.Mkdir(filepath.Join(out, "program"+".partial"), 0o777))
	require.Error(t, put(out, files, nil, key))
	require.NoFileExists(t, path)
}

// TestAWrongKeyIsSaidBeforeAnythingIsBuilt.
func TestAWrongKeyIsSaidBeforeAnythingIsBuilt(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(key, []byte("nothing"), 0o600))
	require.ErrorIs(t, release(t.Context(), t.TempDir(), nil, "go1.26", key), manifests.ErrKey)
}

// TestAnInterruptedReleaseLeavesNothing in the directory of temporary files.
func TestAnInterruptedReleaseLeavesNothing(t *testing.T) {
	tmp, out := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Chdir("../../..")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	require.ErrorIs(t, release(ctx, out, []string{"linux/amd64"}, runtime.Version(), ""), context.Canceled)
	for _, dir := range []string{tmp, out} {
		list, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, list)
	}
}
