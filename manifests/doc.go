// Package manifests is published models as data: one JSON document per model and target, which names the source, the options, the compiler, the
// container with its digests and chunks, its licence and what was measured; and who signed it.
//
// Its nouns: a Manifest describes one published container; a Key says who may publish; a signature (minisign) binds the two; an Envelope (DSSE) says the
// same to other tools, as a SLSA provenance statement or an OpenSSF model signature. A manifest is untrusted until a key or the user vouches for it: every
// length is bounded, every name is a plain file name. The package may import format and must not know how a container is made, run or fetched.
//
// Read manifest.go first, then sign.go, published.go and attest.go. schema.json is the manifest's JSON schema.
package manifests
