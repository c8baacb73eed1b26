package main

import (
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
