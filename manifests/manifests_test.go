package manifests

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"
	"github.com/stretchr/testify/require"
)

// example is a manifest of a container of two chunks.
func example() *Manifest {
	h := Digest{7}
	return &Manifest{
		Manifest: Version, Name: "fox-1b", Target: "x86-64-v4",
		Source: Source{Licence: "Apache-2.0", Repository: "example.org/fox", Files: []SourceFile{
			{File: "fox.gguf", Bytes: 3, SHA256: Digest{1}, HeaderSHA256: &h, Chunks: []Digest{{2}}},
		}},
		Compiler: Compiler{Name: "jnsc", Revision: 1, Options: "keep-unknown=false"},
		Container: Container{
			File: "fox-1b.x86-64-v4.jns", Bytes: 1<<20 + 1, SHA256: Digest{3}, Root: Digest{4}, TOC: Digest{5},
			Chain: []Link{{"source", Digest{6}}}, Sections: []SectionDigest{{"source", Digest{7}}}, Chunks: []Digest{{8}, {9}}, At: []string{"https://example.org/x"},
		},
		Memory: &Memory{Pinned: 1, Required: 2}, Measured: []Measure{{Machine: "m", Command: "c", DecodeTPS: 1.5}},
	}
}

func TestEncodeAndParseAgree(t *testing.T) {
	m := example()
	b, err := m.Encode()
	require.NoError(t, err)
	back, err := Parse(b)
	require.NoError(t, err)
	require.Equal(t, m, back)
	again, err := back.Encode()
	require.NoError(t, err)
	require.Equal(t, string(b), string(again))
}

// TestParseRefuses: names that are no plain names, digests that are none, lists that do not fit, and whatever the schema does not know.
func TestParseRefuses(t *testing.T) {
	for name, change := range map[string]func(*Manifest){
		"container with a path":     func(m *Manifest) { m.Container.File = "../x.jns" },
		"container in a directory":  func(m *Manifest) { m.Container.File = "a/x.jns" },
		"absolute name":             func(m *Manifest) { m.Container.File = "/etc/x" },
		"windows path":              func(m *Manifest) { m.Container.File = `a\x.jns` },
		"drive":                     func(m *Manifest) { m.Container.File = "c:x.jns" },
		"hidden name":               func(m *Manifest) { m.Container.File = ".profile" },
		"two dots":                  func(m *Manifest) { m.Container.File = "a..b" },
		"device":                    func(m *Manifest) { m.Container.File = "CON.jns" },
		"source with a path":        func(m *Manifest) { m.Source.Files[0].File = "../../x.gguf" },
		"source called as the file": func(m *Manifest) { m.Source.Files[0].File = m.Container.File },
		"name with a path":          func(m *Manifest) { m.Name = "../fox" },
		"target with a path":        func(m *Manifest) { m.Target = "a/b" },
		"too few chunks":            func(m *Manifest) { m.Container.Chunks = m.Container.Chunks[:1] },
		"too many chunks":           func(m *Manifest) { m.Source.Files[0].Chunks = make([]Digest, 2) },
		"no licence":                func(m *Manifest) { m.Source.Licence = "" },
		"no source":                 func(m *Manifest) { m.Source.Files = nil },
		"negative size":             func(m *Manifest) { m.Container.Bytes = -1 },
		"huge size":                 func(m *Manifest) { m.Container.Bytes = 1 << 60 },
		"address of another kind":   func(m *Manifest) { m.Container.At = []string{"ftp://example.org/x"} },
		"another version":           func(m *Manifest) { m.Manifest = 2 },
	} {
		m := example()
		change(m)
		_, err := m.Encode()
		require.ErrorIs(t, err, ErrManifest, name)
	}
	b, err := example().Encode()
	require.NoError(t, err)
	for name, change := range map[string][2]string{
		"digest with a path":  {`"sha256": "01`, `"sha256": "../`},
		"digest in capitals":  {strings.Repeat("0", 62), strings.Repeat("A", 62)},
		"unknown field":       {`"name":`, `"exec": "rm", "name":`},
		"field in other case": {`"name":`, `"Name":`},
		"cut":                 {"}", ""},
		"more after the end":  {"\n}\n", "\n}\n{}"},
		"key twice":           {`"name":`, `"name": "other", "name":`},
		"object twice":        {`"container": {`, `"container": {"at": ["ftp://example.org/x"]}, "container": {`},
		"list twice":          {`"files": [`, `"files": [{"at": ["ftp://example.org/x"]}], "files": [`},
		"too deep":            {`"name":`, `"x": [[[[[[[[]]]]]]]], "name":`},
	} {
		bad := strings.Replace(string(b), change[0], change[1], 1)
		require.NotEqual(t, string(b), bad, name)
		_, err := Parse([]byte(bad))
		require.ErrorIs(t, err, ErrManifest, name)
	}
}

// TestADocumentOfManyValuesIsNotHeldInMemory: what a server calls a manifest takes a few times its bytes at most.
func TestADocumentOfManyValuesIsNotHeldInMemory(t *testing.T) {
	b := append(append([]byte(`{"manifest": [`), bytes.Repeat([]byte("0,"), (MaxManifest-100)/2)...), "0]}"...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Parse(b)
	runtime.ReadMemStats(&after)
	require.ErrorIs(t, err, ErrManifest)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8*MaxManifest), "allocated in all, most of it one after the other")
}

func TestEmbeddedManifestsAreSoundAndFound(t *testing.T) {
	all, err := All()
	require.NoError(t, err)
	for _, m := range all {
		p, err := Find(m.Name, m.Target)
		require.NoError(t, err)
		require.Equal(t, m.Container.Root, p.Container.Root)
		b, err := m.Encode()
		require.NoError(t, err)
		require.Equal(t, string(m.Bytes), string(b), "%s was edited by hand", m.FileName())
	}
	_, err = Find("no-such-model", "portable")
	require.ErrorIs(t, err, ErrUnknown)
	_, err = ProjectKeys()
	require.NoError(t, err)
}

func read(t *testing.T, name string) []byte {
	b, err := os.ReadFile("testdata/minisign/" + name)
	require.NoError(t, err)
	return b
}

func TestMinisignsOwnFilesVerify(t *testing.T) {
	keys, err := ParseKeys(read(t, "minisign.pub"))
	require.NoError(t, err)
	require.Equal(t, "C373193807678450", keys[0].ID())
	s, err := Verify(read(t, "message.txt"), read(t, "message.txt.minisig"), keys, time.Now())
	require.NoError(t, err)
	require.Equal(t, int64(1614549543), s.At.Unix())

	// The key and the two signatures of the word "test" that minisign's documentation and its other implementations use: prehashed and not.
	keys, err = ParseKeys([]byte("RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3 documentation\n"))
	require.NoError(t, err)
	for _, sig := range []string{
		"untrusted comment: signature from minisign secret key\nRWQf6LRCGA9i59SLOFxz6NxvASXDJeRtuZykwQepbDEGt87ig1BNpWaVWuNrm73YiIiJbq71Wi+dP9eKL8OC351vwIasSSbXxwA=\n" +
			"trusted comment: timestamp:1555779966\tfile:test\nQtKMXWyYcwdpZAlPF7tE2ENJkRd1ujvKjlj1m9RtHTBnZPa5WKU5uWRs5GoP5M/VqE81QFuMKI5k/SfNQUaOAA==\n",
		"untrusted comment: signature from minisign secret key\nRUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=\n" +
			"trusted comment: timestamp:1556193335\tfile:test\ny/rUw2y8/hOUYjZU71eHp/Wo1KZ40fGy2VJEDl34XMJM+TX48Ss/17u3IvIfbVR1FkZZSNCisQbuQY+bHwhEBg==\n",
	} {
		_, err = Verify([]byte("test"), []byte(sig), keys, time.Now())
		require.NoError(t, err)
		_, err = Verify([]byte("Test"), []byte(sig), keys, time.Now())
		require.ErrorIs(t, err, ErrSignature)
	}
}

func TestSignaturesThatAreRefused(t *testing.T) {
	public, private, err := minisign.GenerateKey(rand.Reader)
	require.NoError(t, err)
	other, _, err := minisign.GenerateKey(rand.Reader)
	require.NoError(t, err)
	ours, theirs := []Key{{public, "us"}}, []Key{{other, "them"}}
	now := time.Unix(1_800_000_000, 0)
	msg := []byte("what was published")
	sig := Sign(private, msg, "x.json", now, now.Add(time.Hour))
	s, err := Verify(msg, sig, ours, now)
	require.NoError(t, err)
	require.Equal(t, "us", s.Key.Name)
	require.Equal(t, now.Add(time.Hour).Unix(), s.Expires.Unix())

	for name, c := range map[string]struct {
		msg, sig []byte
		keys     []Key
		at       time.Time
		says     string
	}{
		"missing":          {msg, nil, ours, now, "there is none"},
		"tampered message": {append(bytes.Clone(msg), '!'), sig, ours, now, "changed"},
		"tampered comment": {msg, bytes.Replace(sig, []byte("expires:18"), []byte("expires:19"), 1), ours, now, "changed"},
		"expired":          {msg, sig, ours, now.Add(time.Hour), "expired"},
		"wrong key":        {msg, sig, theirs, now, "not among"},
		"no keys":          {msg, sig, nil, now, "not among"},
		"no signature":     {msg, []byte("hello"), ours, now, "refused"},
		"too long":         {msg, make([]byte, maxSignature+1), ours, now, "too many"},
		"another's file":   {msg, Sign(private, []byte("other"), "y", now, time.Time{}), ours, now, "changed"},
		"cut":              {msg, sig[:len(sig)/2], ours, now, "refused"},
	} {
		_, err := Verify(c.msg, c.sig, c.keys, c.at)
		require.ErrorIs(t, err, ErrSignature, name)
		require.ErrorContains(t, err, c.says, name)
	}
	var good minisign.Signature
	require.NoError(t, good.UnmarshalText(bytes.TrimSpace(sig)))
	for i := range sig { // no byte of it can change unnoticed, but those of the untrusted comment, and unused bits of the encoding
		bad := bytes.Clone(sig)
		bad[i] ^= 1
		if _, err := Verify(msg, bad, ours, now); err == nil {
			var have minisign.Signature
			require.NoError(t, have.UnmarshalText(bytes.TrimSpace(bad)))
			require.True(t, good.Equal(have), "byte %d", i)
		}
	}
}

func TestTrustedKeysFile(t *testing.T) {
	public, _, err := minisign.GenerateKey(rand.Reader)
	require.NoError(t, err)
	keys, err := ParseKeys([]byte("# mine\n\nuntrusted comment: minisign public key\n" + public.String() + "\n" + public.String() + " a friend\n"))
	require.NoError(t, err)
	require.Len(t, keys, 2)
	require.Equal(t, "minisign public key", keys[0].Name)
	require.Equal(t, "a friend", keys[1].Name)
	_, err = ParseKeys([]byte("RWQ../nonsense"))
	require.ErrorIs(t, err, ErrSignature)
}

func TestStatementsAreSignedAndNameTheChain(t *testing.T) {
	public, private, err := minisign.GenerateKey(rand.Reader)
	require.NoError(t, err)
	keys := []Key{{public, ""}}
	text, err := example().SLSA(MinisignSigner(private))
	require.NoError(t, err)
	statement, err := OpenEnvelope(text, keys)
	require.NoError(t, err)
	for _, s := range []string{slsaType, Digest{1}.String(), Digest{3}.String(), Digest{4}.String(), Digest{6}.String(), `"target":"x86-64-v4"`} {
		require.Contains(t, string(statement), s)
	}
	var e Envelope
	require.NoError(t, json.Unmarshal(text, &e))
	e.Payload[10] ^= 1
	bad, err := json.Marshal(e)
	require.NoError(t, err)
	_, err = OpenEnvelope(bad, keys)
	require.ErrorIs(t, err, ErrSignature)
	_, err = OpenEnvelope(text, nil)
	require.ErrorIs(t, err, ErrSignature)
}

// TestModelSigningBundleIsWhatItsVerifierChecks: signature over the encoding, the subject's digest over those of the resources, the hint of the key.
func TestModelSigningBundleIsWhatItsVerifierChecks(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	by, err := PEMSigner(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	require.NoError(t, err)
	text, err := example().ModelSigning(by)
	require.NoError(t, err)
	var b struct {
		MediaType string
		Material  struct{ PublicKey struct{ Hint string } } `json:"verificationMaterial"`
		Envelope  Envelope                                  `json:"dsseEnvelope"`
	}
	require.NoError(t, json.Unmarshal(text, &b))
	require.Equal(t, bundleType, b.MediaType)
	require.Equal(t, by.ID, b.Material.PublicKey.Hint)
	require.True(t, ecdsa.VerifyASN1(&key.PublicKey, digestFor(384, pae(b.Envelope.PayloadType, b.Envelope.Payload)), b.Envelope.Signatures[0].Sig))
	sha := Digest{3}
	require.Contains(t, string(b.Envelope.Payload), Digest(sha256.Sum256(sha[:])).String())

	_, err = PEMSigner([]byte("nothing"))
	require.ErrorIs(t, err, ErrKey)
}

func FuzzParseManifest(f *testing.F) {
	b, err := example().Encode()
	require.NoError(f, err)
	f.Add(b)
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Parse(b)
		if err != nil {
			return
		}
		require.True(t, PlainName(m.Container.File))
		again, err := m.Encode()
		require.NoError(t, err)
		back, err := Parse(again)
		require.NoError(t, err)
		require.Equal(t, m.Container, back.Container)
	})
}

// TestWhatIsNoKeyToSignWithIsSaidSo, and what to name instead.
func TestWhatIsNoKeyToSignWithIsSaidSo(t *testing.T) {
	public, private, err := minisign.GenerateKey(rand.Reader)
	require.NoError(t, err)
	plain, err := private.MarshalText()
	require.NoError(t, err)
	encrypted, err := minisign.EncryptKey("right", private)
	require.NoError(t, err)
	open, err := public.MarshalText()
	require.NoError(t, err)
	for _, password := range []string{"", "any"} {
		k, err := ParsePrivateKey(plain, password)
		require.NoError(t, err)
		require.True(t, k.Equal(private))
	}
	k, err := ParsePrivateKey(encrypted, "right")
	require.NoError(t, err)
	require.True(t, k.Equal(private))
	for _, c := range []struct {
		text           []byte
		password, says string
	}{
		{encrypted, "", "set JNS_KEY_PASSWORD"}, {encrypted, "wrong", "JNS_KEY_PASSWORD does not hold"}, {open, "", "public key"}, {append(open, '\n'), "x", "public key"},
		{[]byte("text"), "", "jnsc keygen"}, {nil, "", "jnsc keygen"},
	} {
		_, err := ParsePrivateKey(c.text, c.password)
		require.ErrorIs(t, err, ErrKey)
		require.ErrorContains(t, err, c.says)
	}
}
