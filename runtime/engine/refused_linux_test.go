package engine

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// What a system refuses can be tried only in a process of which it is refused: these tests run themselves again as a child that has the rule, and compare what it computes.

// childOf names the file that a child writes what it computed to.
const childOf = "JNS_TEST_CHILD"

type childRun struct {
	IO, Why string
	Logits  []float32
}

// streamedBy runs the container in the least memory, reading in one way.
func streamedBy(t *testing.T, path, io string) childRun {
	t.Helper()
	o := Options{Context: 64, Batch: 8, Threads: 2, IO: io}
	o.Memory, _ = granted(t, path, o)
	logits, r := evaluated(t, path, o)
	require.NotNil(t, r.Stream)
	return childRun{r.IO, r.Stream.Why, logits}
}

// inChild runs the calling test again in a process of its own and gives what it computed by each way of reading; of the child itself it says so, after it has run f.
func inChild(t *testing.T, attr *syscall.SysProcAttr, f func(path string) (string, error)) (runs map[string]childRun, path string, child bool) {
	t.Helper()
	if out := os.Getenv(childOf); out != "" {
		smallBase(t)
		path, err := f(os.Getenv(childOf + "_MODEL"))
		require.NoError(t, err)
		runs = map[string]childRun{}
		for _, io := range []string{"auto", "uring", "pread", "mmap"} {
			runs[io] = streamedBy(t, path, io)
		}
		b, err := json.Marshal(runs)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(out, b, 0o600))
		return nil, "", true
	}
	path = compiled(t, streamModels[0])
	out := filepath.Join(t.TempDir(), "out")
	c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	c.Env = append(os.Environ(), childOf+"="+out, childOf+"_MODEL="+path)
	c.SysProcAttr = attr
	words, err := c.CombinedOutput()
	if err != nil && c.Process == nil {
		t.Skipf("no process with these rules can be started here: %v", err)
	}
	require.NoError(t, err, "%s", words)
	b, err := os.ReadFile(out)
	require.NoError(t, err, "%s", words)
	require.NoError(t, json.Unmarshal(b, &runs))
	require.Len(t, runs, 4)
	return runs, path, false
}

// refuseRings makes io_uring_setup fail with EPERM in all threads of the process, as the profiles of containers do.
func refuseRings() error {
	const nr = 0 // offset of the call's number in seccomp_data
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: nr},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_IO_URING_SETUP, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog))); e != 0 {
		return e
	}
	return nil
}

func TestRingsRefusedBySeccompFallBackAndGiveTheSameBits(t *testing.T) {
	runs, path, child := inChild(t, nil, func(path string) (string, error) { return path, refuseRings() })
	if child {
		return
	}
	smallBase(t)
	want := streamedBy(t, path, "pread")
	for io, r := range runs {
		require.True(t, equal(want.Logits, r.Logits), io)
		require.NotContains(t, r.IO, "uring")
	}
	require.Contains(t, runs["uring"].Why, "io_uring direct (io_uring_setup: operation not permitted)")
	require.True(t, strings.HasPrefix(runs["auto"].IO, "pread"), runs["auto"].IO)
}

// A file system in memory that knows no O_DIRECT: ramfs, since tmpfs takes it from Linux 6.6 on.
func TestAFileSystemWithoutDirectReadsFallsBackAndGivesTheSameBits(t *testing.T) {
	id := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	attr := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWUSER, UidMappings: id}
	if os.Getuid() == 0 {
		attr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	}
	runs, path, child := inChild(t, attr, func(path string) (string, error) {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return "", err
		}
		dir := t.TempDir()
		if err := unix.Mount("none", dir, "ramfs", 0, ""); err != nil {
			return "", err
		}
		t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
		name := filepath.Join(dir, "m.jns")
		b, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(name, b, 0o600); err != nil {
			return "", err
		}
		f, err := os.OpenFile(name, os.O_RDONLY|unix.O_DIRECT, 0)
		if err == nil {
			f.Close()
			t.Skip("this file system takes O_DIRECT")
		}
		return name, nil
	})
	if child {
		return
	}
	smallBase(t)
	want := streamedBy(t, path, "pread")
	for io, r := range runs {
		require.True(t, equal(want.Logits, r.Logits), io)
		require.NotContains(t, r.IO, "direct")
	}
	require.Contains(t, runs["uring"].Why, "io_uring direct (invalid argument)")
}
