package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	jnscli "jns/cmd/internal/cli"
	"jns/runtime/engine"
)

func TestSelftestChecksEverySetAndAModelsLogits(t *testing.T) {
	code, text := command(t, "selftest", container(t, "jns-tiny"), "--json")
	require.Zero(t, code, text)
	var doc struct {
		Sets  []checkedSet
		Equal bool
	}
	require.NoError(t, json.Unmarshal([]byte(text), &doc), text)
	require.True(t, doc.Equal)
	seen := map[string]int{}
	for _, s := range doc.Sets {
		require.Equal(t, len(s.Results), s.Kernels)
		for _, r := range s.Results {
			require.Equal(t, s.Set, r.Set)
		}
		seen[s.Set] = s.Cases
	}
	for _, set := range append(engine.NamedSets(), engine.KernelSets()...) {
		if set != "scalar" {
			require.Positive(t, seen[set], set)
		}
	}
	code, text = command(t, "selftest", "--kernels", "scalar")
	require.Zero(t, code, text)
	code, _ = command(t, "selftest", "--kernels", "mmx")
	require.Equal(t, jnscli.ExitUsage, code)
	code, _ = command(t, "selftest", "a", "b")
	require.Equal(t, jnscli.ExitUsage, code)
}

func TestSelftestNamesTheFirstDifference(t *testing.T) {
	var table selfTestTable
	table.add(engine.Checked{Set: "a", Kernel: "gemv", Cases: 3})
	table.add(engine.Checked{Set: "b", Kernel: "gemm", Cases: 2, Difference: "output [0][7]"})
	table.add(engine.Checked{Set: "b", Kernel: "exp", Cases: 2, Difference: "number 1"})
	require.Len(t, table.sets, 2)
	require.Nil(t, table.sets[0].First)
	require.Equal(t, "gemm", table.sets[1].First.Kernel)
	require.ErrorIs(t, table.failed, engine.ErrSelfTest)
	require.ErrorContains(t, table.failed, "gemm of b: output [0][7]")
	require.Equal(t, jnscli.ExitVerify, classes.Code(table.failed))
}
