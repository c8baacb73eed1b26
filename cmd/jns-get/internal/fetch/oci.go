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
	exact  bool   // the title was named: a single layer of another title will not do
	plain  bool
	client *auth.Client
	stall  time.Duration

	once sync.Mutex
	blob *httpRemote
}

const maxOCIManifest = 4 << 20

// registryOf reads HOST/REPOSITORY:TAG or @DIGEST and makes a client for it. JNS_OCI_USERNAME and JNS_OCI_PASSWORD go to the registry, and to the token service that it
// names over https.
func registryOf(text string, client *http.Client, o *Options) (ref registry.Reference, a *auth.Client, local bool, err error) {
	ref, err = registry.ParseReference(text)
	if err != nil || ref.Reference == "" || strings.Contains(text, "..") {
		return ref, nil, false, fmt.Errorf("%w: oci:%s is not of the form oci:HOST/REPOSITORY:TAG", ErrRefused, clip(text))
	}
	host := ref.Host()
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	local = loopback(strings.Trim(host, "[]"))
	a = &auth.Client{Client: client, Cache: auth.NewCache(), ClientID: "jns-get"}
	if local {
		a.BlockedRealmPrefixes = []netip.Prefix{} // its token service is on this machine too
	}
	if user, pass := o.Getenv("JNS_OCI_USERNAME"), o.Getenv("JNS_OCI_PASSWORD"); user != "" || pass != "" {
		a.Credential = auth.StaticCredential(ref.Host(), auth.Credential{Username: user, Password: pass})
	}
	return ref, a, local, nil
}

// parseOCI reads the address of an artifact, and after # the title of the layer, if it is not the name of the file.
func parseOCI(text, name string, client *http.Client, o *Options) (remote, error) {
	text, title, exact := strings.Cut(strings.TrimPrefix(text, "//"), "#")
	shown := text
	if exact {
		shown += "#" + title
	} else {
		title = name
	}
	ref, a, local, err := registryOf(text, client, o)
	if err != nil {
		return nil, err
	}
	return &ociRemote{name: "oci:" + clip(shown), ref: ref, file: title, exact: exact, plain: local, client: a, stall: o.Stall}, nil
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

// whole reads a layer that is a short document.
func (r *ociRemote) whole(ctx context.Context, limit int64) ([]byte, error) {
	h, err := r.layer(ctx)
	if err != nil {
		return nil, err
	}
	return h.whole(auth.AppendRepositoryScope(ctx, r.ref, auth.ActionPull), limit)
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
	d, err := pick(m.Layers, r.file, r.exact)
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

// pick chooses the layer of a title, or, unless the title is to be exact, the only one. Its digest is what the address is made of, so it is checked first.
func pick(layers []ocispec.Descriptor, title string, exact bool) (ocispec.Descriptor, error) {
	var found []ocispec.Descriptor
	for _, l := range layers {
		if l.Annotations[ocispec.AnnotationTitle] == title {
			found = append(found, l)
		}
	}
	if len(found) == 0 && len(layers) == 1 && !exact {
		found = layers
	}
	if len(found) != 1 {
		err := fmt.Errorf("of the artifact's %d layers %d are called %q; name one after #", len(layers), len(found), clip(title))
		if len(found) == 0 {
			err = fmt.Errorf("%w: %w", ErrAbsent, err)
		}
		return ocispec.Descriptor{}, err
	}
	if d := found[0].Digest; d.Validate() != nil || d.Algorithm() != digest.SHA256 {
		return ocispec.Descriptor{}, fmt.Errorf("%w: %q is no digest of a layer", ErrRefused, clip(string(d)))
	}
	return found[0], nil
}
