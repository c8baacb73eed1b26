package main

import "testing"

// A kernel with a loop over tile rows around one over blocks: what lies between the label of the block and the jump back to it counts, whatever it is written as.
const counted = `
// func Gemv_q4_kx16_q8x_16x2_avxvnni(a *GemmArgs)
TEXT ·Gemv_q4_kx16_q8x_16x2_avxvnni(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), AX

tile:
	MOVQ CX, DX

block:
	// a comment
	VMOVDQU (AX), Y0
	LONG $0x50fd62c4; BYTE $0xc1 // VPDPBUSD Y1, Y0, Y0
	DECQ DX
	JNZ  block
	DECQ CX
	JNZ  tile
	RET

// func Other_avx2(a *VecArgs)
TEXT ·Other_avx2(SB), NOSPLIT, $0-8
block:
	DECQ DX
	JNZ  block
	RET
`

func TestInstructionsOfAStepAreCounted(t *testing.T) {
	got, err := costsOf([]byte(counted))
	want := cost{"gemv_q4_kx16_q8x_16x2_avxvnni", 4, 16 * 144, 16 * 256}
	if err != nil || len(got) != 1 || got[0] != want {
		t.Fatalf("%v, %v, want %v", got, err, want)
	}
}

func TestCostsOfFormsAndFloats(t *testing.T) {
	for kernel, want := range map[string]cost{
		"Panel_u8g_q8x_32x6_avx512vnni":   {"panel_u8g_q8x_32x6_avx512vnni", 7, 32*32 + 32*8, 32 * 32},
		"Gemv_f16x16_f32_64x1_avx512vnni": {"gemv_f16x16_f32_64x1_avx512vnni", 7, 4 * 64 * 2, 4 * 64},
		"Expand_q8_0x16_codes_16x32_avx2": {"expand_q8_0x16_codes_16x32_avx2", 7, 16 * 34, 16 * 32},
		"Gemv_q6_kx16_q8x_16x1_avx2":      {"gemv_q6_kx16_q8x_16x1_avx2", 7, 16 * 210, 16 * 256},
		"Gemv_unheardofx16_q8x_16x1_avx2": {},
		"Quantize_avx2":                   {},
	} {
		got, ok, err := costOf(kernel, 7)
		if err != nil || ok != (want != cost{}) || ok && got != want {
			t.Errorf("%s: %v, %v, %v, want %v", kernel, got, ok, err, want)
		}
	}
}
