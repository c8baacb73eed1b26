package main

import (
	"strings"
	"testing"
)

// The bytes are those that GNU binutils shows as the same instructions.
func TestTileInstructionsAreEncoded(t *testing.T) {
	for line, want := range map[string]string{
		"\tLDTILECFG (CX)":                  "BYTE $0xc4; BYTE $0xe2; BYTE $0x78; BYTE $0x49; BYTE $0x84; BYTE $0x21; BYTE $0x00; BYTE $0x00; BYTE $0x00; BYTE $0x00",
		"\tTILERELEASE":                     "BYTE $0xc4; BYTE $0xe2; BYTE $0x78; BYTE $0x49; BYTE $0xc0",
		"\tTILEZERO TMM3":                   "BYTE $0xc4; BYTE $0xe2; BYTE $0x7b; BYTE $0x49; BYTE $0xd8",
		"\tTILELOADD (SI)(BX*1), TMM6":      "BYTE $0xc4; BYTE $0xe2; BYTE $0x7b; BYTE $0x4b; BYTE $0xb4; BYTE $0x1e; BYTE $0x00; BYTE $0x00; BYTE $0x00; BYTE $0x00",
		"\tTILESTORED TMM3, 2816(R8)(BX*1)": "BYTE $0xc4; BYTE $0xc2; BYTE $0x7a; BYTE $0x4b; BYTE $0x9c; BYTE $0x18; BYTE $0x00; BYTE $0x0b; BYTE $0x00; BYTE $0x00",
		"\tTDPBSSD    TMM7, TMM5, TMM3":     "BYTE $0xc4; BYTE $0xe2; BYTE $0x43; BYTE $0x5e; BYTE $0xdd",
	} {
		got, err := encodeTiles([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if text, _, _ := strings.Cut(string(got), " //"); text != "\t"+want {
			t.Errorf("%q: %s", line, got)
		}
	}
	for _, line := range []string{"\tTILELOADD (SI), TMM1", "\tTILELOADD (SI)(SP*1), TMM1", "\tTILEZERO AX", "\tLDTILECFG CX", "\tTILELOADD (Z1)(BX*1), TMM1"} {
		if _, err := encodeTiles([]byte(line)); err == nil {
			t.Errorf("%q is encoded", line)
		}
	}
}
