package fetch

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry"
	ocihttp "oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"jns/format"
)

// ErrPush: a registry did not take what was to be published.
var ErrPush = errors.New("not published")

// ArtifactType is what registries call an artifact of containers and manifests.
const ArtifactType = "application/vnd.jns.model.v1"

// Layer is one file to publish in a registry.
type Layer struct {
	Path      string
	Title     string // name of the file in the artifact
	MediaType string
	SHA256    [32]byte
	Size      int64
}

// Push publishes files as one artifact under oci:HOST/REPOSITORY:TAG and gives the artifact's digest. What the registry has already is not sent again; the tag appears, or
// moves, when everything is there. Errors wrap ErrRefused, ErrOffline or ErrPush.
func Push(ctx context.Context, address string, layers []Layer, opt Options) (string, error) {
	opt.fill()
	ref, client, local, err := place(address, &opt)
	if err != nil {
		return "", err
	}
	if opt.Offline {
		return "", fmt.Errorf("%w: %s would have to be asked", ErrOffline, clip(address))
	}
	ctx = auth.AppendRepositoryScope(ctx, ref, auth.ActionPull, auth.ActionPush)
	repo := &ocihttp.Repository{Client: client, Reference: ref, PlainHTTP: local, MaxMetadataBytes: maxOCIManifest, SkipReferrersGC: true}
	d, err := push(ctx, repo, ref, layers, opt)
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("%w: %s: %w; %s", ErrPush, clip(address), cleanError(err, nil), pushHint(err))
	}
	return string(d), nil
}

// CheckPlace says whether an address is one that Push can publish at, without asking anybody. Errors wrap ErrRefused.
func CheckPlace(address string, opt Options) error {
	opt.fill()
	_, _, _, err := place(address, &opt)
	return err
}

// place reads an address to publish at.
func place(address string, opt *Options) (ref registry.Reference, client *auth.Client, local bool, err error) {
	text, ok := strings.CutPrefix(address, "oci:")
	if !ok || strings.ContainsAny(text, "#@") {
		return ref, nil, false, fmt.Errorf("%w: %q is no place to publish; it is of the form oci:HOST/REPOSITORY:TAG", ErrRefused, clip(address))
	}
	return registryOf(strings.TrimPrefix(text, "//"), newClient(opt), opt)
}

// pushHint says what to do about a failed push.
func pushHint(err error) string {
	var answer *errcode.ErrorResponse
	if errors.Is(err, auth.ErrBasicCredentialNotFound) || errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden) {
		return "set JNS_OCI_USERNAME and JNS_OCI_PASSWORD to those of somebody who may write there"
	}
	return "repeat the call: what has arrived is not sent again"
}

func push(ctx context.Context, repo *ocihttp.Repository, ref registry.Reference, layers []Layer, opt Options) (digest.Digest, error) {
	m := ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: ArtifactType, Config: ocispec.DescriptorEmptyJSON,
	}
	m.Config.Data = nil
	total, done := int64(0), int64(0)
	for _, l := range layers {
		total += l.Size
		m.Layers = append(m.Layers, ocispec.Descriptor{
			MediaType: l.MediaType, Digest: digest.NewDigestFromEncoded(digest.SHA256, hex.EncodeToString(l.SHA256[:])), Size: l.Size,
			Annotations: map[string]string{ocispec.AnnotationTitle: l.Title},
		})
	}
	if err := pushBlob(ctx, repo, m.Config, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader([]byte("{}"))), nil }); err != nil {
		return "", err
	}
	for i, l := range layers {
		err := pushBlob(ctx, repo, m.Layers[i], func() (io.ReadCloser, error) {
			f, _, err := format.OpenFile(l.Path)
			return &counted{f, func(n int) { done += int64(n); opt.Progress(min(done, total), total) }}, err
		})
		if err != nil {
			return "", fmt.Errorf("%s: %w", l.Title, err)
		}
	}
	text, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	desc := ocispec.Descriptor{MediaType: m.MediaType, ArtifactType: m.ArtifactType, Digest: digest.FromBytes(text), Size: int64(len(text))}
	return desc.Digest, repo.Manifests().PushReference(ctx, desc, bytes.NewReader(text), ref.Reference)
}

// pushBlob sends a blob unless it is there. The registry compares what arrives with the digest.
func pushBlob(ctx context.Context, repo *ocihttp.Repository, d ocispec.Descriptor, open func() (io.ReadCloser, error)) error {
	there, err := repo.Blobs().Exists(ctx, d)
	if err != nil || there {
		return err
	}
	r, err := open()
	if err != nil {
		return err
	}
	defer r.Close()
	return repo.Blobs().Push(ctx, d, io.LimitReader(r, d.Size))
}

// counted tells how many bytes were read.
type counted struct {
	*os.File
	tell func(n int)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.File.Read(p)
	c.tell(n)
	return n, err
}
