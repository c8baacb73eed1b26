package kernels

import "jns/kernels/cpu"

// Cores sums up the processor's cores by kind where the system shows their identification registers (Linux on arm64), "" elsewhere: "1 × Cortex-X3 (prime), 4 × Cortex-A715
// (middle)".
func Cores() string { return cpu.DescribeCores(cpu.ArmCores("/")) }

// Features lists what an arm64 machine offers beyond NEON, "" elsewhere.
func Features() string { return cpu.Arm().String() }
