// Package manifests is the place of published models as data: one JSON document per model and target, which names the source, the
// container, its root digest, its chunks and its licence, signed with a key that lies beside it.
//
// Its nouns: a Manifest describes one published container; a key says who published it. It has no code yet: the first published model
// brings it. The package may import format and must not know how a container is made or run.
package manifests
