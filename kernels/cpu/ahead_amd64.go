//go:build amd64 && !purego

package cpu

import "github.com/klauspost/cpuid/v2"

// Ahead is how far ahead of its loads a kernel that reads weights from memory asks for them, in bytes: for every line into the first-level cache (Near) and into the second (Far).
type Ahead struct {
	Near, Far int
	// Joined: the scales and the codes of a tile row, two streams of which the second follows the first, are asked for as if they were one, which leaves no line out. Otherwise
	// the codes are followed, and what is left out between tile rows comes by the processor's own prefetcher.
	Joined bool
	// Once: keys and values are asked for into the first-level cache only, and in the pauses between too. Otherwise one line in two or more is asked for into the second as well, half a page earlier.
	Once bool
}

// aheads lists what was measured, by vendor and family; the first that fits counts, the last fits all.
var aheads = []struct {
	vendor cpuid.Vendor
	family int // 0: any
	Ahead
}{
	// Zen 5, share of plain reads with AVX-512 (43 GB/s; with lines asked for 32 KiB ahead into the second-level cache first, as below: Q4_K 0.82, Q4_0 0.76, Q6_K 0.83).
	{cpuid.AMD, 26, Ahead{Near: 8 << 10, Far: 8 << 10, Joined: true, Once: true}},
	// Emerald Rapids, share of plain reads of Q4_0, Q5_K, Q6_K with AVX-512: one far line in four 0.85, 0.84, 0.82, every one 0.94, 0.91, 0.91; of all types and sets together 0.81 and 0.84.
	// Lines asked for far ahead lead the processor's own prefetcher, which stops at the end of a page.
	{cpuid.VendorUnknown, 0, Ahead{Near: 8 << 10, Far: 32 << 10}},
}

// AheadOfLoads is what suits this processor.
func AheadOfLoads() Ahead { return aheadOf(cpuid.CPU.VendorID, cpuid.CPU.Family) }

func aheadOf(vendor cpuid.Vendor, family int) Ahead {
	for _, a := range aheads {
		if a.family == 0 || a.vendor == vendor && a.family == family {
			return a.Ahead
		}
	}
	return Ahead{}
}

// BlocksByFour says whether activations are quantised by four blocks at a time on 512-bit registers, or one by one on 256-bit ones: where it was measured to be faster. Of a Zen 5's four pipes
// all take 512 bits and two shuffle; on Intel's processors one does both.
func BlocksByFour() bool { return cpuid.CPU.VendorID == cpuid.AMD && cpuid.CPU.Family == 26 }
