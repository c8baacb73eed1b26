package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// leakMain calls a kernel of Q8_0 on zeros, then code of the standard library that uses NEON.
const leakMain = `package main

import (
	"bytes"
	"fmt"
	"unsafe"
)

type StreamArgs struct {
	P0, P1         unsafe.Pointer
	Stride         uintptr
	Groups, Last   int
	Blocks         int
	X              unsafe.Pointer
	XStride        uintptr
	Cols           int
	Y              unsafe.Pointer
	YStride        uintptr
}

//go:noescape
func %[1]s(a *StreamArgs)

var (
	w [4 * 576]byte
	x [48]byte
	y [64]float32
)

func main() {
	for i := range y {
		y[i] = 1
	}
	%[1]s(&StreamArgs{P0: unsafe.Pointer(&w), P1: unsafe.Pointer(&w[64]), Stride: 576, Groups: 1, Last: 3, Blocks: 1, X: unsafe.Pointer(&x), XStride: 48, Cols: 1,
		Y: unsafe.Pointer(&y), YStride: 256})
	fmt.Println(bytes.Count(w[:], []byte{1}), y[0], y[63])
}
`

// A kernel that forgets to leave streaming mode must not pass for one that works: on a machine without FA64 the next NEON instruction is illegal.
func TestMissingSMSTOPIsCaught(t *testing.T) {
	sources = nil
	generate()
	var whole bytes.Buffer
	const name = "Gemv_q8_0x16_q8x_64x1_sme2"
	s := sources[slices.IndexFunc(sources, func(s *source) bool { return s.name == "gemv_sme_q8_0x16" })]
	f := s.fns[slices.IndexFunc(s.fns, func(f *fn) bool { return f.name == name })]
	if faults(f) != "" {
		t.Fatal(faults(f))
	}
	whole.WriteString("#include \"textflag.h\"\n")
	f.text(&whole)
	whole.Write(s.data.Bytes())
	stop := fmt.Sprintf("\tWORD $0x%08x // smstop\n", 0xd503467f)
	leak := strings.Replace(whole.String(), stop, "", 1)
	if leak == whole.String() {
		t.Fatal("the kernel does not leave streaming mode")
	}
	g := *f
	g.body = *bytes.NewBufferString(strings.Replace(f.body.String(), stop, "", 1))
	if faults(&g) == "" {
		t.Error("the text of a kernel without its smstop passes")
	}

	emulator := strings.Fields(os.Getenv("JNS_EMULATOR"))
	if len(emulator) == 0 {
		t.Skip("JNS_EMULATOR names no emulator (.ci/arm64-run does)")
	}
	run := func(asm string) (string, error) {
		dir := t.TempDir()
		for file, text := range map[string]string{"go.mod": "module leak\n\ngo 1.26\n", "main.go": fmt.Sprintf(leakMain, name), "kernel_arm64.s": asm} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		c := exec.Command("go", "build", "-o", "leak", ".")
		c.Dir, c.Env = dir, append(os.Environ(), "GOARCH=arm64", "GOOS=linux", "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out, err := exec.Command(emulator[0], append(slices.Clone(emulator[1:]), filepath.Join(dir, "leak"))...).CombinedOutput()
		return string(out), err
	}
	if out, err := run(whole.String()); err != nil || out != "0 0 0\n" {
		t.Errorf("the kernel as it is: %v\n%.400s", err, out)
	}
	if out, err := run(leak); err == nil || !strings.Contains(out, "SIGILL") {
		t.Errorf("the kernel without its smstop is not caught: %v\n%.400s", err, out)
	}
}
