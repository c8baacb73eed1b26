package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"aead.dev/minisign"
	"github.com/stretchr/testify/require"
)

func TestBillOfMaterialsNamesWhatIsLinked(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	binary, err := os.ReadFile(self)
	require.NoError(t, err)
	licences, err := readNotices("../../../THIRD_PARTY_NOTICES.md")
	require.NoError(t, err)
	require.Equal(t, "MIT", licences["aead.dev/minisign"])
	graph := parseGraph([]byte("jns aead.dev/minisign@v0.3.0\naead.dev/minisign@v0.3.0 golang.org/x/crypto@v0.1.0\n"))
	doc, err := billOfMaterials("self", binary, graph, licences)
	if err != nil { // a test binary built without module information, or with modules of tests only
		t.Skip(err)
	}
	again, err := billOfMaterials("self", binary, graph, licences)
	require.NoError(t, err)
	require.Equal(t, string(doc), string(again))
	var d struct {
		BomFormat  string
		Components []struct{ Name, Version string }
	}
	require.NoError(t, json.Unmarshal(doc, &d))
	require.Equal(t, "CycloneDX", d.BomFormat)
	var names []string
	for _, c := range d.Components {
		names = append(names, c.Name)
	}
	require.Contains(t, names, "aead.dev/minisign")
	_, err = billOfMaterials("self", binary, graph, map[string]string{})
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
