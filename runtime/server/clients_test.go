package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAClientThatTakesNothingIsGivenUp: the handler of a large answer to a client that does not read it ends.
func TestAClientThatTakesNothingIsGivenUp(t *testing.T) {
	s := start(t, "", Options{Stall: 2 * time.Second})
	body := `{"text":"` + strings.Repeat("Q7", 2_000_000) + `"}`
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		s.metrics.mu.Lock()
		defer s.metrics.mu.Unlock()
		return s.metrics.duration["/tokenize"] != nil
	}, time.Minute, 10*time.Millisecond)
}

// TestAListenerThatFailsEndsTheServer, connections at rest and those whose body does not come included, at once.
func TestAListenerThatFailsEndsTheServer(t *testing.T) {
	s, err := New(open(t, ""), Options{Model: "tiny", Stall: time.Minute})
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- s.Serve(t.Context(), l) }()
	var conns []net.Conn
	for _, request := range []string{
		"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
	} {
		conn, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, request)
		require.NoError(t, err)
		conns = append(conns, conn)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conns[0]), nil)
	require.NoError(t, err)
	require.Equal(t, 200, resp.StatusCode)
	time.Sleep(100 * time.Millisecond) // the second's head arrives
	require.NoError(t, l.Close())
	select {
	case err := <-served:
		require.ErrorIs(t, err, net.ErrClosed)
	case <-time.After(20 * time.Second):
		t.Fatal("it still waits")
	}
	require.NoError(t, conns[0].SetReadDeadline(time.Now().Add(20*time.Second)))
	_, err = conns[0].Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}
