package fetch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry"
	ocihttp "oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// ociRemote is a layer of an artifact in a registry. Which one is asked once, at the first open.
type ociRemote struct {
	name   string
	ref    registry.Reference
	file   string // title of the layer
	plain  bool
	client *auth.Client
	stall  time.Duration

	once sync.Mutex
	blob *httpRemote
}

const maxOCIManifest = 4 << 20

// parseOCI reads HOST/REPOSITORY:TAG or @DIGEST, and after # the title of the layer, if it is not the name of the file. JNS_OCI_USERNAME and JNS_OCI_PASSWORD go to the
// registry, and to the token service that it names over https.
func parseOCI(text, name string, client *http.Client, o *Options) (remote, error) {
	text = strings.TrimPrefix(text, "//")
	text, title, ok := strings.Cut(text, "#")
	if !ok {
		title = name
	}
	ref, err := registry.ParseReference(text)
	if err != nil || ref.Reference == "" || strings.Contains(text, "..") {
		return nil, fmt.Errorf("%w: oci:%s is not of the form oci:HOST/REPOSITORY:TAG", ErrRefused, clip(text))
	}
	host := ref.Host()
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	local := loopback(strings.Trim(host, "[]"))
	a := &auth.Client{Client: client, Cache: auth.NewCache(), ClientID: "jns-get"}
	if local {
		a.BlockedRealmPrefixes = []netip.Prefix{} // its token service is on this machine too
	}
	if user, pass := o.Getenv("JNS_OCI_USERNAME"), o.Getenv("JNS_OCI_PASSWORD"); user != "" || pass != "" {
		a.Credential = auth.StaticCredential(ref.Host(), auth.Credential{Username: user, Password: pass})
	}
	return &ociRemote{name: "oci:" + clip(text), ref: ref, file: title, plain: local, client: a, stall: o.Stall}, nil
}

func (r *ociRemote) String() string { return r.name }

func (r *ociRemote) open(ctx context.Context, from, to int64, validator string) (*body, error) {
	h, err := r.layer(ctx)
	if err != nil {
		return nil, err
	}
	b, err := h.open(auth.AppendRepositoryScope(ctx, r.ref, auth.ActionPull), from, to, "")
	if b != nil {
		b.validator = "" // a blob is named by its digest: it cannot change
	}
	return b, err
}

// layer finds the blob.
func (r *ociRemote) layer(ctx context.Context) (*httpRemote, error) {
	r.once.Lock()
	defer r.once.Unlock()
	if r.blob != nil {
		return r.blob, nil
	}
	ctx, cancel := context.WithTimeout(auth.AppendRepositoryScope(ctx, r.ref, auth.ActionPull), 2*r.stall)
	defer cancel()
	repo := &ocihttp.Repository{Client: r.client, Reference: r.ref, PlainHTTP: r.plain, MaxMetadataBytes: maxOCIManifest}
	desc, rc, err := repo.Manifests().FetchReference(ctx, r.ref.Reference)
	if err != nil {
		return nil, cleanError(err, nil)
	}
	defer rc.Close()
	text, err := io.ReadAll(io.LimitReader(rc, maxOCIManifest+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxOCIManifest || desc.Digest.Validate() != nil || desc.Digest.Algorithm() != digest.SHA256 || desc.Digest != digest.FromBytes(text) {
		return nil, permanentError{fmt.Errorf("the registry's manifest does not have its digest")}
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, permanentError{fmt.Errorf("the registry's manifest: %w", err)}
	}
	d, err := pick(m.Layers, r.file)
	if err != nil {
		return nil, permanentError{err}
	}
	scheme := "https"
	if r.plain {
		scheme = "http"
	}
	r.blob = &httpRemote{name: r.name, url: fmt.Sprintf("%s://%s/v2/%s/blobs/%s", scheme, r.ref.Host(), r.ref.Repository, d.Digest), do: r.client, stall: r.stall,
		hint: "if the registry needs a password, set JNS_OCI_USERNAME and JNS_OCI_PASSWORD"}
	return r.blob, nil
}

// pick chooses the layer of a title, or the only one. Its digest is what the address is made of, so it is checked first.
func pick(layers []ocispec.Descriptor, title string) (ocispec.Descriptor, error) {
	var found []ocispec.Descriptor
	for _, l := range layers {
		if l.Annotations[ocispec.AnnotationTitle] == title {
			found = append(found, l)
		}
	}
	if len(found) == 0 && len(layers) == 1 {
		found = layers
	}
	if len(found) != 1 {
		return ocispec.Descriptor{}, fmt.Errorf("of the artifact's %d layers %d are called %q; name one after #", len(layers), len(found), clip(title))
	}
	if d := found[0].Digest; d.Validate() != nil || d.Algorithm() != digest.SHA256 {
		return ocispec.Descriptor{}, fmt.Errorf("%w: %q is no digest of a layer", ErrRefused, clip(string(d)))
	}
	return found[0], nil
}
