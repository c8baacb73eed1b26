package manifests

import (
	"errors"
	"fmt"

	"aead.dev/minisign"
)

// ErrKey: what was given to sign with is no private key, or its password is not the right one.
var ErrKey = errors.New("no key to sign with")

// ParsePrivateKey reads a private key as minisign and jnsc keygen write it; password is that of an encrypted one. Errors wrap ErrKey and say what to do.
func ParsePrivateKey(text []byte, password string) (k minisign.PrivateKey, err error) {
	if minisign.IsEncrypted(text) {
		if password == "" {
			return k, fmt.Errorf("%w: it is encrypted; set JNS_KEY_PASSWORD to its password", ErrKey)
		}
		if k, err = minisign.DecryptKey(password, text); err != nil {
			return k, fmt.Errorf("%w: JNS_KEY_PASSWORD does not hold its password", ErrKey)
		}
		return k, nil
	}
	if err = k.UnmarshalText(text); err == nil {
		return k, nil
	}
	var public minisign.PublicKey
	if public.UnmarshalText(text) == nil {
		return k, fmt.Errorf("%w: it is a public key, which checks signatures; name the private one that was made with it", ErrKey)
	}
	return k, fmt.Errorf("%w: it is no private key of minisign (%w); jnsc keygen FILE makes one", ErrKey, err)
}
