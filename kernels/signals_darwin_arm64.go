//go:build !purego

package kernels

import (
	"runtime"
	"sync"
	"unsafe"
)

// macOS may start a signal handler with streaming mode still on, and when the handler returns it sets the state of NEON, which clears the upper parts of streaming vectors. So all
// signals of the thread wait while a kernel is in streaming mode. There are no system calls by number on macOS: pthread_sigmask is called in libSystem, as the runtime does.

// signalMasks are what pthread_sigmask reads and writes; they lie on the heap, for a stack may move.
type signalMasks struct{ all, old uint32 }

var masks = sync.Pool{New: func() any { return &signalMasks{all: ^uint32(0)} }}

const sigSetMask = 3 // SIG_SETMASK

// holdSignals keeps signals from this goroutine's thread, and the goroutine on the thread, until releaseSignals.
func holdSignals() *signalMasks {
	runtime.LockOSThread()
	m := masks.Get().(*signalMasks)
	rawSyscall(sigmaskAddr, sigSetMask, uintptr(unsafe.Pointer(&m.all)), uintptr(unsafe.Pointer(&m.old)))
	return m
}

func releaseSignals(m *signalMasks) {
	rawSyscall(sigmaskAddr, sigSetMask, uintptr(unsafe.Pointer(&m.old)), 0)
	masks.Put(m)
	runtime.UnlockOSThread()
}

// sigmaskAddr is the address of the function in signals_darwin_arm64.s.
var sigmaskAddr uintptr

//go:cgo_import_dynamic libc_pthread_sigmask pthread_sigmask "/usr/lib/libSystem.B.dylib"

// rawSyscall calls a function of libSystem on the thread's own stack.
//
//go:linkname rawSyscall syscall.rawSyscall
func rawSyscall(fn, a1, a2, a3 uintptr) (r1, r2, errno uintptr)
