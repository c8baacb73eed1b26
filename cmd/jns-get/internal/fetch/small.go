package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// ErrAbsent: the server, or the disk, has no such file.
var ErrAbsent = errors.New("no such file")

// Small gives a whole short file, a manifest or a signature, of at most limit bytes. Errors wrap ErrAbsent, ErrRefused, ErrOffline or ErrSource.
func Small(ctx context.Context, address string, limit int64, opt Options) ([]byte, error) {
	opt.fill()
	r, err := parseSource(address, "", newClient(&opt), &opt)
	if err != nil {
		return nil, err
	}
	if f, ok := r.(*fileRemote); ok {
		return smallFile(ctx, f, limit)
	}
	h, ok := r.(interface {
		whole(ctx context.Context, limit int64) ([]byte, error)
	})
	if !ok {
		return nil, fmt.Errorf("%w: %s holds no documents", ErrRefused, r)
	}
	s := &src{remote: r}
	for {
		b, err := h.whole(ctx, limit)
		if err == nil {
			return b, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		wait, alive := s.failed(err, &opt)
		switch {
		case errors.Is(err, ErrAbsent), errors.Is(err, ErrRefused):
			return nil, fmt.Errorf("%s: %w", r, err)
		case !alive:
			return nil, fmt.Errorf("%w: %s: %w", ErrSource, r, err)
		}
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

func smallFile(ctx context.Context, f *fileRemote, limit int64) ([]byte, error) {
	b, err := f.open(ctx, 0, limit+1, "")
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%w: %w", ErrAbsent, err)
	case err != nil: // one that cannot be read is not the same as none
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	defer b.Close()
	if b.size > limit {
		return nil, fmt.Errorf("%w: %s has %d bytes, at most %d are read", ErrRefused, f, b.size, limit)
	}
	return io.ReadAll(b)
}

// whole reads an address without asking for a range.
func (h *httpRemote) whole(ctx context.Context, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, h.stall+time.Duration(limit/(64<<10))*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url, nil)
	if err != nil {
		return nil, permanentError{err}
	}
	for k, v := range h.header {
		req.Header[k] = v
	}
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "jns-get")
	resp, err := h.do.Do(req)
	if err != nil {
		return nil, cleanError(err, nil)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone {
		return nil, permanentError{fmt.Errorf("%w: the server answers %s", ErrAbsent, clip(resp.Status))}
	}
	if resp.StatusCode != http.StatusOK {
		return nil, h.refusal(resp)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%w: more than %d bytes", ErrRefused, limit)
	}
	return b, err
}
