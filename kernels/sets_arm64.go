//go:build arm64 && !purego

package kernels

import (
	"slices"

	"jns/kernels/arm64"
	"jns/kernels/tile"
)

// bindSet gives the product of a layout in exactly this set, nil if the set has none.
func bindSet(l *tile.Layout, set string) *MatMul {
	which := slices.Index(setNames[:], set)
	if which < 0 {
		return nil
	}
	for i := range floats {
		if p := &floats[i]; p.layout == l {
			return p.bind(which)
		}
	}
	for i := range products {
		if p := &products[i]; p.layout == l {
			return p.bind(which)
		}
	}
	return nil
}

var s8s = &form{64, [2][]panel{
	{{4, arm64.Panel_s8s_q8x_8x4_dotprod}, {2, arm64.Panel_s8s_q8x_8x2_dotprod}, {1, arm64.Panel_s8s_q8x_8x1_dotprod}},
	{{4, arm64.Panel_s8s_q8x_8x4_i8mm}, {2, arm64.Panel_s8s_q8x_8x2_i8mm}, {1, arm64.Panel_s8s_q8x_8x1_i8mm}},
}, arm64.Panel_s8s_q8x_16x16_sme2}

var s8m = &form{128, [2][]panel{
	{{4, arm64.Panel_s8m_q8x_8x4_dotprod}, {2, arm64.Panel_s8m_q8x_8x2_dotprod}, {1, arm64.Panel_s8m_q8x_8x1_dotprod}},
	{{4, arm64.Panel_s8m_q8x_8x4_i8mm}, {2, arm64.Panel_s8m_q8x_8x2_i8mm}, {1, arm64.Panel_s8m_q8x_8x1_i8mm}},
}, arm64.Panel_s8m_q8x_16x16_sme2}

var s8g = &form{128, [2][]panel{
	{{4, arm64.Panel_s8g_q8x_8x4_dotprod}, {2, arm64.Panel_s8g_q8x_8x2_dotprod}, {1, arm64.Panel_s8g_q8x_8x1_dotprod}},
	{{4, arm64.Panel_s8g_q8x_8x4_i8mm}, {2, arm64.Panel_s8g_q8x_8x2_i8mm}, {1, arm64.Panel_s8g_q8x_8x1_i8mm}},
}, arm64.Panel_s8g_q8x_16x16_sme2}

var s8n = &form{256, [2][]panel{
	{{4, arm64.Panel_s8n_q8x_8x4_dotprod}, {2, arm64.Panel_s8n_q8x_8x2_dotprod}, {1, arm64.Panel_s8n_q8x_8x1_dotprod}},
	{{4, arm64.Panel_s8n_q8x_8x4_i8mm}, {2, arm64.Panel_s8n_q8x_8x2_i8mm}, {1, arm64.Panel_s8n_q8x_8x1_i8mm}},
}, arm64.Panel_s8n_q8x_16x16_sme2}

var products = []product{
	{tile.Q8_0x16, tile.Q8_0x16Scales, tile.Q8_0x16Codes, [2]kernel{arm64.Gemv_q8_0x16_q8x_16x1_dotprod, arm64.Gemv_q8_0x16_q8x_16x2_dotprod}, s8s,
		[2]kernel{arm64.Expand_q8_0x16_codes_16x32_dotprod, arm64.Expand_q8_0x16_codes_16x32_i8mm}},
	{tile.Q4_0x16, tile.Q4_0x16Scales, tile.Q4_0x16Codes, [2]kernel{arm64.Gemv_q4_0x16_q8x_16x1_dotprod, arm64.Gemv_q4_0x16_q8x_16x2_dotprod}, s8s,
		[2]kernel{arm64.Expand_q4_0x16_codes_16x32_dotprod, arm64.Expand_q4_0x16_codes_16x32_i8mm}},
	{tile.Q4_1x16, tile.Q4_1x16Scales, tile.Q4_1x16Codes, [2]kernel{arm64.Gemv_q4_1x16_q8x_16x1_dotprod, arm64.Gemv_q4_1x16_q8x_16x2_dotprod}, s8m,
		[2]kernel{arm64.Expand_q4_1x16_codes_16x32_dotprod, arm64.Expand_q4_1x16_codes_16x32_i8mm}},
	{tile.Q5_0x16, tile.Q5_0x16Scales, tile.Q5_0x16Codes, [2]kernel{arm64.Gemv_q5_0x16_q8x_16x1_dotprod, arm64.Gemv_q5_0x16_q8x_16x2_dotprod}, s8s,
		[2]kernel{arm64.Expand_q5_0x16_codes_16x32_dotprod, arm64.Expand_q5_0x16_codes_16x32_i8mm}},
	{tile.Q5_1x16, tile.Q5_1x16Scales, tile.Q5_1x16Codes, [2]kernel{arm64.Gemv_q5_1x16_q8x_16x1_dotprod, arm64.Gemv_q5_1x16_q8x_16x2_dotprod}, s8m,
		[2]kernel{arm64.Expand_q5_1x16_codes_16x32_dotprod, arm64.Expand_q5_1x16_codes_16x32_i8mm}},
	{tile.Q4_Kx16, 0, tile.Q4_Kx16Block, [2]kernel{arm64.Gemv_q4_kx16_q8x_16x1_dotprod, arm64.Gemv_q4_kx16_q8x_16x2_dotprod}, s8m,
		[2]kernel{arm64.Expand_q4_kx16_codes_16x32_dotprod, arm64.Expand_q4_kx16_codes_16x32_i8mm}},
	{tile.Q5_Kx16, 0, tile.Q5_Kx16Block, [2]kernel{arm64.Gemv_q5_kx16_q8x_16x1_dotprod, arm64.Gemv_q5_kx16_q8x_16x2_dotprod}, s8m,
		[2]kernel{arm64.Expand_q5_kx16_codes_16x32_dotprod, arm64.Expand_q5_kx16_codes_16x32_i8mm}},
	{tile.Q6_Kx16, tile.Q6_Kx16D, tile.Q6_Kx16Block, [2]kernel{arm64.Gemv_q6_kx16_q8x_16x1_dotprod, arm64.Gemv_q6_kx16_q8x_16x2_dotprod}, s8g,
		[2]kernel{arm64.Expand_q6_kx16_codes_16x32_dotprod, arm64.Expand_q6_kx16_codes_16x32_i8mm}},
	{tile.Q2_Kx16, 0, tile.Q2_Kx16Block, [2]kernel{arm64.Gemv_q2_kx16_q8x_16x1_dotprod, arm64.Gemv_q2_kx16_q8x_16x2_dotprod}, s8n,
		[2]kernel{arm64.Expand_q2_kx16_codes_16x32_dotprod, arm64.Expand_q2_kx16_codes_16x32_i8mm}},
	{tile.Q3_Kx16, tile.Q3_Kx16D, tile.Q3_Kx16Block, [2]kernel{arm64.Gemv_q3_kx16_q8x_16x1_dotprod, arm64.Gemv_q3_kx16_q8x_16x2_dotprod}, s8g,
		[2]kernel{arm64.Expand_q3_kx16_codes_16x32_dotprod, arm64.Expand_q3_kx16_codes_16x32_i8mm}},
	{tile.IQ4_NLx16, tile.IQ4_NLx16Scales, tile.IQ4_NLx16Codes, [2]kernel{arm64.Gemv_iq4_nlx16_q8x_16x1_dotprod, arm64.Gemv_iq4_nlx16_q8x_16x2_dotprod}, s8s,
		[2]kernel{arm64.Expand_iq4_nlx16_codes_16x32_dotprod, arm64.Expand_iq4_nlx16_codes_16x32_i8mm}},
	{tile.IQ4_XSx16, 0, tile.IQ4_XSx16Block, [2]kernel{arm64.Gemv_iq4_xsx16_q8x_16x1_dotprod, arm64.Gemv_iq4_xsx16_q8x_16x2_dotprod}, s8s,
		[2]kernel{arm64.Expand_iq4_xsx16_codes_16x32_dotprod, arm64.Expand_iq4_xsx16_codes_16x32_i8mm}},
	{tile.TQ1_0x16, tile.TQ1_0x16Scales, tile.TQ1_0x16Codes, [2]kernel{arm64.Gemv_tq1_0x16_q8x_16x1_dotprod, arm64.Gemv_tq1_0x16_q8x_16x2_dotprod}, s8s,
		[2]kernel{arm64.Expand_tq1_0x16_codes_16x32_dotprod, arm64.Expand_tq1_0x16_codes_16x32_i8mm}},
	{tile.TQ2_0x16, tile.TQ2_0x16Scales, tile.TQ2_0x16Codes, [2]kernel{arm64.Gemv_tq2_0x16_q8x_16x1_dotprod, arm64.Gemv_tq2_0x16_q8x_16x2_dotprod}, s8s,
		[2]kernel{arm64.Expand_tq2_0x16_codes_16x32_dotprod, arm64.Expand_tq2_0x16_codes_16x32_i8mm}},
	{tile.MXFP4x16, tile.MXFP4x16Scales, tile.MXFP4x16Codes, [2]kernel{arm64.Gemv_mxfp4x16_q8x_16x1_dotprod, arm64.Gemv_mxfp4x16_q8x_16x2_dotprod}, s8s,
		[2]kernel{arm64.Expand_mxfp4x16_codes_16x32_dotprod, arm64.Expand_mxfp4x16_codes_16x32_i8mm}},
	{tile.NVFP4x16, tile.NVFP4x16Scales, tile.NVFP4x16Codes, [2]kernel{arm64.Gemv_nvfp4x16_q8x_16x1_dotprod, arm64.Gemv_nvfp4x16_q8x_16x2_dotprod}, s8g,
		[2]kernel{arm64.Expand_nvfp4x16_codes_16x32_dotprod, arm64.Expand_nvfp4x16_codes_16x32_i8mm}},
	{tile.Q1_0x16, tile.Q1_0x16Scales, tile.Q1_0x16Codes, [2]kernel{arm64.Gemv_q1_0x16_q8x_16x1_dotprod, arm64.Gemv_q1_0x16_q8x_16x2_dotprod}, s8s,
		[2]kernel{arm64.Expand_q1_0x16_codes_16x32_dotprod, arm64.Expand_q1_0x16_codes_16x32_i8mm}},
	{tile.Q2_0x16, tile.Q2_0x16Scales, tile.Q2_0x16Codes, [2]kernel{arm64.Gemv_q2_0x16_q8x_16x1_dotprod, arm64.Gemv_q2_0x16_q8x_16x2_dotprod}, s8s,
		[2]kernel{arm64.Expand_q2_0x16_codes_16x32_dotprod, arm64.Expand_q2_0x16_codes_16x32_i8mm}},
	{tile.IQ1_Sx16, tile.IQx16D, tile.IQ1_Sx16Block, [2]kernel{arm64.Gemv_iq1_sx16_q8x_16x1_dotprod, arm64.Gemv_iq1_sx16_q8x_16x2_dotprod}, s8s,
		[2]kernel{arm64.Expand_iq1_sx16_codes_16x32_dotprod, arm64.Expand_iq1_sx16_codes_16x32_i8mm}},
	{tile.IQ1_Mx16, tile.IQx16D, tile.IQ1_Mx16Block, [2]kernel{arm64.Gemv_iq1_mx16_q8x_16x1_dotprod, arm64.Gemv_iq1_mx16_q8x_16x2_dotprod}, s8g,
		[2]kernel{arm64.Expand_iq1_mx16_codes_16x32_dotprod, arm64.Expand_iq1_mx16_codes_16x32_i8mm}},
	{tile.IQ2_XXSLx16, tile.IQx16D, tile.IQ2_XXSLx16Block, [2]kernel{arm64.Gemv_iq2_xxslx16_q8x_16x1_dotprod, arm64.Gemv_iq2_xxslx16_q8x_16x2_dotprod}, s8s,
		[2]kernel{arm64.Expand_iq2_xxslx16_codes_16x32_dotprod, arm64.Expand_iq2_xxslx16_codes_16x32_i8mm}},
	{tile.IQ2_XSx16, tile.IQx16D, tile.IQ2Lx16Block, [2]kernel{arm64.Gemv_iq2_xsx16_q8x_16x1_dotprod, arm64.Gemv_iq2_xsx16_q8x_16x2_dotprod}, s8g,
		[2]kernel{arm64.Expand_iq2_xsx16_codes_16x32_dotprod, arm64.Expand_iq2_xsx16_codes_16x32_i8mm}},
	{tile.IQ2_Sx16, tile.IQx16D, tile.IQ2Lx16Block, [2]kernel{arm64.Gemv_iq2_sx16_q8x_16x1_dotprod, arm64.Gemv_iq2_sx16_q8x_16x2_dotprod}, s8g,
		[2]kernel{arm64.Expand_iq2_sx16_codes_16x32_dotprod, arm64.Expand_iq2_sx16_codes_16x32_i8mm}},
	{tile.IQ3_XXSLx16, tile.IQx16D, tile.IQ3Nx16Block, [2]kernel{arm64.Gemv_iq3_xxslx16_q8x_16x1_dotprod, arm64.Gemv_iq3_xxslx16_q8x_16x2_dotprod}, s8s,
		[2]kernel{arm64.Expand_iq3_xxslx16_codes_16x32_dotprod, arm64.Expand_iq3_xxslx16_codes_16x32_i8mm}},
	{tile.IQ3_Sx16, tile.IQx16D, tile.IQ3Nx16Block, [2]kernel{arm64.Gemv_iq3_sx16_q8x_16x1_dotprod, arm64.Gemv_iq3_sx16_q8x_16x2_dotprod}, s8s,
		[2]kernel{arm64.Expand_iq3_sx16_codes_16x32_dotprod, arm64.Expand_iq3_sx16_codes_16x32_i8mm}},
	{tile.IQ2_XXSx16, tile.IQx16D, tile.IQ2_XXSx16Block, [2]kernel{arm64.Gemv_iq2_xxsx16_q8x_16x1_dotprod, arm64.Gemv_iq2_xxsx16_q8x_16x2_dotprod}, s8s,
		[2]kernel{arm64.Expand_iq2_xxsx16_codes_16x32_dotprod, arm64.Expand_iq2_xxsx16_codes_16x32_i8mm}},
	{tile.IQ3_XXSx16, tile.IQx16D, tile.IQ3_XXSx16Block, [2]kernel{arm64.Gemv_iq3_xxsx16_q8x_16x1_dotprod, arm64.Gemv_iq3_xxsx16_q8x_16x2_dotprod}, s8s,
		[2]kernel{arm64.Expand_iq3_xxsx16_codes_16x32_dotprod, arm64.Expand_iq3_xxsx16_codes_16x32_i8mm}},
}

var floats = []floatProduct{
	{tile.F16x16, arm64.Gemv_f16x16_f32_32x1_dotprod, []panel{{4, arm64.Gemv_f16x16_f32_16x4_dotprod}, {2, arm64.Gemv_f16x16_f32_16x2_dotprod}, {1, arm64.Gemv_f16x16_f32_16x1_dotprod}}},
	{tile.BF16x16, arm64.Gemv_bf16x16_f32_32x1_dotprod, []panel{{4, arm64.Gemv_bf16x16_f32_16x4_dotprod}, {2, arm64.Gemv_bf16x16_f32_16x2_dotprod}, {1, arm64.Gemv_bf16x16_f32_16x1_dotprod}}},
	{tile.F32x16, arm64.Gemv_f32x16_f32_32x1_dotprod, []panel{{4, arm64.Gemv_f32x16_f32_16x4_dotprod}, {2, arm64.Gemv_f32x16_f32_16x2_dotprod}, {1, arm64.Gemv_f32x16_f32_16x1_dotprod}}},
}
