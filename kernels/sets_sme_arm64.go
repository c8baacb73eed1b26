//go:build arm64 && !purego

package kernels

import (
	"jns/kernels/arm64"
	"jns/kernels/tile"
)

// streams lists the layouts that are multiplied as they lie in streaming mode, by one, two and up to four activation rows.
var streams = []streamed{
	{tile.Q8_0x16, [3]streamKernel{arm64.Gemv_q8_0x16_q8x_64x1_sme2, arm64.Gemv_q8_0x16_q8x_64x2_sme2, arm64.Gemv_q8_0x16_q8x_64x4_sme2}},
	{tile.Q4_0x16, [3]streamKernel{arm64.Gemv_q4_0x16_q8x_64x1_sme2, arm64.Gemv_q4_0x16_q8x_64x2_sme2, arm64.Gemv_q4_0x16_q8x_64x4_sme2}},
	{tile.Q4_1x16, [3]streamKernel{arm64.Gemv_q4_1x16_q8x_64x1_sme2, arm64.Gemv_q4_1x16_q8x_64x2_sme2, arm64.Gemv_q4_1x16_q8x_64x4_sme2}},
	{tile.Q5_0x16, [3]streamKernel{arm64.Gemv_q5_0x16_q8x_64x1_sme2, arm64.Gemv_q5_0x16_q8x_64x2_sme2, arm64.Gemv_q5_0x16_q8x_64x4_sme2}},
	{tile.Q5_1x16, [3]streamKernel{arm64.Gemv_q5_1x16_q8x_64x1_sme2, arm64.Gemv_q5_1x16_q8x_64x2_sme2, arm64.Gemv_q5_1x16_q8x_64x4_sme2}},
	{tile.Q4_Kx16, [3]streamKernel{arm64.Gemv_q4_kx16_q8x_64x1_sme2, arm64.Gemv_q4_kx16_q8x_64x2_sme2, arm64.Gemv_q4_kx16_q8x_64x4_sme2}},
	{tile.Q5_Kx16, [3]streamKernel{arm64.Gemv_q5_kx16_q8x_64x1_sme2, arm64.Gemv_q5_kx16_q8x_64x2_sme2, arm64.Gemv_q5_kx16_q8x_64x4_sme2}},
	{tile.Q6_Kx16, [3]streamKernel{arm64.Gemv_q6_kx16_q8x_64x1_sme2, arm64.Gemv_q6_kx16_q8x_64x2_sme2, arm64.Gemv_q6_kx16_q8x_64x4_sme2}},
	{tile.Q2_Kx16, [3]streamKernel{arm64.Gemv_q2_kx16_q8x_64x1_sme2, arm64.Gemv_q2_kx16_q8x_64x2_sme2, arm64.Gemv_q2_kx16_q8x_64x4_sme2}},
	{tile.Q3_Kx16, [3]streamKernel{arm64.Gemv_q3_kx16_q8x_64x1_sme2, arm64.Gemv_q3_kx16_q8x_64x2_sme2, arm64.Gemv_q3_kx16_q8x_64x4_sme2}},
	{tile.TQ1_0x16, [3]streamKernel{arm64.Gemv_tq1_0x16_q8x_64x1_sme2, arm64.Gemv_tq1_0x16_q8x_64x2_sme2, arm64.Gemv_tq1_0x16_q8x_64x4_sme2}},
	{tile.TQ2_0x16, [3]streamKernel{arm64.Gemv_tq2_0x16_q8x_64x1_sme2, arm64.Gemv_tq2_0x16_q8x_64x2_sme2, arm64.Gemv_tq2_0x16_q8x_64x4_sme2}},
	{tile.Q1_0x16, [3]streamKernel{arm64.Gemv_q1_0x16_q8x_64x1_sme2, arm64.Gemv_q1_0x16_q8x_64x2_sme2, arm64.Gemv_q1_0x16_q8x_64x4_sme2}},
	{tile.Q2_0x16, [3]streamKernel{arm64.Gemv_q2_0x16_q8x_64x1_sme2, arm64.Gemv_q2_0x16_q8x_64x2_sme2, arm64.Gemv_q2_0x16_q8x_64x4_sme2}},
	{tile.IQ4_NLx16, [3]streamKernel{arm64.Gemv_iq4_nlx16_q8x_64x1_sme2, arm64.Gemv_iq4_nlx16_q8x_64x2_sme2, arm64.Gemv_iq4_nlx16_q8x_64x4_sme2}},
	{tile.IQ4_XSx16, [3]streamKernel{arm64.Gemv_iq4_xsx16_q8x_64x1_sme2, arm64.Gemv_iq4_xsx16_q8x_64x2_sme2, arm64.Gemv_iq4_xsx16_q8x_64x4_sme2}},
	{tile.MXFP4x16, [3]streamKernel{arm64.Gemv_mxfp4x16_q8x_64x1_sme2, arm64.Gemv_mxfp4x16_q8x_64x2_sme2, arm64.Gemv_mxfp4x16_q8x_64x4_sme2}},
	{tile.NVFP4x16, [3]streamKernel{arm64.Gemv_nvfp4x16_q8x_64x1_sme2, arm64.Gemv_nvfp4x16_q8x_64x2_sme2, arm64.Gemv_nvfp4x16_q8x_64x4_sme2}},
	{tile.IQ1_Sx16, [3]streamKernel{arm64.Gemv_iq1_sx16_q8x_64x1_sme2, arm64.Gemv_iq1_sx16_q8x_64x2_sme2, arm64.Gemv_iq1_sx16_q8x_64x4_sme2}},
	{tile.IQ1_Mx16, [3]streamKernel{arm64.Gemv_iq1_mx16_q8x_64x1_sme2, arm64.Gemv_iq1_mx16_q8x_64x2_sme2, arm64.Gemv_iq1_mx16_q8x_64x4_sme2}},
	{tile.IQ2_XXSLx16, [3]streamKernel{arm64.Gemv_iq2_xxslx16_q8x_64x1_sme2, arm64.Gemv_iq2_xxslx16_q8x_64x2_sme2, arm64.Gemv_iq2_xxslx16_q8x_64x4_sme2}},
	{tile.IQ2_XSx16, [3]streamKernel{arm64.Gemv_iq2_xsx16_q8x_64x1_sme2, arm64.Gemv_iq2_xsx16_q8x_64x2_sme2, arm64.Gemv_iq2_xsx16_q8x_64x4_sme2}},
	{tile.IQ2_Sx16, [3]streamKernel{arm64.Gemv_iq2_sx16_q8x_64x1_sme2, arm64.Gemv_iq2_sx16_q8x_64x2_sme2, arm64.Gemv_iq2_sx16_q8x_64x4_sme2}},
	{tile.IQ3_XXSLx16, [3]streamKernel{arm64.Gemv_iq3_xxslx16_q8x_64x1_sme2, arm64.Gemv_iq3_xxslx16_q8x_64x2_sme2, arm64.Gemv_iq3_xxslx16_q8x_64x4_sme2}},
	{tile.IQ3_Sx16, [3]streamKernel{arm64.Gemv_iq3_sx16_q8x_64x1_sme2, arm64.Gemv_iq3_sx16_q8x_64x2_sme2, arm64.Gemv_iq3_sx16_q8x_64x4_sme2}},
}

// floatStreams lists those of float weights.
var floatStreams = []streamed{
	{tile.F16x16, [3]streamKernel{arm64.Gemv_f16x16_f32_64x1_sme2, arm64.Gemv_f16x16_f32_64x2_sme2, arm64.Gemv_f16x16_f32_64x4_sme2}},
	{tile.BF16x16, [3]streamKernel{arm64.Gemv_bf16x16_f32_64x1_sme2, arm64.Gemv_bf16x16_f32_64x2_sme2, arm64.Gemv_bf16x16_f32_64x4_sme2}},
	{tile.F32x16, [3]streamKernel{arm64.Gemv_f32x16_f32_64x1_sme2, arm64.Gemv_f32x16_f32_64x2_sme2, arm64.Gemv_f32x16_f32_64x4_sme2}},
}
