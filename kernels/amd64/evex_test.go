//go:build linux && amd64 && !purego

package amd64

import (
	"debug/elf"
	"debug/gosym"
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// keep makes the linker keep the functions that the test looks at.
var keep = []any{
	Gemv_bf16x16_f32_32x1_avx2, Gemv_bf16x16_f32_16x1_avx2, Gemv_bf16x16_f32_16x2_avx2, Gemv_bf16x16_f32_16x4_avx2, Gemv_bf16x16_f32_16x6_avx2,
	Gemv_f16x16_f32_32x1_avx2, Gemv_f16x16_f32_16x1_avx2, Gemv_f16x16_f32_16x2_avx2, Gemv_f16x16_f32_16x4_avx2, Gemv_f16x16_f32_16x6_avx2, Gemv_f32x16_f32_32x1_avx2,
	Gemv_f32x16_f32_16x1_avx2, Gemv_f32x16_f32_16x2_avx2, Gemv_f32x16_f32_16x4_avx2, Gemv_f32x16_f32_16x6_avx2,
	Panel_u4s_q8x_16x1_avx2, Panel_u4s_q8x_16x2_avx2, Panel_u4s_q8x_16x3_avx2, Panel_u5s_q8x_16x1_avx2,
	Panel_u5s_q8x_16x2_avx2, Panel_u4m_q8x_16x1_avx2, Panel_u4m_q8x_16x2_avx2, Panel_u4m_q8x_16x3_avx2,
	Panel_u5m_q8x_16x1_avx2, Panel_u5m_q8x_16x2_avx2, Panel_u6g_q8x_16x1_avx2, Panel_u6g_q8x_16x2_avx2, Panel_u8s_q8x_16x1_avxvnni, Panel_u8s_q8x_16x2_avxvnni, Panel_u8s_q8x_16x3_avxvnni,
	Panel_u8m_q8x_16x1_avxvnni, Panel_u8m_q8x_16x2_avxvnni, Panel_u8m_q8x_16x3_avxvnni, Panel_u8g_q8x_16x1_avxvnni,
	Panel_u8g_q8x_16x2_avxvnni, Panel_u8g_q8x_16x3_avxvnni, Gemv_q4_0x16_q8x_16x1_avx2, Gemv_q4_0x16_q8x_16x2_avx2,
	Expand_q4_0x16_codes_16x32_avx2, Gemv_q4_0x16_q8x_16x1_avxvnni, Gemv_q4_0x16_q8x_16x2_avxvnni, Expand_q4_0x16_codes_16x32_avxvnni, Gemv_q4_1x16_q8x_16x1_avx2, Gemv_q4_1x16_q8x_16x2_avx2,
	Expand_q4_1x16_codes_16x32_avx2, Gemv_q4_1x16_q8x_16x1_avxvnni, Gemv_q4_1x16_q8x_16x2_avxvnni, Expand_q4_1x16_codes_16x32_avxvnni, Gemv_q4_kx16_q8x_16x1_avx2, Gemv_q4_kx16_q8x_16x2_avx2,
	Expand_q4_kx16_codes_16x32_avx2, Gemv_q4_kx16_q8x_16x1_avxvnni, Gemv_q4_kx16_q8x_16x2_avxvnni, Expand_q4_kx16_codes_16x32_avxvnni, Gemv_q5_0x16_q8x_16x1_avx2, Gemv_q5_0x16_q8x_16x2_avx2,
	Expand_q5_0x16_codes_16x32_avx2, Gemv_q5_0x16_q8x_16x1_avxvnni, Gemv_q5_0x16_q8x_16x2_avxvnni, Expand_q5_0x16_codes_16x32_avxvnni, Gemv_q5_1x16_q8x_16x1_avx2, Gemv_q5_1x16_q8x_16x2_avx2,
	Expand_q5_1x16_codes_16x32_avx2, Gemv_q5_1x16_q8x_16x1_avxvnni, Gemv_q5_1x16_q8x_16x2_avxvnni, Expand_q5_1x16_codes_16x32_avxvnni, Gemv_q5_kx16_q8x_16x1_avx2, Gemv_q5_kx16_q8x_16x2_avx2,
	Expand_q5_kx16_codes_16x32_avx2, Gemv_q5_kx16_q8x_16x1_avxvnni, Gemv_q5_kx16_q8x_16x2_avxvnni, Expand_q5_kx16_codes_16x32_avxvnni, Gemv_q6_kx16_q8x_16x1_avx2, Gemv_q6_kx16_q8x_16x2_avx2,
	Expand_q6_kx16_codes_16x32_avx2, Gemv_q6_kx16_q8x_16x1_avxvnni, Gemv_q6_kx16_q8x_16x2_avxvnni, Expand_q6_kx16_codes_16x32_avxvnni, Gemv_q8_0x16_q8x_16x1_avx2, Gemv_q8_0x16_q8x_16x2_avx2,
	Expand_q8_0x16_codes_16x32_avx2, Gemv_q8_0x16_q8x_16x1_avxvnni, Gemv_q8_0x16_q8x_16x2_avxvnni, Expand_q8_0x16_codes_16x32_avxvnni, Vec_addscaled_avx2,
	Vec_scale_avx2, Vec_mul_avx2, Vec_scalemul_avx2, Vec_subscale_avx2, Vec_softcap_avx2, Vec_silu_avx2, Vec_gelu_avx2, Vec_geluerf_avx2,
	Vec_relu_avx2, Vec_relu2_avx2, Vec_geluquick_avx2, Vec_ropeneox_avx2, Vec_sumsq_avx2, Vec_sum_avx2, Vec_sumsqdev_avx2,
	Vec_maxabs_avx2, Vec_find_avx2, Vec_expsum_avx2, Vec_quantize_avx2, Vec_ropepairs_avx2, Vec_storek_avx2, Vec_storev_avx2,
}

// A processor with AVX2 or AVX-VNNI but without AVX-512 faults on the EVEX prefix 62. Every instruction of these kernels is measured, so that a
// byte 62 inside one is not taken for a prefix.
func TestKernelsWithoutAVX512HaveNoEVEXPrefix(t *testing.T) {
	path, err := os.Executable()
	require.NoError(t, err)
	exe, err := elf.Open(path)
	require.NoError(t, err)
	defer exe.Close()
	lines, err := exe.Section(".gopclntab").Data()
	require.NoError(t, err)
	text := exe.Section(".text")
	code, err := text.Data()
	require.NoError(t, err)
	tab, err := gosym.NewTable(nil, gosym.NewLineTable(lines, text.Addr))
	require.NoError(t, err)

	name := regexp.MustCompile(`kernels/amd64\.(Gemv|Panel|Expand|Vec)_\w+_(avx2|avxvnni)$`)
	seen, dots := map[string]bool{}, 0
	for _, f := range tab.Funcs {
		if !name.MatchString(f.Name) {
			continue
		}
		seen[f.Name] = true
		for b := code[f.Entry-text.Addr : f.End-text.Addr]; len(b) > 0; {
			n, err := length(b)
			require.NoError(t, err, "%s at % x", f.Name, b[:min(12, len(b))])
			if b[0] == 0xc4 && b[1]&31 == 2 && b[3] == 0x50 {
				dots++
			}
			if b[0] == 0xc3 {
				break
			}
			b = b[n:]
		}
	}
	require.GreaterOrEqual(t, len(seen), len(keep))
	require.Greater(t, dots, 100, "VPDPBUSD in its VEX form was found")
}

// length measures an instruction of the few kinds that the kernels use.
func length(b []byte) (int, error) {
	i := 0
	imm := 0
	switch {
	case b[0] == 0x62:
		return 0, fmt.Errorf("EVEX prefix")
	case b[0] == 0xc5 || b[0] == 0xc4:
		i = 2
		table := byte(1)
		if b[0] == 0xc4 {
			i, table = 3, b[1]&31
		}
		op := b[i]
		i++
		if table == 1 && op == 0x77 { // VZEROUPPER
			return i, nil
		}
		if table == 3 || table == 1 && (op >= 0x70 && op <= 0x73 || op == 0xc2 || op >= 0xc4 && op <= 0xc6) {
			imm = 1
		}
		return i + modrm(b[i:]) + imm, nil
	case b[0] == 0x64: // FS, in the wrappers that Go puts around assembly
		n, err := length(b[1:])
		return n + 1, err
	case b[0]&0xf0 == 0x40: // REX
		i++
	}
	op := b[i]
	i++
	switch {
	case op == 0x0f && b[i]&0xf0 == 0x80: // Jcc rel32
		return i + 5, nil
	case op == 0x0f && (b[i] == 0x18 || b[i] == 0x57 || b[i]&0xf0 == 0x40 || b[i] == 0xb6 || b[i] == 0xaf || b[i] == 0xbc): // prefetch, XORPS, CMOV, MOVZX, IMUL, BSF
		return i + 1 + modrm(b[i+1:]), nil
	case op&0xf0 == 0x70 || op == 0xeb: // Jcc, JMP rel8
		return i + 1, nil
	case op == 0xe8 || op == 0xe9:
		return i + 4, nil
	case op == 0xc3, op == 0x90, op&0xf0 == 0x50, op == 0xc9, op == 0xcc:
		return i, nil
	case op&0xf8 == 0xb8: // MOV to a register
		if b[0]&0xf8 == 0x48 {
			return i + 8, nil
		}
		return i + 4, nil
	case op < 0x40 && op&7 == 5: // arithmetic on AX
		return i + 4, nil
	case op == 0x81, op == 0xc7, op == 0x69, op == 0xf7 && b[i]>>3&7 < 2:
		imm = 4
	case op == 0x83, op == 0xc1, op == 0x6b:
		imm = 1
	case op < 0x40 && op&7 < 4, op == 0xf7, op == 0x85, op == 0x87, op == 0x89, op == 0x8b, op == 0x8d, op == 0xd1, op == 0xd3, op == 0xff:
	default:
		return 0, fmt.Errorf("unknown opcode %02x", op)
	}
	return i + modrm(b[i:]) + imm, nil
}

// modrm measures a ModRM byte with what follows it: SIB and displacement.
func modrm(b []byte) int {
	mod, rm := b[0]>>6, b[0]&7
	n := 1
	if mod != 3 && rm == 4 {
		if mod == 0 && b[1]&7 == 5 {
			n += 4
		}
		n++
	}
	switch {
	case mod == 1:
		n++
	case mod == 2, mod == 0 && rm == 5:
		n += 4
	}
	return n
}
