package manifests

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"aead.dev/minisign"
)

// SignatureSuffix is added to the name of a signed file.
const SignatureSuffix = ".minisig"

const maxSignature = 8 << 10

// Key is a public key that is trusted, and a name for it.
type Key struct {
	Public minisign.PublicKey
	Name   string
}

// ID is the key's number as minisign prints it.
func (k Key) ID() string { return fmt.Sprintf("%016X", k.Public.ID()) }

// ParseKeys reads a file of trusted keys: one key per line, then spaces and a name for it; empty lines and lines that begin with # say nothing. The public key files
// of minisign are read too: their comment line names the key on the next line.
func ParseKeys(b []byte) ([]Key, error) {
	const most = 1 << 20
	if len(b) > most {
		return nil, fmt.Errorf("%w: a file of trusted keys has at most %d bytes", ErrSignature, most)
	}
	var keys []Key
	comment := ""
	sc := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if rest, ok := strings.CutPrefix(line, "untrusted comment:"); ok {
			comment = strings.TrimSpace(rest)
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		text, name, _ := strings.Cut(line, " ")
		if name = strings.TrimSpace(name); name == "" {
			name = comment
		}
		comment = ""
		var k Key
		if err := k.Public.UnmarshalText([]byte(text)); err != nil {
			return nil, fmt.Errorf("%w: line %d of the trusted keys is no public key, such as jnsc keygen FILE writes into FILE.pub: %w", ErrSignature, n, err)
		}
		k.Name = name
		keys = append(keys, k)
	}
	return keys, sc.Err()
}

// Signed is a signature that was found good.
type Signed struct {
	Key     Key
	Comment string    // the trusted comment
	At      time.Time // from its timestamp; zero if it has none
	Expires time.Time // zero: never
}

// Verify checks that one of the keys signed a message, and that the signature has not expired at a time. It returns who did. Errors wrap ErrSignature.
func Verify(message, signature []byte, keys []Key, now time.Time) (*Signed, error) {
	if len(signature) == 0 {
		return nil, fmt.Errorf("%w: there is none", ErrSignature)
	}
	if len(signature) > maxSignature {
		return nil, fmt.Errorf("%w: %d bytes are too many for one", ErrSignature, len(signature))
	}
	var s minisign.Signature
	if err := s.UnmarshalText(bytes.TrimRight(signature, "\r\n\t ")); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSignature, err)
	}
	for _, k := range keys {
		if k.Public.ID() != s.KeyID {
			continue
		}
		if !minisign.Verify(k.Public, message, bytes.TrimRight(signature, "\r\n\t ")) {
			return nil, fmt.Errorf("%w: it names key %s, but is not its signature of these bytes: one of them was changed", ErrSignature, k.ID())
		}
		out := &Signed{Key: k, Comment: s.TrustedComment}
		var err error
		if out.At, err = stamp(s.TrustedComment, "timestamp:"); err != nil {
			return nil, err
		}
		if out.Expires, err = stamp(s.TrustedComment, "expires:"); err != nil {
			return nil, err
		}
		if !out.Expires.IsZero() && !now.Before(out.Expires) {
			return nil, fmt.Errorf("%w: it expired at %s; ask the publisher for a new one", ErrSignature, out.Expires.UTC().Format(time.RFC3339))
		}
		return out, nil
	}
	return nil, fmt.Errorf("%w: it is by key %016X, which is not among the %d trusted ones; if you trust its owner, add the public key to your file of trusted keys", ErrSignature, s.KeyID, len(keys))
}

// stamp reads a Unix time out of a trusted comment, whose words are separated by white space.
func stamp(comment, key string) (time.Time, error) {
	for _, w := range strings.Fields(comment) {
		v, ok := strings.CutPrefix(w, key)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 0 || n > 1<<40 {
			return time.Time{}, fmt.Errorf("%w: %q in its comment is no time", ErrSignature, w)
		}
		return time.Unix(n, 0), nil
	}
	return time.Time{}, nil
}

// Sign signs the bytes of a file. expires zero: never. The time stands in the trusted comment, which is signed too.
func Sign(key minisign.PrivateKey, message []byte, file string, now, expires time.Time) []byte {
	comment := fmt.Sprintf("timestamp:%d\tfile:%s", now.Unix(), file)
	if !expires.IsZero() {
		comment += fmt.Sprintf("\texpires:%d", expires.Unix())
	}
	return append(minisign.SignWithComments(key, message, comment, fmt.Sprintf("signature from key %016X", key.ID())), '\n')
}
