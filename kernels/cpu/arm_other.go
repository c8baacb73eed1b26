//go:build !arm64 || (!linux && !darwin)

package cpu

// Arm is empty: not an arm64 machine, or a system that is not asked.
func Arm() ArmFeatures { return ArmFeatures{} }
