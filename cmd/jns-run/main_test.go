package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v3"

	"jns/runtime/engine"
)

func TestABatchThatWasNotAskedForIsLeftToTheEngine(t *testing.T) {
	var got engine.Options
	run := func(args ...string) {
		c := &cli.Command{Flags: engineFlags(), Action: func(_ context.Context, c *cli.Command) error { got = engineOptions(c); return nil }}
		require.NoError(t, c.Run(context.Background(), append([]string{"jns-run"}, args...)))
	}
	run()
	require.Zero(t, got.Batch)
	run("--batch", "512", "--ctx", "7")
	require.Equal(t, 512, got.Batch)
	require.Equal(t, 7, got.Context)
}
