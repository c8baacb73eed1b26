package cpu

import "golang.org/x/sys/unix"

// Arm asks the system by sysctl; a name that it does not know is a feature that it does not have.
func Arm() ArmFeatures {
	has := func(name string) bool {
		v, err := unix.SysctlUint32("hw.optional.arm." + name)
		return err == nil && v != 0
	}
	f := ArmFeatures{DotProd: has("FEAT_DotProd"), I8MM: has("FEAT_I8MM"), BF16: has("FEAT_BF16"), SME: has("FEAT_SME"), SME2: has("FEAT_SME2")}
	if f.SME {
		if v, err := unix.SysctlUint32("hw.optional.arm.sme_max_svl_b"); err == nil {
			f.SVL = int(v)
		}
	}
	return f
}
