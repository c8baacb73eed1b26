//go:build amd64 && !purego

package kernels

import (
	"jns/kernels/amd64"
	"jns/kernels/tile"
)

// The formats of few bits, and the panels that only they need.

var avx512U7n = &panelSet{
	wide: []panel{
		{6, amd64.Panel_u7n_q8x_32x6_avx512vnni},
		{4, amd64.Panel_u7n_q8x_32x4_avx512vnni},
		{2, amd64.Panel_u7n_q8x_32x2_avx512vnni},
		{1, amd64.Panel_u7n_q8x_32x1_avx512vnni},
	},
	one: []panel{
		{8, amd64.Panel_u7n_q8x_16x8_avx512vnni},
		{4, amd64.Panel_u7n_q8x_16x4_avx512vnni},
		{2, amd64.Panel_u7n_q8x_16x2_avx512vnni},
		{1, amd64.Panel_u7n_q8x_16x1_avx512vnni},
	},
}

var avxvnniU7n = &panelSet{
	one: []panel{
		{3, amd64.Panel_u7n_q8x_16x3_avxvnni},
		{2, amd64.Panel_u7n_q8x_16x2_avxvnni},
		{1, amd64.Panel_u7n_q8x_16x1_avxvnni},
	},
}

var avx2U4n = &panelSet{
	one: []panel{
		{3, amd64.Panel_u4n_q8x_16x3_avx2},
		{2, amd64.Panel_u4n_q8x_16x2_avx2},
		{1, amd64.Panel_u4n_q8x_16x1_avx2},
	},
}

var avx2U4g = &panelSet{
	one: []panel{
		{3, amd64.Panel_u4g_q8x_16x3_avx2},
		{2, amd64.Panel_u4g_q8x_16x2_avx2},
		{1, amd64.Panel_u4g_q8x_16x1_avx2},
	},
}

var avx2U5g = &panelSet{
	one: []panel{
		{3, amd64.Panel_u5g_q8x_16x3_avx2},
		{2, amd64.Panel_u5g_q8x_16x2_avx2},
		{1, amd64.Panel_u5g_q8x_16x1_avx2},
	},
}

var avx512Low = []product{
	{
		layout: tile.Q2_Kx16, name: "gemm_q2_kx16_q8x_32x6_avx512vnni",
		s0: 0, s1: tile.Q2_Kx16Block, scales: 256, halves: true,
		gemv: []panel{
			{8, amd64.Gemv_q2_kx16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_q2_kx16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_q2_kx16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_q2_kx16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_q2_kx16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_q2_kx16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_q2_kx16_q8x_16x1_avx512vnni},
		},
		few: 10, joined: true,
		expand: amd64.Expand_q2_kx16_codes_16x32_avx512vnni, panels: avx512U7n,
	},
	{
		layout: tile.Q3_Kx16, name: "gemm_q3_kx16_q8x_32x6_avx512vnni",
		s0: tile.Q3_Kx16D, s1: tile.Q3_Kx16Block, scales: 128,
		gemv: []panel{
			{8, amd64.Gemv_q3_kx16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_q3_kx16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_q3_kx16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_q3_kx16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_q3_kx16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_q3_kx16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_q3_kx16_q8x_16x1_avx512vnni},
		},
		few: 10, joined: true,
		near:   4 << 10, // lines come in bursts of sixteen; measured on Emerald Rapids in turns, share of plain reads: 0.92 to 0.97, with those 8 KiB ahead 0.88
		sums:   amd64.Expand_sums_q3_kx16_q8x_1x32_avx512vnni,
		expand: amd64.Expand_q3_kx16_codes_16x32_avx512vnni, panels: avx512U8g,
	},
	{
		layout: tile.IQ4_NLx16, name: "gemm_iq4_nlx16_q8x_32x6_avx512vnni",
		s0: tile.IQ4_NLx16Scales, s1: tile.IQ4_NLx16Codes, scales: 64,
		gemv: []panel{
			{8, amd64.Gemv_iq4_nlx16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_iq4_nlx16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_iq4_nlx16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_iq4_nlx16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_iq4_nlx16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_iq4_nlx16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_iq4_nlx16_q8x_16x1_avx512vnni},
		},
		few: 10, joined: true,
		expand: amd64.Expand_iq4_nlx16_codes_16x32_avx512vnni, panels: avx512U8s,
	},
	{
		layout: tile.IQ4_XSx16, name: "gemm_iq4_xsx16_q8x_32x6_avx512vnni",
		s0: 0, s1: tile.IQ4_XSx16Block, scales: 64,
		gemv: []panel{
			{8, amd64.Gemv_iq4_xsx16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_iq4_xsx16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_iq4_xsx16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_iq4_xsx16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_iq4_xsx16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_iq4_xsx16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_iq4_xsx16_q8x_16x1_avx512vnni},
		},
		few: 10, joined: true,
		expand: amd64.Expand_iq4_xsx16_codes_16x32_avx512vnni, panels: avx512U8s,
	},
	{
		layout: tile.TQ1_0x16, name: "gemm_tq1_0x16_q8x_32x6_avx512vnni",
		s0: tile.TQ1_0x16Scales, s1: tile.TQ1_0x16Codes, scales: 64,
		gemv: []panel{
			{8, amd64.Gemv_tq1_0x16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_tq1_0x16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_tq1_0x16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_tq1_0x16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_tq1_0x16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_tq1_0x16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_tq1_0x16_q8x_16x1_avx512vnni},
		},
		few: 10, joined: true,
		sums:   amd64.Expand_sums_tq1_0x16_q8x_1x32_avx512vnni,
		expand: amd64.Expand_tq1_0x16_codes_16x32_avx512vnni, panels: avx512U8s,
	},
	{
		layout: tile.TQ2_0x16, name: "gemm_tq2_0x16_q8x_32x6_avx512vnni",
		s0: tile.TQ2_0x16Scales, s1: tile.TQ2_0x16Codes, scales: 64,
		gemv: []panel{
			{8, amd64.Gemv_tq2_0x16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_tq2_0x16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_tq2_0x16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_tq2_0x16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_tq2_0x16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_tq2_0x16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_tq2_0x16_q8x_16x1_avx512vnni},
		},
		few: 10, joined: true,
		expand: amd64.Expand_tq2_0x16_codes_16x32_avx512vnni, panels: avx512U8s,
	},
	{
		layout: tile.MXFP4x16, name: "gemm_mxfp4x16_q8x_32x6_avx512vnni",
		s0: tile.MXFP4x16Scales, s1: tile.MXFP4x16Codes, scales: 64,
		gemv: []panel{
			{8, amd64.Gemv_mxfp4x16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_mxfp4x16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_mxfp4x16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_mxfp4x16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_mxfp4x16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_mxfp4x16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_mxfp4x16_q8x_16x1_avx512vnni},
		},
		few: 10, joined: true,
		expand: amd64.Expand_mxfp4x16_codes_16x32_avx512vnni, panels: avx512U8s,
	},
	{
		layout: tile.NVFP4x16, name: "gemm_nvfp4x16_q8x_32x6_avx512vnni",
		s0: tile.NVFP4x16Scales, s1: tile.NVFP4x16Codes, scales: 128,
		gemv: []panel{
			{8, amd64.Gemv_nvfp4x16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_nvfp4x16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_nvfp4x16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_nvfp4x16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_nvfp4x16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_nvfp4x16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_nvfp4x16_q8x_16x1_avx512vnni},
		},
		few: 10, joined: true,
		expand: amd64.Expand_nvfp4x16_codes_16x32_avx512vnni, panels: avx512U8g,
	},
	{
		layout: tile.Q1_0x16, name: "gemm_q1_0x16_q8x_32x6_avx512vnni",
		s0: tile.Q1_0x16Scales, s1: tile.Q1_0x16Codes, scales: 64,
		gemv: []panel{
			{8, amd64.Gemv_q1_0x16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_q1_0x16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_q1_0x16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_q1_0x16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_q1_0x16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_q1_0x16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_q1_0x16_q8x_16x1_avx512vnni},
		},
		few: 10, joined: true,
		sums:   amd64.Expand_sums_q1_0x16_q8x_1x32_avx512vnni,
		expand: amd64.Expand_q1_0x16_codes_16x32_avx512vnni, panels: avx512U8s,
	},
	{
		layout: tile.Q2_0x16, name: "gemm_q2_0x16_q8x_32x6_avx512vnni",
		s0: tile.Q2_0x16Scales, s1: tile.Q2_0x16Codes, scales: 64,
		gemv: []panel{
			{8, amd64.Gemv_q2_0x16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_q2_0x16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_q2_0x16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_q2_0x16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_q2_0x16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_q2_0x16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_q2_0x16_q8x_16x1_avx512vnni},
		},
		few: 10, joined: true,
		sums:   amd64.Expand_sums_q2_0x16_q8x_1x32_avx512vnni,
		expand: amd64.Expand_q2_0x16_codes_16x32_avx512vnni, panels: avx512U8s,
	},
}

var avxvnniLow = []product{
	{
		layout: tile.Q2_Kx16, name: "gemm_q2_kx16_q8x_16x3_avxvnni",
		s0: 0, s1: tile.Q2_Kx16Block, scales: 256, halves: true,
		gemv: []panel{
			{2, amd64.Gemv_q2_kx16_q8x_16x2_avxvnni},
			{1, amd64.Gemv_q2_kx16_q8x_16x1_avxvnni},
		},
		few: 8, joined: true,
		expand: amd64.Expand_q2_kx16_codes_16x32_avxvnni, panels: avxvnniU7n,
	},
	{
		layout: tile.Q3_Kx16, name: "gemm_q3_kx16_q8x_16x3_avxvnni",
		s0: tile.Q3_Kx16D, s1: tile.Q3_Kx16Block, scales: 128,
		gemv: []panel{
			{2, amd64.Gemv_q3_kx16_q8x_16x2_avxvnni},
			{1, amd64.Gemv_q3_kx16_q8x_16x1_avxvnni},
		},
		few: 3, joined: true,
		expand: amd64.Expand_q3_kx16_codes_16x32_avxvnni, panels: avxvnniU8g,
	},
	{
		layout: tile.IQ4_NLx16, name: "gemm_iq4_nlx16_q8x_16x3_avxvnni",
		s0: tile.IQ4_NLx16Scales, s1: tile.IQ4_NLx16Codes, scales: 64,
		gemv: []panel{
			{2, amd64.Gemv_iq4_nlx16_q8x_16x2_avxvnni},
			{1, amd64.Gemv_iq4_nlx16_q8x_16x1_avxvnni},
		},
		few: 4, joined: true,
		expand: amd64.Expand_iq4_nlx16_codes_16x32_avxvnni, panels: avxvnniU8s,
	},
	{
		layout: tile.IQ4_XSx16, name: "gemm_iq4_xsx16_q8x_16x3_avxvnni",
		s0: 0, s1: tile.IQ4_XSx16Block, scales: 64,
		gemv: []panel{
			{2, amd64.Gemv_iq4_xsx16_q8x_16x2_avxvnni},
			{1, amd64.Gemv_iq4_xsx16_q8x_16x1_avxvnni},
		},
		few: 4, joined: true,
		expand: amd64.Expand_iq4_xsx16_codes_16x32_avxvnni, panels: avxvnniU8s,
	},
	{
		layout: tile.TQ1_0x16, name: "gemm_tq1_0x16_q8x_16x3_avxvnni",
		s0: tile.TQ1_0x16Scales, s1: tile.TQ1_0x16Codes, scales: 64,
		gemv: []panel{
			{1, amd64.Gemv_tq1_0x16_q8x_16x1_avxvnni},
		},
		few: 3, joined: true,
		expand: amd64.Expand_tq1_0x16_codes_16x32_avxvnni, panels: avxvnniU8s,
	},
	{
		layout: tile.TQ2_0x16, name: "gemm_tq2_0x16_q8x_16x3_avxvnni",
		s0: tile.TQ2_0x16Scales, s1: tile.TQ2_0x16Codes, scales: 64,
		gemv: []panel{
			{2, amd64.Gemv_tq2_0x16_q8x_16x2_avxvnni},
			{1, amd64.Gemv_tq2_0x16_q8x_16x1_avxvnni},
		},
		few: 8, joined: true,
		expand: amd64.Expand_tq2_0x16_codes_16x32_avxvnni, panels: avxvnniU8s,
	},
	{
		layout: tile.MXFP4x16, name: "gemm_mxfp4x16_q8x_16x3_avxvnni",
		s0: tile.MXFP4x16Scales, s1: tile.MXFP4x16Codes, scales: 64,
		gemv: []panel{
			{2, amd64.Gemv_mxfp4x16_q8x_16x2_avxvnni},
			{1, amd64.Gemv_mxfp4x16_q8x_16x1_avxvnni},
		},
		few: 4, joined: true,
		expand: amd64.Expand_mxfp4x16_codes_16x32_avxvnni, panels: avxvnniU8s,
	},
	{
		layout: tile.NVFP4x16, name: "gemm_nvfp4x16_q8x_16x3_avxvnni",
		s0: tile.NVFP4x16Scales, s1: tile.NVFP4x16Codes, scales: 128,
		gemv: []panel{
			{2, amd64.Gemv_nvfp4x16_q8x_16x2_avxvnni},
			{1, amd64.Gemv_nvfp4x16_q8x_16x1_avxvnni},
		},
		few: 4, joined: true,
		expand: amd64.Expand_nvfp4x16_codes_16x32_avxvnni, panels: avxvnniU8g,
	},
	{
		layout: tile.Q1_0x16, name: "gemm_q1_0x16_q8x_16x3_avxvnni",
		s0: tile.Q1_0x16Scales, s1: tile.Q1_0x16Codes, scales: 64,
		gemv: []panel{
			{2, amd64.Gemv_q1_0x16_q8x_16x2_avxvnni},
			{1, amd64.Gemv_q1_0x16_q8x_16x1_avxvnni},
		},
		few: 8, joined: true,
		expand: amd64.Expand_q1_0x16_codes_16x32_avxvnni, panels: avxvnniU8s,
	},
	{
		layout: tile.Q2_0x16, name: "gemm_q2_0x16_q8x_16x3_avxvnni",
		s0: tile.Q2_0x16Scales, s1: tile.Q2_0x16Codes, scales: 64,
		gemv: []panel{
			{2, amd64.Gemv_q2_0x16_q8x_16x2_avxvnni},
			{1, amd64.Gemv_q2_0x16_q8x_16x1_avxvnni},
		},
		few: 8, joined: true,
		expand: amd64.Expand_q2_0x16_codes_16x32_avxvnni, panels: avxvnniU8s,
	},
}

var avx2Low = []product{
	{
		layout: tile.Q2_Kx16, name: "gemm_q2_kx16_q8x_16x3_avx2",
		s0: 0, s1: tile.Q2_Kx16Block, scales: 256, halves: true,
		gemv: []panel{
			{2, amd64.Gemv_q2_kx16_q8x_16x2_avx2},
			{1, amd64.Gemv_q2_kx16_q8x_16x1_avx2},
		},
		few: 8, joined: true,
		expand: amd64.Expand_q2_kx16_codes_16x32_avx2, panels: avx2U4n,
	},
	{
		layout: tile.Q3_Kx16, name: "gemm_q3_kx16_q8x_16x3_avx2",
		s0: tile.Q3_Kx16D, s1: tile.Q3_Kx16Block, scales: 128,
		gemv: []panel{
			{2, amd64.Gemv_q3_kx16_q8x_16x2_avx2},
			{1, amd64.Gemv_q3_kx16_q8x_16x1_avx2},
		},
		few: 3, joined: true,
		expand: amd64.Expand_q3_kx16_codes_16x32_avx2, panels: avx2U4g,
	},
	{
		layout: tile.IQ4_NLx16, name: "gemm_iq4_nlx16_q8x_16x3_avx2",
		s0: tile.IQ4_NLx16Scales, s1: tile.IQ4_NLx16Codes, scales: 64, words: true,
		gemv: []panel{
			{2, amd64.Gemv_iq4_nlx16_q8x_16x2_avx2},
			{1, amd64.Gemv_iq4_nlx16_q8x_16x1_avx2},
		},
		few: 3, joined: true,
		expand: amd64.Expand_iq4_nlx16_codes_16x32_avx2, panels: avx2S16s,
	},
	{
		layout: tile.IQ4_XSx16, name: "gemm_iq4_xsx16_q8x_16x3_avx2",
		s0: 0, s1: tile.IQ4_XSx16Block, scales: 64, words: true,
		gemv: []panel{
			{2, amd64.Gemv_iq4_xsx16_q8x_16x2_avx2},
			{1, amd64.Gemv_iq4_xsx16_q8x_16x1_avx2},
		},
		few: 3, joined: true,
		expand: amd64.Expand_iq4_xsx16_codes_16x32_avx2, panels: avx2S16s,
	},
	{
		layout: tile.TQ1_0x16, name: "gemm_tq1_0x16_q8x_16x3_avx2",
		s0: tile.TQ1_0x16Scales, s1: tile.TQ1_0x16Codes, scales: 64,
		gemv: []panel{
			{1, amd64.Gemv_tq1_0x16_q8x_16x1_avx2},
		},
		few: 2, joined: true,
		expand: amd64.Expand_tq1_0x16_codes_16x32_avx2, panels: avx2U4s,
	},
	{
		layout: tile.TQ2_0x16, name: "gemm_tq2_0x16_q8x_16x3_avx2",
		s0: tile.TQ2_0x16Scales, s1: tile.TQ2_0x16Codes, scales: 64,
		gemv: []panel{
			{2, amd64.Gemv_tq2_0x16_q8x_16x2_avx2},
			{1, amd64.Gemv_tq2_0x16_q8x_16x1_avx2},
		},
		few: 6, joined: true,
		expand: amd64.Expand_tq2_0x16_codes_16x32_avx2, panels: avx2U4s,
	},
	{
		layout: tile.MXFP4x16, name: "gemm_mxfp4x16_q8x_16x2_avx2",
		s0: tile.MXFP4x16Scales, s1: tile.MXFP4x16Codes, scales: 64,
		gemv: []panel{
			{2, amd64.Gemv_mxfp4x16_q8x_16x2_avx2},
			{1, amd64.Gemv_mxfp4x16_q8x_16x1_avx2},
		},
		few: 3, joined: true,
		expand: amd64.Expand_mxfp4x16_codes_16x32_avx2, panels: avx2U5s,
	},
	{
		layout: tile.NVFP4x16, name: "gemm_nvfp4x16_q8x_16x3_avx2",
		s0: tile.NVFP4x16Scales, s1: tile.NVFP4x16Codes, scales: 128,
		gemv: []panel{
			{2, amd64.Gemv_nvfp4x16_q8x_16x2_avx2},
			{1, amd64.Gemv_nvfp4x16_q8x_16x1_avx2},
		},
		few: 3, joined: true,
		expand: amd64.Expand_nvfp4x16_codes_16x32_avx2, panels: avx2U5g,
	},
	{
		layout: tile.Q1_0x16, name: "gemm_q1_0x16_q8x_16x3_avx2",
		s0: tile.Q1_0x16Scales, s1: tile.Q1_0x16Codes, scales: 64,
		gemv: []panel{
			{2, amd64.Gemv_q1_0x16_q8x_16x2_avx2},
			{1, amd64.Gemv_q1_0x16_q8x_16x1_avx2},
		},
		few: 6, joined: true,
		expand: amd64.Expand_q1_0x16_codes_16x32_avx2, panels: avx2U4s,
	},
	{
		layout: tile.Q2_0x16, name: "gemm_q2_0x16_q8x_16x3_avx2",
		s0: tile.Q2_0x16Scales, s1: tile.Q2_0x16Codes, scales: 64,
		gemv: []panel{
			{2, amd64.Gemv_q2_0x16_q8x_16x2_avx2},
			{1, amd64.Gemv_q2_0x16_q8x_16x1_avx2},
		},
		few: 6, joined: true,
		expand: amd64.Expand_q2_0x16_codes_16x32_avx2, panels: avx2U4s,
	},
}
