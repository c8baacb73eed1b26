package kernels

import "jns/kernels/cpu"

// Core is a microarchitecture, Level a kind of core on systems that number kinds: see package cpu.
type (
	Core  = cpu.Core
	Level = cpu.Level
)

// ErrCores is the error of a file of cores that cannot be used.
var ErrCores = cpu.ErrCores

// Cores says what is known of the processors that this process may use (allowed, in order; nil for all), by number. The error wraps ErrCores.
func Cores(allowed []int) (map[int]Core, error) { return cpu.Cores("/", allowed) }

// DescribeCores sums cores up: "1 × Cortex-X3 (prime), 4 × Cortex-A715 (middle)"; "" for none.
func DescribeCores(all map[int]Core) string { return cpu.DescribeCores(all) }

// Levels lists the kinds of cores, the fastest first, where the system numbers those; else nil.
func Levels() []Level { return cpu.Levels() }

// Processor is the processor's name where the system tells it by other means than a file, "" elsewhere.
func Processor() string { return cpu.Model() }

// Features lists what an arm64 machine offers beyond NEON, "" elsewhere.
func Features() string { return cpu.Arm().String() }

// AutoFor is the set to use on a machine of such cores: what the fastest class among them prefers of the sets selected here.
func AutoFor(all map[int]Core) (string, error) {
	sets, err := cpu.Selected()
	if err != nil {
		return "", err
	}
	best, found := Core{}, false
	for _, c := range all {
		if !found || c.Class > best.Class || c.Class == best.Class && c.Name < best.Name {
			best, found = c, true
		}
	}
	return best.Preferred(sets), nil
}
