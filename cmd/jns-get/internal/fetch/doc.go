// Package fetch puts a file on disk that is what it should be: from several sources at once, chunk by chunk, each checked as it arrives.
//
// Its nouns: a Spec says what the file must be and where it can be had; a rule says what the bytes of every MiB must be (a manifest's list, or the list
// that a container carries); a source gives ranges of bytes; the journal beside the unfinished file says which chunks are there. Everything that a server
// says is untrusted: lengths are bounded, ranges compared with what was asked for, tokens sent to their own host only.
//
// The package must not know manifests, models, or what a command line looks like. Read fetch.go first, then work.go, rule.go and http.go.
package fetch
