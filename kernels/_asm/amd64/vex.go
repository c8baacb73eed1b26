package main

import (
	"fmt"
	"regexp"
	"strconv"
)

var dpLine = regexp.MustCompile(`(?m)^\t(VPDPBUSD) +Y(\d+), Y(\d+), Y(\d+)$`)

// encodeVEX replaces VPDPBUSD on Y registers, which Go's assembler knows as an AVX-512 instruction only, by the bytes of its AVX-VNNI form:
// VEX.256.66.0F38.W0 50 /r (Intel SDM, VPDPBUSD).
//
//	C4, R̄X̄B̄ 00010, W v̄v̄v̄v̄ 1 01, 50, 11 reg rm
func encodeVEX(text []byte) ([]byte, error) {
	var bad error
	out := dpLine.ReplaceAllFunc(text, func(line []byte) []byte {
		m := dpLine.FindSubmatch(line)
		var r [3]int // x (rm), w (vvvv), accumulator (reg)
		for i := range r {
			n, err := strconv.Atoi(string(m[2+i]))
			if err != nil || n > 15 {
				bad = fmt.Errorf("register out of range in %q", line)
			}
			r[i] = n
		}
		b1 := 0xe2 &^ (r[2] >> 3 << 7) &^ (r[0] >> 3 << 5)
		b2 := (^r[1]&15)<<3 | 1<<2 | 1
		modrm := 0xc0 | r[2]&7<<3 | r[0]&7
		return fmt.Appendf(nil, "\tLONG $0x50%02x%02xc4; BYTE $0x%02x // VPDPBUSD Y%d, Y%d, Y%d", b2, b1, modrm, r[0], r[1], r[2])
	})
	if regexp.MustCompile(`(?m)^\tVPDP`).Match(out) {
		bad = fmt.Errorf("an instruction has no VEX form")
	}
	return out, bad
}
