package cpu

import "golang.org/x/sys/unix"

// Levels asks the system by sysctl for its kinds of cores, the fastest first.
func Levels() []Level {
	return levels(func(name string) (int, bool) {
		v, err := unix.SysctlUint32(name)
		return int(v), err == nil
	}, func(name string) (string, bool) {
		v, err := unix.Sysctl(name)
		return v, err == nil
	})
}

// Model is the processor's name.
func Model() string {
	s, err := unix.Sysctl("machdep.cpu.brand_string")
	if err != nil {
		return ""
	}
	return s
}
