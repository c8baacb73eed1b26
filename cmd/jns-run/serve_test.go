package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"jns/compiler"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"jns-run": main})
}

// TestServeStories runs what a user of the server could do: testdata/serve*.txtar. $TINY is the embedded model, compiled.
//
//	serving FLAGS…            starts jns-run serve $TINY on a free port
//	request METHOD PATH [FILE] prints the status and the body
//	ending                    sends SIGTERM, and wants a clean end
func TestServeStories(t *testing.T) {
	tiny := filepath.Join(t.TempDir(), "tiny.jns")
	_, err := compiler.Compile(t.Context(), compiler.Options{Source: "../../testdata/models/tiny/jns-tiny.gguf", Output: tiny})
	require.NoError(t, err)
	scripts, err := filepath.Glob("testdata/serve*.txtar")
	require.NoError(t, err)
	testscript.Run(t, testscript.Params{
		Files: scripts,
		Setup: func(e *testscript.Env) error {
			e.Setenv("TINY", tiny)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"serving": serving, "request": request, "ending": ending},
	})
}

type served struct {
	cmd *exec.Cmd
	url string
}

// running are the servers by script.
var running = map[string]*served{}

func serving(ts *testscript.TestScript, _ bool, args []string) {
	c := exec.Command("jns-run", append([]string{"serve", ts.Getenv("TINY"), "--port", "0", "--json", "--threads", "1"}, args...)...)
	c.Env = append(c.Environ(), "PATH="+ts.Getenv("PATH"))
	path, err := exec.LookPath("jns-run")
	ts.Check(err)
	c.Path = path
	out, err := c.StdoutPipe()
	ts.Check(err)
	ts.Check(c.Start())
	ts.Defer(func() { _ = c.Process.Kill() })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	ts.Check(err)
	var at struct{ URL string }
	ts.Check(json.Unmarshal(line, &at))
	running[ts.Name()] = &served{c, at.URL}
}

func request(ts *testscript.TestScript, _ bool, args []string) {
	body := ""
	if len(args) > 2 {
		body = ts.ReadFile(args[2])
	}
	r, err := http.NewRequest(args[0], running[ts.Name()].url+args[1], strings.NewReader(body))
	ts.Check(err)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	ts.Check(err)
	b, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(resp.Body.Close())
	fmt.Fprintf(ts.Stdout(), "%d\n%s\n", resp.StatusCode, b)
}

func ending(ts *testscript.TestScript, _ bool, _ []string) {
	c := running[ts.Name()].cmd
	ts.Check(c.Process.Signal(syscall.SIGTERM))
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	select {
	case err := <-done:
		ts.Check(err)
	case <-time.After(30 * time.Second):
		ts.Fatalf("the server does not end")
	}
}
