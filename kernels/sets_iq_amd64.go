//go:build amd64 && !purego

package kernels

import (
	"jns/kernels/amd64"
	"jns/kernels/tile"
)

var avx2U7s = &panelSet{
	one: []panel{
		{3, amd64.Panel_u7s_q8x_16x3_avx2},
		{2, amd64.Panel_u7s_q8x_16x2_avx2},
		{1, amd64.Panel_u7s_q8x_16x1_avx2},
	},
}

var avx2U7g = &panelSet{
	one: []panel{
		{3, amd64.Panel_u7g_q8x_16x3_avx2},
		{2, amd64.Panel_u7g_q8x_16x2_avx2},
		{1, amd64.Panel_u7g_q8x_16x1_avx2},
	},
}

var avx512Booked = []product{
	{
		layout: tile.IQ1_Sx16, name: "gemm_iq1_sx16_q8x_32x6_avx512vnni",
		s0: tile.IQx16D, s1: tile.IQ1_Sx16Block, scales: 64,
		gemv: []panel{
			{8, amd64.Gemv_iq1_sx16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_iq1_sx16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_iq1_sx16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_iq1_sx16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_iq1_sx16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_iq1_sx16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_iq1_sx16_q8x_16x1_avx512vnni},
		},
		few:    10,
		sums:   amd64.Expand_sums_iq1_sx16_q8x_1x32_avx512vnni,
		expand: amd64.Expand_iq1_sx16_codes_16x32_avx512vnni, panels: avx512U8s,
	},
	{
		layout: tile.IQ1_Mx16, name: "gemm_iq1_mx16_q8x_32x6_avx512vnni",
		s0: tile.IQx16D, s1: tile.IQ1_Mx16Block, scales: 128,
		gemv: []panel{
			{8, amd64.Gemv_iq1_mx16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_iq1_mx16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_iq1_mx16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_iq1_mx16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_iq1_mx16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_iq1_mx16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_iq1_mx16_q8x_16x1_avx512vnni},
		},
		few:    10,
		sums:   amd64.Expand_sums_iq1_mx16_q8x_1x32_avx512vnni,
		expand: amd64.Expand_iq1_mx16_codes_16x32_avx512vnni, panels: avx512U8g,
	},
	{
		layout: tile.IQ2_XXSx16, name: "gemm_iq2_xxsx16_q8x_32x6_avx512vnni",
		s0: tile.IQx16D, s1: tile.IQ2_XXSx16Block, scales: 64,
		gemv: []panel{
			{8, amd64.Gemv_iq2_xxsx16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_iq2_xxsx16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_iq2_xxsx16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_iq2_xxsx16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_iq2_xxsx16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_iq2_xxsx16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_iq2_xxsx16_q8x_16x1_avx512vnni},
		},
		few:    10,
		sums:   amd64.Expand_sums_iq2_xxsx16_q8x_1x32_avx512vnni,
		expand: amd64.Expand_iq2_xxsx16_codes_16x32_avx512vnni, panels: avx512U8s,
	},
	{
		layout: tile.IQ2_XXSLx16, name: "gemm_iq2_xxslx16_q8x_32x6_avx512vnni",
		s0: tile.IQx16D, s1: tile.IQ2_XXSLx16Block, scales: 64,
		gemv: []panel{
			{8, amd64.Gemv_iq2_xxslx16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_iq2_xxslx16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_iq2_xxslx16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_iq2_xxslx16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_iq2_xxslx16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_iq2_xxslx16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_iq2_xxslx16_q8x_16x1_avx512vnni},
		},
		few:    10,
		expand: amd64.Expand_iq2_xxslx16_codes_16x32_avx512vnni, panels: avx512U8s,
	},
	{
		layout: tile.IQ2_XSx16, name: "gemm_iq2_xsx16_q8x_32x6_avx512vnni",
		s0: tile.IQx16D, s1: tile.IQ2Lx16Block, scales: 128,
		gemv: []panel{
			{8, amd64.Gemv_iq2_xsx16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_iq2_xsx16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_iq2_xsx16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_iq2_xsx16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_iq2_xsx16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_iq2_xsx16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_iq2_xsx16_q8x_16x1_avx512vnni},
		},
		few:    10,
		expand: amd64.Expand_iq2_xsx16_codes_16x32_avx512vnni, panels: avx512U8g,
	},
	{
		layout: tile.IQ2_Sx16, name: "gemm_iq2_sx16_q8x_32x6_avx512vnni",
		s0: tile.IQx16D, s1: tile.IQ2Lx16Block, scales: 128,
		gemv: []panel{
			{8, amd64.Gemv_iq2_sx16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_iq2_sx16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_iq2_sx16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_iq2_sx16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_iq2_sx16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_iq2_sx16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_iq2_sx16_q8x_16x1_avx512vnni},
		},
		few:    10,
		expand: amd64.Expand_iq2_sx16_codes_16x32_avx512vnni, panels: avx512U8g,
	},
	{
		layout: tile.IQ3_XXSx16, name: "gemm_iq3_xxsx16_q8x_32x6_avx512vnni",
		s0: tile.IQx16D, s1: tile.IQ3_XXSx16Block, scales: 64,
		gemv: []panel{
			{8, amd64.Gemv_iq3_xxsx16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_iq3_xxsx16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_iq3_xxsx16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_iq3_xxsx16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_iq3_xxsx16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_iq3_xxsx16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_iq3_xxsx16_q8x_16x1_avx512vnni},
		},
		few:    10,
		sums:   amd64.Expand_sums_iq3_xxsx16_q8x_1x32_avx512vnni,
		expand: amd64.Expand_iq3_xxsx16_codes_16x32_avx512vnni, panels: avx512U8s,
	},
	{
		layout: tile.IQ3_XXSLx16, name: "gemm_iq3_xxslx16_q8x_32x6_avx512vnni",
		s0: tile.IQx16D, s1: tile.IQ3Nx16Block, scales: 64,
		gemv: []panel{
			{8, amd64.Gemv_iq3_xxslx16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_iq3_xxslx16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_iq3_xxslx16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_iq3_xxslx16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_iq3_xxslx16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_iq3_xxslx16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_iq3_xxslx16_q8x_16x1_avx512vnni},
		},
		few:    10,
		expand: amd64.Expand_iq3_xxslx16_codes_16x32_avx512vnni, panels: avx512U8s,
	},
	{
		layout: tile.IQ3_Sx16, name: "gemm_iq3_sx16_q8x_32x6_avx512vnni",
		s0: tile.IQx16D, s1: tile.IQ3Nx16Block, scales: 64,
		gemv: []panel{
			{8, amd64.Gemv_iq3_sx16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_iq3_sx16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_iq3_sx16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_iq3_sx16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_iq3_sx16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_iq3_sx16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_iq3_sx16_q8x_16x1_avx512vnni},
		},
		few:    10,
		expand: amd64.Expand_iq3_sx16_codes_16x32_avx512vnni, panels: avx512U8s,
	},
}

// Where an index is kept, sets without VPERMB expand weights for any number of activation rows.
var avxvnniBooked = []product{
	{
		layout: tile.IQ1_Sx16, name: "gemm_iq1_sx16_q8x_16x3_avxvnni",
		s0: tile.IQx16D, s1: tile.IQ1_Sx16Block, scales: 64,
		gemv: []panel{
			{2, amd64.Gemv_iq1_sx16_q8x_16x2_avxvnni},
			{1, amd64.Gemv_iq1_sx16_q8x_16x1_avxvnni},
		},
		few:    4,
		expand: amd64.Expand_iq1_sx16_codes_16x32_avxvnni, panels: avxvnniU8s,
	},
	{
		layout: tile.IQ1_Mx16, name: "gemm_iq1_mx16_q8x_16x3_avxvnni",
		s0: tile.IQx16D, s1: tile.IQ1_Mx16Block, scales: 128,
		gemv: []panel{
			{2, amd64.Gemv_iq1_mx16_q8x_16x2_avxvnni},
			{1, amd64.Gemv_iq1_mx16_q8x_16x1_avxvnni},
		},
		few:    4,
		expand: amd64.Expand_iq1_mx16_codes_16x32_avxvnni, panels: avxvnniU8g,
	},
	{
		layout: tile.IQ2_XXSx16, name: "gemm_iq2_xxsx16_q8x_16x3_avxvnni",
		s0: tile.IQx16D, s1: tile.IQ2_XXSx16Block, scales: 64,
		expand: amd64.Expand_iq2_xxsx16_codes_16x32_avxvnni, panels: avxvnniU8s,
	},
	{
		layout: tile.IQ2_XXSLx16, name: "gemm_iq2_xxslx16_q8x_16x3_avxvnni",
		s0: tile.IQx16D, s1: tile.IQ2_XXSLx16Block, scales: 64,
		gemv: []panel{
			{2, amd64.Gemv_iq2_xxslx16_q8x_16x2_avxvnni},
			{1, amd64.Gemv_iq2_xxslx16_q8x_16x1_avxvnni},
		},
		few:    4,
		expand: amd64.Expand_iq2_xxslx16_codes_16x32_avxvnni, panels: avxvnniU8s,
	},
	{
		layout: tile.IQ2_XSx16, name: "gemm_iq2_xsx16_q8x_16x3_avxvnni",
		s0: tile.IQx16D, s1: tile.IQ2Lx16Block, scales: 128,
		gemv: []panel{
			{2, amd64.Gemv_iq2_xsx16_q8x_16x2_avxvnni},
			{1, amd64.Gemv_iq2_xsx16_q8x_16x1_avxvnni},
		},
		few:    4,
		expand: amd64.Expand_iq2_xsx16_codes_16x32_avxvnni, panels: avxvnniU8g,
	},
	{
		layout: tile.IQ2_Sx16, name: "gemm_iq2_sx16_q8x_16x3_avxvnni",
		s0: tile.IQx16D, s1: tile.IQ2Lx16Block, scales: 128,
		gemv: []panel{
			{2, amd64.Gemv_iq2_sx16_q8x_16x2_avxvnni},
			{1, amd64.Gemv_iq2_sx16_q8x_16x1_avxvnni},
		},
		few:    4,
		expand: amd64.Expand_iq2_sx16_codes_16x32_avxvnni, panels: avxvnniU8g,
	},
	{
		layout: tile.IQ3_XXSx16, name: "gemm_iq3_xxsx16_q8x_16x3_avxvnni",
		s0: tile.IQx16D, s1: tile.IQ3_XXSx16Block, scales: 64,
		expand: amd64.Expand_iq3_xxsx16_codes_16x32_avxvnni, panels: avxvnniU8s,
	},
	{
		layout: tile.IQ3_XXSLx16, name: "gemm_iq3_xxslx16_q8x_16x3_avxvnni",
		s0: tile.IQx16D, s1: tile.IQ3Nx16Block, scales: 64,
		gemv: []panel{
			{2, amd64.Gemv_iq3_xxslx16_q8x_16x2_avxvnni},
			{1, amd64.Gemv_iq3_xxslx16_q8x_16x1_avxvnni},
		},
		few:    4,
		expand: amd64.Expand_iq3_xxslx16_codes_16x32_avxvnni, panels: avxvnniU8s,
	},
	{
		layout: tile.IQ3_Sx16, name: "gemm_iq3_sx16_q8x_16x3_avxvnni",
		s0: tile.IQx16D, s1: tile.IQ3Nx16Block, scales: 64,
		gemv: []panel{
			{2, amd64.Gemv_iq3_sx16_q8x_16x2_avxvnni},
			{1, amd64.Gemv_iq3_sx16_q8x_16x1_avxvnni},
		},
		few:    4,
		expand: amd64.Expand_iq3_sx16_codes_16x32_avxvnni, panels: avxvnniU8s,
	},
}

var avx2Booked = []product{
	{
		layout: tile.IQ1_Sx16, name: "gemm_iq1_sx16_q8x_16x2_avx2",
		s0: tile.IQx16D, s1: tile.IQ1_Sx16Block, scales: 64,
		gemv: []panel{
			{2, amd64.Gemv_iq1_sx16_q8x_16x2_avx2},
			{1, amd64.Gemv_iq1_sx16_q8x_16x1_avx2},
		},
		few:    4,
		expand: amd64.Expand_iq1_sx16_codes_16x32_avx2, panels: avx2U5s,
	},
	{
		layout: tile.IQ1_Mx16, name: "gemm_iq1_mx16_q8x_16x3_avx2",
		s0: tile.IQx16D, s1: tile.IQ1_Mx16Block, scales: 128,
		gemv: []panel{
			{2, amd64.Gemv_iq1_mx16_q8x_16x2_avx2},
			{1, amd64.Gemv_iq1_mx16_q8x_16x1_avx2},
		},
		few:    4,
		expand: amd64.Expand_iq1_mx16_codes_16x32_avx2, panels: avx2U5g,
	},
	{
		layout: tile.IQ2_XXSx16, name: "gemm_iq2_xxsx16_q8x_16x3_avx2",
		s0: tile.IQx16D, s1: tile.IQ2_XXSx16Block, scales: 64,
		expand: amd64.Expand_iq2_xxsx16_codes_16x32_avx2, panels: avx2U7s,
	},
	{
		layout: tile.IQ2_XXSLx16, name: "gemm_iq2_xxslx16_q8x_16x3_avx2",
		s0: tile.IQx16D, s1: tile.IQ2_XXSLx16Block, scales: 64,
		gemv: []panel{
			{2, amd64.Gemv_iq2_xxslx16_q8x_16x2_avx2},
			{1, amd64.Gemv_iq2_xxslx16_q8x_16x1_avx2},
		},
		few:    4,
		expand: amd64.Expand_iq2_xxslx16_codes_16x32_avx2, panels: avx2U7s,
	},
	{
		layout: tile.IQ2_XSx16, name: "gemm_iq2_xsx16_q8x_16x3_avx2",
		s0: tile.IQx16D, s1: tile.IQ2Lx16Block, scales: 128,
		gemv: []panel{
			{2, amd64.Gemv_iq2_xsx16_q8x_16x2_avx2},
			{1, amd64.Gemv_iq2_xsx16_q8x_16x1_avx2},
		},
		few:    4,
		expand: amd64.Expand_iq2_xsx16_codes_16x32_avx2, panels: avx2U7g,
	},
	{
		layout: tile.IQ2_Sx16, name: "gemm_iq2_sx16_q8x_16x3_avx2",
		s0: tile.IQx16D, s1: tile.IQ2Lx16Block, scales: 128,
		gemv: []panel{
			{2, amd64.Gemv_iq2_sx16_q8x_16x2_avx2},
			{1, amd64.Gemv_iq2_sx16_q8x_16x1_avx2},
		},
		few:    4,
		expand: amd64.Expand_iq2_sx16_codes_16x32_avx2, panels: avx2U7g,
	},
	{
		layout: tile.IQ3_XXSx16, name: "gemm_iq3_xxsx16_q8x_16x3_avx2",
		s0: tile.IQx16D, s1: tile.IQ3_XXSx16Block, scales: 64,
		expand: amd64.Expand_iq3_xxsx16_codes_16x32_avx2, panels: avx2U7s,
	},
	{
		layout: tile.IQ3_XXSLx16, name: "gemm_iq3_xxslx16_q8x_16x3_avx2",
		s0: tile.IQx16D, s1: tile.IQ3Nx16Block, scales: 64,
		gemv: []panel{
			{2, amd64.Gemv_iq3_xxslx16_q8x_16x2_avx2},
			{1, amd64.Gemv_iq3_xxslx16_q8x_16x1_avx2},
		},
		few:    4,
		expand: amd64.Expand_iq3_xxslx16_codes_16x32_avx2, panels: avx2U7s,
	},
	{
		layout: tile.IQ3_Sx16, name: "gemm_iq3_sx16_q8x_16x2_avx2",
		s0: tile.IQx16D, s1: tile.IQ3Nx16Block, scales: 64,
		gemv: []panel{
			{2, amd64.Gemv_iq3_sx16_q8x_16x2_avx2},
			{1, amd64.Gemv_iq3_sx16_q8x_16x1_avx2},
		},
		few:    4,
		expand: amd64.Expand_iq3_sx16_codes_16x32_avx2, panels: avx2U5s,
	},
}
