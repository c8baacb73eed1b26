// Package child runs the programs that are compared with each other as child processes: jnsc and jns-run, and the peer (llama.cpp behind
// the small C program in ../build). Measuring and judging programs use it.
//
// Its nouns: Ours, the two binaries; Peer, the other's binary. It must not know what is measured or judged, and it imports nothing of
// the compiler or the runtime, so that what is measured is what a user runs.
package child

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ExitUnsupported is the exit code of jnsc for a file that is fine but needs what this version does not have.
const ExitUnsupported = 4

// Error is a program that did not end with code 0.
type Error struct {
	Name   string
	Code   int // -1 when it could not start or was ended by a signal
	Stderr string
	Err    error
}

func (e *Error) Error() string {
	last := LastLine(e.Stderr)
	if last == "" {
		return fmt.Sprintf("%s: %v", e.Name, e.Err)
	}
	return fmt.Sprintf("%s: exit code %d: %s", e.Name, e.Code, last)
}

func (e *Error) Unwrap() error { return e.Err }

// LastLine is the last line of text that is not empty.
func LastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}

// Unsupported says whether err is the refusal of an unsupported file, and the program's words.
func Unsupported(err error) (string, bool) {
	var e *Error
	if errors.As(err, &e) && e.Code == ExitUnsupported {
		return LastLine(e.Stderr), true
	}
	return "", false
}

// Result is what a run of a program gave.
type Result struct {
	Stdout []byte
	First  time.Duration // from start to the first byte on stdout; 0 when there was none
	Wall   time.Duration // from start to exit
	RSS    int64         // largest resident size in bytes; at least this process's own before the start
}

// Run starts a program and waits for it. The error is a *Error.
func Run(ctx context.Context, name string, args ...string) (Result, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr bytes.Buffer
	out := &firstByte{}
	cmd.Stdout, cmd.Stderr = out, &stderr
	out.start = time.Now()
	err := cmd.Run()
	r := Result{Stdout: out.buf.Bytes(), First: out.first, Wall: time.Since(out.start)}
	if cmd.ProcessState != nil {
		if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			r.RSS = maxRSS(int64(u.Maxrss))
		}
	}
	if err != nil {
		e := &Error{Name: filepath.Base(name) + verb(args), Code: -1, Stderr: stderr.String(), Err: err}
		if cmd.ProcessState != nil {
			e.Code = cmd.ProcessState.ExitCode()
		}
		return r, e
	}
	return r, nil
}

// maxRSS converts the unit of getrusage to bytes: Linux counts KiB, macOS bytes.
func maxRSS(v int64) int64 {
	if runtime.GOOS == "darwin" {
		return v
	}
	return v << 10
}

func verb(args []string) string {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") && !strings.ContainsAny(args[0], "./") {
		return " " + args[0]
	}
	return ""
}

// firstByte is a buffer that notes when the first byte came. The buffer is not embedded: its ReadFrom would go past Write.
type firstByte struct {
	buf   bytes.Buffer
	start time.Time
	first time.Duration
}

func (w *firstByte) Write(p []byte) (int, error) {
	if w.first == 0 && len(p) > 0 {
		w.first = time.Since(w.start)
	}
	return w.buf.Write(p)
}

// JSON runs a program and decodes its stdout into v.
func JSON(ctx context.Context, v any, name string, args ...string) (Result, error) {
	r, err := Run(ctx, name, args...)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(r.Stdout, v); err != nil {
		return r, fmt.Errorf("%s%s: stdout is not the expected JSON: %w", filepath.Base(name), verb(args), err)
	}
	return r, nil
}

// Ours is our two programs.
type Ours struct{ Jnsc, Run string }

// BuildOurs builds both from the module in the current directory into dir.
func BuildOurs(ctx context.Context, dir string) (Ours, error) {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", dir+string(filepath.Separator), "jns/cmd/jnsc", "jns/cmd/jns-run")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return Ours{}, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return Ours{filepath.Join(dir, "jnsc"), filepath.Join(dir, "jns-run")}, nil
}

// Compile makes a container; an empty target is jnsc's default.
func (o Ours) Compile(ctx context.Context, model, out, target string) error {
	args := []string{"compile", model, "-o", out}
	if target != "" {
		args = append(args, "--target", target)
	}
	_, err := Run(ctx, o.Jnsc, args...)
	return err
}

// BuildPeer runs the build script, which keeps everything in dir (empty: its default), and gives the peer's path. Its words go to stderr.
func BuildPeer(ctx context.Context, script, dir string) (string, error) {
	args := []string{script}
	if dir != "" {
		args = append(args, dir)
	}
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("build the peer: %w", err)
	}
	return LastLine(string(out)), nil
}

// Tokens spells ids as both programs take them.
func Tokens(ids []int) string {
	s := make([]string, len(ids))
	for i, id := range ids {
		s[i] = strconv.Itoa(id)
	}
	return strings.Join(s, ",")
}

// ReadRows reads rows [first, first+n) of a file of little-endian float32 rows of the given width. The file must hold a whole number of rows
// and all those asked for.
func ReadRows(path string, width, first, n int) ([][]float32, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := int64(width) * 4
	if width <= 0 || first < 0 || n < 0 || info.Size()%size != 0 || info.Size()/size < int64(first)+int64(n) {
		return nil, fmt.Errorf("%s: %d bytes do not hold rows %d to %d of %d float32", path, info.Size(), first, first+n-1, width)
	}
	buf := make([]byte, size)
	rows := make([][]float32, n)
	for i := range rows {
		if _, err := io.ReadFull(io.NewSectionReader(f, int64(first+i)*size, size), buf); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		rows[i] = make([]float32, width)
		for j := range rows[i] {
			rows[i][j] = math.Float32frombits(binary.LittleEndian.Uint32(buf[4*j:]))
		}
	}
	return rows, nil
}

// FileSize is the size of a file in bytes.
func FileSize(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
