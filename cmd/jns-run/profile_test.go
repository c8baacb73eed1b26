package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	jnscli "jns/cmd/internal/cli"
	"jns/compiler"
)

// TestAProfileChangesTheOrderOnDiskAndNoBit: a routing is recorded where experts are read as they are wanted; a container compiled by it gives the same tokens and the same logits, streamed
// by each reader and with everything in memory; a routing recorded with it is the same but for the container's name, so that it leads to the same order.
func TestAProfileChangesTheOrderOnDiskAndNoBit(t *testing.T) {
	dir, source := t.TempDir(), filepath.Join("..", "..", "testdata", "models", "tiny", "jns-tiny-moe.gguf")
	at := func(name string) string { return filepath.Join(dir, name) }
	compile := func(out, profile string) *compiler.Report {
		rep, err := compiler.Compile(context.Background(), compiler.Options{Source: source, Output: at(out), Profile: profile})
		require.NoError(t, err)
		return rep
	}
	compile("plain.jns", "")
	type answer struct {
		Tokens []int32
		Digest string `json:"logits_digest"`
	}
	memory := ""
	run := func(model, io, trace string) answer {
		args := []string{at(model), "--tokens", "5,9,33,200,7,41", "--n", "24", "--temp", "1", "--seed", "3", "--ignore-eos", "--json", "--logits-digest", "--ctx", "64", "--batch", "8", "--cold"}
		if io != "" {
			args = append(args, "--io", io, "--memory", memory)
		}
		if trace != "" {
			args = append(args, "--record-routing", at(trace))
		}
		code, text := command(t, args...)
		require.Equal(t, jnscli.ExitOK, code)
		var a answer
		require.NoError(t, json.Unmarshal([]byte(text), &a))
		require.Len(t, a.Tokens, 24)
		require.NotEmpty(t, a.Digest)
		return a
	}
	code := -1
	for mib := 16; mib < 128 && code != jnscli.ExitOK; mib++ { // what is more than nothing and less than all
		memory = strconv.Itoa(mib) + "MiB"
		code, _ = command(t, at("plain.jns"), "-p", "hi", "-n", "1", "--ctx", "64", "--batch", "8", "--cold", "--memory", memory, "--record-routing", at("first"))
	}
	require.Equal(t, jnscli.ExitOK, code)

	want := run("plain.jns", "pread", "recorded")
	rep := compile("ordered.jns", at("recorded"))
	require.NotNil(t, rep.Order, "the routing of this run leads to an order of its own")
	for _, io := range []string{"", "pread", "mmap", "uring"} {
		if io == "uring" {
			if code, _ := command(t, at("plain.jns"), "--tokens", "1", "--n", "1", "--memory", memory, "--io", io, "--ctx", "64", "--batch", "8", "--cold"); code != jnscli.ExitOK {
				continue // not on this system
			}
		}
		require.Equal(t, want, run("ordered.jns", io, ""), "--io %s", io)
	}
	require.Equal(t, want, run("ordered.jns", "pread", "again"))
	again := compile("again.jns", at("again"))
	require.Equal(t, rep.Order, again.Order)
	require.NotEqual(t, rep.Root, again.Root, "it names another profile")

	// What hostile hands make of the profile is refused, by the programs that read traces too.
	b, err := os.ReadFile(at("recorded"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(at("cut"), b[:len(b)-33], 0o600))
	_, err = compiler.Compile(context.Background(), compiler.Options{Source: source, Output: at("no.jns"), Profile: at("cut")})
	require.ErrorIs(t, err, compiler.ErrTrace)
	require.NoFileExists(t, at("no.jns"))
	for _, verb := range [][]string{{"cache-sim", at("cut"), "--memory", "1MiB"}, {"heatmap", at("cut")}} {
		code, _ := command(t, verb...)
		require.Equal(t, jnscli.ExitCorrupt, code)
	}
	require.NoError(t, os.WriteFile(at("old"), []byte("jns-routing 2\n\x00"), 0o600))
	code, _ = command(t, "heatmap", at("old"))
	require.Equal(t, jnscli.ExitUnsupported, code)
}
