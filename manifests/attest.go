package manifests

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	"aead.dev/minisign"
)

// Types of the in-toto framework and its predicates.
const (
	statementType     = "https://in-toto.io/Statement/v1"
	slsaType          = "https://slsa.dev/provenance/v1"
	modelSigningType  = "https://model_signing/signature/v1.0"
	payloadType       = "application/vnd.in-toto+json"
	bundleType        = "application/vnd.dev.sigstore.bundle.v0.3+json"
	buildType         = "urn:jns:compile:1"
	maxEnvelope       = 4 << 20
	maxEnvelopeSigner = 16
)

// Signer signs envelopes. ID names the key: minisign's number, or the SHA-256 of the public key's PEM.
type Signer struct {
	ID   string
	Sign func(message []byte) ([]byte, error)
}

// MinisignSigner signs envelopes with a minisign key: plain Ed25519 over the message.
func MinisignSigner(key minisign.PrivateKey) Signer {
	return Signer{fmt.Sprintf("%016X", key.ID()), func(message []byte) ([]byte, error) {
		text, err := key.Sign(nil, message, crypto.Hash(0))
		if err != nil {
			return nil, err
		}
		var s minisign.Signature
		if err := s.UnmarshalText(text); err != nil {
			return nil, err
		}
		return s.Signature[:], nil
	}}
}

// PEMSigner signs envelopes with a private key in PEM: ECDSA on P-256, P-384 or P-521, or Ed25519.
func PEMSigner(text []byte) (Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return Signer{}, fmt.Errorf("%w: it is no private key in PEM; openssl genpkey -algorithm ed25519 makes one", ErrKey)
	}
	any, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		if any, err = x509.ParseECPrivateKey(block.Bytes); err != nil {
			return Signer{}, fmt.Errorf("%w: it is no private key of a kind known here, which are ECDSA and Ed25519: %w", ErrKey, err)
		}
	}
	key, ok := any.(crypto.Signer)
	if !ok {
		return Signer{}, fmt.Errorf("%w: one of type %T cannot sign", ErrKey, any)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return Signer{}, err
	}
	sum := sha256.Sum256(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
	s := Signer{ID: hex.EncodeToString(sum[:])}
	switch k := key.(type) {
	case *ecdsa.PrivateKey:
		s.Sign = func(m []byte) ([]byte, error) { return k.Sign(rand.Reader, digestFor(k.Params().BitSize, m), nil) }
	case ed25519.PrivateKey:
		s.Sign = func(m []byte) ([]byte, error) { return ed25519.Sign(k, m), nil }
	default:
		return Signer{}, fmt.Errorf("%w: a key of type %T cannot be used, give ECDSA or Ed25519", ErrSignature, key)
	}
	return s, nil
}

// digestFor hashes a message as ECDSA on a curve of so many bits wants it.
func digestFor(bits int, m []byte) []byte {
	h := crypto.SHA256
	switch {
	case bits > 384:
		h = crypto.SHA512
	case bits > 256:
		h = crypto.SHA384
	}
	w := h.New()
	w.Write(m)
	return w.Sum(nil)
}

// Envelope is a DSSE envelope.
type Envelope struct {
	Payload     []byte              `json:"payload"`
	PayloadType string              `json:"payloadType"`
	Signatures  []EnvelopeSignature `json:"signatures"`
}

// EnvelopeSignature is one signature of an envelope.
type EnvelopeSignature struct {
	KeyID string `json:"keyid,omitempty"`
	Sig   []byte `json:"sig"`
}

// pae is the pre-authentication encoding of DSSE: what is signed.
func pae(kind string, payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(payload), payload)
}

func seal(statement any, by Signer) (*Envelope, error) {
	payload, err := json.Marshal(statement)
	if err != nil {
		return nil, err
	}
	sig, err := by.Sign(pae(payloadType, payload))
	if err != nil {
		return nil, err
	}
	return &Envelope{payload, payloadType, []EnvelopeSignature{{by.ID, sig}}}, nil
}

// OpenEnvelope reads an envelope and checks that one of the keys signed it. It returns the statement.
func OpenEnvelope(text []byte, keys []Key) ([]byte, error) {
	if len(text) > maxEnvelope {
		return nil, fmt.Errorf("%w: an envelope has at most %d bytes", ErrSignature, maxEnvelope)
	}
	var e Envelope
	if err := json.Unmarshal(text, &e); err != nil || len(e.Signatures) > maxEnvelopeSigner {
		return nil, fmt.Errorf("%w: this is no envelope", errors.Join(ErrSignature, err))
	}
	for _, s := range e.Signatures {
		for _, k := range keys {
			if s.KeyID == k.ID() && ed25519.Verify(rawKey(k.Public), pae(e.PayloadType, e.Payload), s.Sig) {
				return e.Payload, nil
			}
		}
	}
	return nil, fmt.Errorf("%w: no trusted key has signed the envelope", ErrSignature)
}

// rawKey is the Ed25519 key of a minisign key: the text is base64 of two bytes of kind, eight of number and the key.
func rawKey(k minisign.PublicKey) ed25519.PublicKey {
	b, err := base64.StdEncoding.DecodeString(k.String())
	if err != nil || len(b) != 42 {
		return make(ed25519.PublicKey, ed25519.PublicKeySize) // verifies nothing
	}
	return b[10:]
}

type object = map[string]any

func (m *Manifest) statement(kind string, subject, predicate any) object {
	return object{"_type": statementType, "subject": []any{subject}, "predicateType": kind, "predicate": predicate}
}

// SLSA gives the manifest's chain as a SLSA provenance statement in a signed DSSE envelope: which sources, which builder, which parameters led to which container.
func (m *Manifest) SLSA(by Signer) ([]byte, error) {
	var deps []object
	var files []string
	for _, f := range m.Source.Files {
		d := object{"name": f.File, "digest": object{"sha256": f.SHA256.String()}}
		if len(f.At) > 0 {
			d["uri"] = f.At[0]
		}
		deps, files = append(deps, d), append(files, f.File)
	}
	var made []object
	for _, l := range m.Container.Chain {
		made = append(made, object{"name": "link " + l.Link, "digest": object{"sha256": l.SHA256.String()}})
	}
	made = append(made, object{"name": "table of contents", "digest": object{"sha256": m.Container.TOC.String()}},
		object{"name": "root digest", "digest": object{"sha256": m.Container.Root.String()}})
	e, err := seal(m.statement(slsaType, object{"name": m.Container.File, "digest": object{"sha256": m.Container.SHA256.String()}}, object{
		"buildDefinition": object{
			"buildType":            buildType,
			"externalParameters":   object{"source": files, "target": m.Target, "options": m.Compiler.Options},
			"internalParameters":   object{"outputRevision": m.Compiler.Revision},
			"resolvedDependencies": deps,
		},
		"runDetails": object{
			"builder":    object{"id": "urn:jns:" + m.Compiler.Name, "version": object{m.Compiler.Name: m.Compiler.Version}},
			"byproducts": made,
		},
	}), by)
	if err != nil {
		return nil, err
	}
	return document(e)
}

// ModelSigning gives an OpenSSF Model Signing bundle of the container. The model is the directory that holds the container; other files of it are to be ignored by the verifier.
func (m *Manifest) ModelSigning(by Signer) ([]byte, error) {
	sum := sha256.Sum256(m.Container.SHA256[:])
	e, err := seal(m.statement(modelSigningType, object{"name": m.Name, "digest": object{"sha256": hex.EncodeToString(sum[:])}}, object{
		"serialization": object{"method": "files", "hash_type": "sha256", "allow_symlinks": false, "ignore_paths": []string{}},
		"resources":     []object{{"name": m.Container.File, "algorithm": "sha256", "digest": m.Container.SHA256.String()}},
	}), by)
	if err != nil {
		return nil, err
	}
	e.Signatures[0].KeyID = ""
	return document(object{
		"mediaType":            bundleType,
		"verificationMaterial": object{"publicKey": object{"hint": by.ID}, "tlogEntries": []any{}},
		"dsseEnvelope":         e,
	})
}

func document(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(v)
	return slices.Clip(b.Bytes()), err
}
