package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"jns/runtime/engine"
)

func TestTheLiveLineIsWrittenNowAndThenAndTakenAway(t *testing.T) {
	var b bytes.Buffer
	l := live{w: &b}
	r := &engine.StreamReceipt{}
	r.Cache.Bytes, r.Cache.HitRate, r.Cache.WaitedMS, r.Cache.Tokens.RanMS = 3<<30, 0.875, 1500, 4000
	asked := 0
	start := time.Now()
	for i := range 100 {
		l.token(start.Add(time.Duration(i)*10*time.Millisecond), func() *engine.StreamReceipt { asked++; return r })
	}
	require.Equal(t, 5, asked)
	lines := strings.Split(b.String(), "\r\x1b[K")
	require.Len(t, lines, 6)
	require.Equal(t, "81 tokens, 100.0/s; read 3.0 GiB, waited 1.5 of 4.0 s; 87.5 % of the experts were there", lines[5])
	require.NotContains(t, b.String(), "\n")
	l.end()
	require.True(t, strings.HasSuffix(b.String(), "\r\x1b[K"))

	quiet := live{}
	quiet.token(start, func() *engine.StreamReceipt { t.Fatal("nobody looks"); return nil })
	quiet.end()
}
