//go:build !purego

package sched

import _ "unsafe" // for go:linkname

// macOS binds no thread to a processor: the only call for that, thread_policy_set with THREAD_AFFINITY_POLICY, is refused on Apple silicon with KERN_NOT_SUPPORTED. What it takes is a
// class of service, from which it chooses the kind of core: threads of the default class have been seen to end up on efficiency cores after some minutes of work. There are no system
// calls by number either: the function is called in libSystem, as the runtime does.

// served says that threads have classes of service.
const served = true

// userInitiated is QOS_CLASS_USER_INITIATED: work that the user waits for.
const userInitiated = 0x19

// serve asks for the performance cores for the calling goroutine's thread. The system may refuse; then the thread runs where it may, only slower.
func serve() { rawSyscall(qosAddr, userInitiated, 0, 0) }

// qosAddr is the address of the function in qos_darwin.s.
var qosAddr uintptr

//go:cgo_import_dynamic libc_pthread_set_qos_class_self_np pthread_set_qos_class_self_np "/usr/lib/libSystem.B.dylib"

// rawSyscall calls a function of libSystem on the thread's own stack.
//
//go:linkname rawSyscall syscall.rawSyscall
func rawSyscall(fn, a1, a2, a3 uintptr) (r1, r2, errno uintptr)
