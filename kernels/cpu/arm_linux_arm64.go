package cpu

import "golang.org/x/sys/unix"

// Arm asks the kernel: HWCAP and HWCAP2 from the auxiliary vector, the streaming vector length by prctl.
func Arm() ArmFeatures {
	var a, b uint64
	words, err := unix.Auxv()
	if err != nil {
		return ArmFeatures{}
	}
	for _, w := range words {
		switch w[0] {
		case 16:
			a = uint64(w[1])
		case 26:
			b = uint64(w[1])
		}
	}
	f := armHWCAP(a, b)
	if f.SME {
		if n, err := unix.PrctlRetInt(unix.PR_SME_GET_VL, 0, 0, 0, 0); err == nil {
			f.SVL = n & 0xffff
		}
	}
	return f
}
