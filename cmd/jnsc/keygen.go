package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"aead.dev/minisign"
	"github.com/urfave/cli/v3"

	jnscli "jns/cmd/internal/cli"
)

func keygenCommand() *cli.Command {
	return &cli.Command{
		Name: "keygen", Usage: "make a key pair to sign with", ArgsUsage: "FILE",
		Description: "Writes the private key to FILE and the public one to FILE.pub, both as minisign does. The private key is encrypted if JNS_KEY_PASSWORD\n" +
			"holds a password. Whoever is to trust what you publish needs the public key: jns-get --require-signature --trusted-keys FILE.pub.",
		Flags:  []cli.Flag{jsonFlag()},
		Action: keygen,
	}
}

func keygen(_ context.Context, c *cli.Command) error {
	if err := jnscli.Args(c, 1, 1, "jnsc keygen takes one file name: jnsc keygen FILE"); err != nil {
		return err
	}
	path := c.Args().First()
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	secret, err := private.MarshalText()
	password := os.Getenv("JNS_KEY_PASSWORD")
	if password != "" {
		secret, err = minisign.EncryptKey(password, private)
	}
	if err != nil {
		return err
	}
	open, err := public.MarshalText()
	if err != nil {
		return err
	}
	if err := createFile(path, secret, 0o600); err != nil {
		return err
	}
	if err := createFile(path+".pub", append(open, '\n'), 0o666); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	if c.Bool("json") {
		return jnscli.JSON(stdout, map[string]any{"id": fmt.Sprintf("%016X", public.ID()), "private_key": path, "public_key": path + ".pub", "public": public.String(), "encrypted": password != ""})
	}
	if password == "" {
		fmt.Fprintf(os.Stderr, "%s is not encrypted: keep it to yourself, or set JNS_KEY_PASSWORD before making one\n", path)
	}
	_, err = fmt.Fprintln(stdout, public.String())
	return err
}

// createFile writes a file that must not be there yet.
func createFile(path string, b []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, os.ErrExist) {
		return jnscli.Usagef("%s is there already, and a key is never written over; give another name", path)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
