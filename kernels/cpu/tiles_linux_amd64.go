//go:build !purego

package cpu

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// Of Linux's arch/x86/include/uapi/asm/prctl.h and its list of extended states.
const (
	archReqXcompPerm = 0x1023
	xtileData        = 18
)

// tiles asks the system, once, for the tile registers: their state is so large that Linux saves it only for processes that have asked. It grants what the processor's XCR0
// has, and refuses while a thread has an alternate signal stack too small for the state; those of Go are 32 KiB.
var tiles = sync.OnceValue(func() error {
	_, _, e := unix.RawSyscall(unix.SYS_ARCH_PRCTL, archReqXcompPerm, xtileData, 0)
	switch {
	case e == 0:
		return nil
	case errors.Is(e, unix.ENOSPC):
		return fmt.Errorf("the system refuses the tile registers: a thread's signal stack is too small for their state (%w)", e)
	case errors.Is(e, unix.EINVAL), errors.Is(e, unix.EOPNOTSUPP):
		return fmt.Errorf("the system does not know the tile registers; Linux does from 5.16 on, and a virtual machine must offer them (%w)", e)
	}
	return fmt.Errorf("the system refuses the tile registers (%w)", e)
})
