//go:build !purego

package cpu

import "runtime"

// asked: on macOS nobody has yet run the kernels in streaming mode, with signals held back around them, on a chip that has it.
func asked() []string {
	if runtime.GOOS == "darwin" && streams(Arm()) {
		return []string{SME2}
	}
	return nil
}

// streams says whether a machine can run the kernels in streaming mode. The x16 layouts make a vector of sixteen rows, which is a streaming vector of exactly 512 bits.
func streams(f ArmFeatures) bool { return f.DotProd && f.I8MM && f.SME2 && f.SVL == 64 }
