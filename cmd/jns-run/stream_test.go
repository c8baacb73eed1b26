package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	jnscli "jns/cmd/internal/cli"
)

func TestPoliciesAreNamesWithACommaBetween(t *testing.T) {
	for s, want := range map[string][2]string{"": {}, "big": {"big", ""}, "lru": {"", "lru"}, "big,lru": {"big", "lru"}, " lru , even ": {"even", "lru"}} {
		processors, experts, err := policies(s)
		require.NoError(t, err, "%q", s)
		require.Equal(t, want, [2]string{processors, experts}, "%q", s)
	}
	for _, s := range []string{",", "big,", ",lru", "big,,lru", "big,big", "lru,aged", "big,lru,next", "smallest"} {
		_, _, err := policies(s)
		require.ErrorIs(t, err, jnscli.ErrUsage, "%q", s)
	}
}

// TestNothingIsWrittenOverWhatIsRead: the container, or a trace.
func TestNothingIsWrittenOverWhatIsRead(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.jns")
	b, err := os.ReadFile(container(t, "jns-tiny"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(model, b, 0o600))
	for _, args := range [][]string{
		{"logits", model, "--tokens", "1", "-o", model}, {"bench", model, "-p", "2", "-n", "1", "-r", "1", "-o", model}, {model, "-p", "hi", "--record-routing", model},
		{"stats", model, "-p", "hi", "--record-routing", model},
	} {
		code, _ := command(t, args...)
		require.Equal(t, jnscli.ExitUsage, code, "%q", args)
		again, err := os.ReadFile(model)
		require.NoError(t, err)
		require.True(t, bytes.Equal(b, again), "%q", args)
	}
}
