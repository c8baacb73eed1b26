package main

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"
	"github.com/stretchr/testify/require"
)

// TestBillOfMaterialsNamesWhatIsLinked describes a command as a release would, and holds the document to what CycloneDX demands of it.
func TestBillOfMaterialsNamesWhatIsLinked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jns-get")
	_, err := run("../../..", nil, "go", "build", "-trimpath", "-o", path, "./cmd/jns-get")
	require.NoError(t, err)
	binary, err := os.ReadFile(path)
	require.NoError(t, err)
	licences, err := readNotices("../../../THIRD_PARTY_NOTICES.md")
	require.NoError(t, err)
	text, err := run("../../..", nil, "go", "mod", "graph")
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
	path := filepath.Join(dir, "SHA256SUMS")
	require.NoError(t, sign(path, []byte("sums"), filepath.Join(dir, "key")))
	sig, err := os.ReadFile(path + ".minisig")
	require.NoError(t, err)
	require.True(t, minisign.Verify(public, []byte("sums"), sig[:len(sig)-1]))
	require.NoError(t, sign(path, []byte("sums"), ""))
	require.NoFileExists(t, path+".minisig")
}
