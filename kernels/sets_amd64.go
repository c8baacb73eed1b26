//go:build amd64 && !purego

package kernels

import (
	"slices"

	"jns/kernels/amd64"
	"jns/kernels/cpu"
	"jns/kernels/tile"
)

// bindSet gives the product of a layout in exactly this set, nil if the set has none.
func bindSet(l *tile.Layout, set string) *MatMul {
	if p := productFor(l, set); p != nil {
		return &MatMul{Name: p.name, Set: set, Func: p.matMul, Variants: p.variants(set)}
	}
	for _, s := range sets {
		if s.name != set {
			continue
		}
		for i := range s.floats {
			if p := &s.floats[i]; p.layout == l {
				return &MatMul{Name: p.name, Set: set, Func: p.matMul}
			}
		}
	}
	return nil
}

// productFor gives the quantised product of a layout in exactly this set, nil if the set has none.
func productFor(l *tile.Layout, set string) *product {
	for _, s := range sets {
		for i := range s.products {
			if p := &s.products[i]; s.name == set && p.layout == l {
				return p
			}
		}
	}
	return nil
}

// sets lists the kernels of every set, best set first.
var sets = []struct {
	name     string
	products []product
	floats   []floatProduct
}{
	{cpu.AMXINT8, tileProducts(slices.Concat(avx512Products, avx512Low, avx512Booked)), nil}, // floats fall to AVX-512
	{cpu.AVX512VNNI, slices.Concat(avx512Products, avx512Low, avx512Booked), avx512Floats},
	{cpu.AVXVNNI, slices.Concat(avxvnniProducts, avxvnniLow, avxvnniBooked), nil}, // VNNI has nothing for floats: they fall to AVX2
	{cpu.AVX2, slices.Concat(avx2Products, avx2Low, avx2Booked), avx2Floats},
}

var avx512U8s = &panelSet{
	wide: []panel{
		{6, amd64.Panel_u8s_q8x_32x6_avx512vnni},
		{4, amd64.Panel_u8s_q8x_32x4_avx512vnni},
		{2, amd64.Panel_u8s_q8x_32x2_avx512vnni},
		{1, amd64.Panel_u8s_q8x_32x1_avx512vnni},
	},
	one: []panel{
		{8, amd64.Panel_u8s_q8x_16x8_avx512vnni},
		{4, amd64.Panel_u8s_q8x_16x4_avx512vnni},
		{2, amd64.Panel_u8s_q8x_16x2_avx512vnni},
		{1, amd64.Panel_u8s_q8x_16x1_avx512vnni},
	},
}

var avx512U8m = &panelSet{
	wide: []panel{
		{6, amd64.Panel_u8m_q8x_32x6_avx512vnni},
		{4, amd64.Panel_u8m_q8x_32x4_avx512vnni},
		{2, amd64.Panel_u8m_q8x_32x2_avx512vnni},
		{1, amd64.Panel_u8m_q8x_32x1_avx512vnni},
	},
	one: []panel{
		{8, amd64.Panel_u8m_q8x_16x8_avx512vnni},
		{4, amd64.Panel_u8m_q8x_16x4_avx512vnni},
		{2, amd64.Panel_u8m_q8x_16x2_avx512vnni},
		{1, amd64.Panel_u8m_q8x_16x1_avx512vnni},
	},
}

var avx512U8g = &panelSet{
	wide: []panel{
		{6, amd64.Panel_u8g_q8x_32x6_avx512vnni},
		{4, amd64.Panel_u8g_q8x_32x4_avx512vnni},
		{2, amd64.Panel_u8g_q8x_32x2_avx512vnni},
		{1, amd64.Panel_u8g_q8x_32x1_avx512vnni},
	},
	one: []panel{
		{8, amd64.Panel_u8g_q8x_16x8_avx512vnni},
		{4, amd64.Panel_u8g_q8x_16x4_avx512vnni},
		{2, amd64.Panel_u8g_q8x_16x2_avx512vnni},
		{1, amd64.Panel_u8g_q8x_16x1_avx512vnni},
	},
}

var avx512Products = []product{
	{
		layout: tile.Q8_0x16, name: "gemm_q8_0x16_q8x_32x6_avx512vnni",
		s0: tile.Q8_0x16Scales, s1: tile.Q8_0x16Codes, scales: 64, direct: true,
		gemv: []panel{
			{8, amd64.Gemv_q8_0x16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_q8_0x16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_q8_0x16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_q8_0x16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_q8_0x16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_q8_0x16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_q8_0x16_q8x_16x1_avx512vnni},
		},
		few:    10,
		expand: amd64.Expand_q8_0x16_codes_16x32_avx512vnni, panels: avx512U8s,
	},
	{
		layout: tile.Q4_0x16, name: "gemm_q4_0x16_q8x_32x6_avx512vnni",
		s0: tile.Q4_0x16Scales, s1: tile.Q4_0x16Codes, scales: 64,
		gemv: []panel{
			{8, amd64.Gemv_q4_0x16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_q4_0x16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_q4_0x16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_q4_0x16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_q4_0x16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_q4_0x16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_q4_0x16_q8x_16x1_avx512vnni},
		},
		few:    10,
		expand: amd64.Expand_q4_0x16_codes_16x32_avx512vnni, panels: avx512U8s,
	},
	{
		layout: tile.Q4_1x16, name: "gemm_q4_1x16_q8x_32x6_avx512vnni",
		s0: tile.Q4_1x16Scales, s1: tile.Q4_1x16Codes, scales: 128,
		gemv: []panel{
			{8, amd64.Gemv_q4_1x16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_q4_1x16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_q4_1x16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_q4_1x16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_q4_1x16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_q4_1x16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_q4_1x16_q8x_16x1_avx512vnni},
		},
		few:    10,
		expand: amd64.Expand_q4_1x16_codes_16x32_avx512vnni, panels: avx512U8m,
	},
	{
		layout: tile.Q5_0x16, name: "gemm_q5_0x16_q8x_32x6_avx512vnni",
		s0: tile.Q5_0x16Scales, s1: tile.Q5_0x16Codes, scales: 64,
		gemv: []panel{
			{8, amd64.Gemv_q5_0x16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_q5_0x16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_q5_0x16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_q5_0x16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_q5_0x16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_q5_0x16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_q5_0x16_q8x_16x1_avx512vnni},
		},
		few:    10,
		expand: amd64.Expand_q5_0x16_codes_16x32_avx512vnni, panels: avx512U8s,
	},
	{
		layout: tile.Q5_1x16, name: "gemm_q5_1x16_q8x_32x6_avx512vnni",
		s0: tile.Q5_1x16Scales, s1: tile.Q5_1x16Codes, scales: 128,
		gemv: []panel{
			{8, amd64.Gemv_q5_1x16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_q5_1x16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_q5_1x16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_q5_1x16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_q5_1x16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_q5_1x16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_q5_1x16_q8x_16x1_avx512vnni},
		},
		few:    10,
		expand: amd64.Expand_q5_1x16_codes_16x32_avx512vnni, panels: avx512U8m,
	},
	{
		layout: tile.Q4_Kx16, name: "gemm_q4_kx16_q8x_32x6_avx512vnni",
		s0: 0, s1: tile.Q4_Kx16Block, scales: 128,
		gemv: []panel{
			{8, amd64.Gemv_q4_kx16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_q4_kx16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_q4_kx16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_q4_kx16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_q4_kx16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_q4_kx16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_q4_kx16_q8x_16x1_avx512vnni},
		},
		few:    10,
		expand: amd64.Expand_q4_kx16_codes_16x32_avx512vnni, panels: avx512U8m,
	},
	{
		layout: tile.Q5_Kx16, name: "gemm_q5_kx16_q8x_32x6_avx512vnni",
		s0: 0, s1: tile.Q5_Kx16Block, scales: 128,
		gemv: []panel{
			{8, amd64.Gemv_q5_kx16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_q5_kx16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_q5_kx16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_q5_kx16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_q5_kx16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_q5_kx16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_q5_kx16_q8x_16x1_avx512vnni},
		},
		few:    10,
		expand: amd64.Expand_q5_kx16_codes_16x32_avx512vnni, panels: avx512U8m,
	},
	{
		layout: tile.Q6_Kx16, name: "gemm_q6_kx16_q8x_32x6_avx512vnni",
		s0: tile.Q6_Kx16D, s1: tile.Q6_Kx16Block, scales: 128,
		gemv: []panel{
			{8, amd64.Gemv_q6_kx16_q8x_16x8_avx512vnni},
			{6, amd64.Gemv_q6_kx16_q8x_16x6_avx512vnni},
			{5, amd64.Gemv_q6_kx16_q8x_16x5_avx512vnni},
			{4, amd64.Gemv_q6_kx16_q8x_16x4_avx512vnni},
			{3, amd64.Gemv_q6_kx16_q8x_16x3_avx512vnni},
			{2, amd64.Gemv_q6_kx16_q8x_16x2_avx512vnni},
			{1, amd64.Gemv_q6_kx16_q8x_16x1_avx512vnni},
		},
		few:    8,
		expand: amd64.Expand_q6_kx16_codes_16x32_avx512vnni, panels: avx512U8g,
	},
}

var avxvnniU8s = &panelSet{
	one: []panel{
		{3, amd64.Panel_u8s_q8x_16x3_avxvnni},
		{2, amd64.Panel_u8s_q8x_16x2_avxvnni},
		{1, amd64.Panel_u8s_q8x_16x1_avxvnni},
	},
}

var avxvnniU8m = &panelSet{
	one: []panel{
		{3, amd64.Panel_u8m_q8x_16x3_avxvnni},
		{2, amd64.Panel_u8m_q8x_16x2_avxvnni},
		{1, amd64.Panel_u8m_q8x_16x1_avxvnni},
	},
}

var avxvnniU8g = &panelSet{
	one: []panel{
		{3, amd64.Panel_u8g_q8x_16x3_avxvnni},
		{2, amd64.Panel_u8g_q8x_16x2_avxvnni},
		{1, amd64.Panel_u8g_q8x_16x1_avxvnni},
	},
}

var avxvnniProducts = []product{
	{
		layout: tile.Q8_0x16, name: "gemm_q8_0x16_q8x_16x3_avxvnni",
		s0: tile.Q8_0x16Scales, s1: tile.Q8_0x16Codes, scales: 64, direct: true,
		gemv: []panel{
			{2, amd64.Gemv_q8_0x16_q8x_16x2_avxvnni},
			{1, amd64.Gemv_q8_0x16_q8x_16x1_avxvnni},
		},
		few:    6,
		expand: amd64.Expand_q8_0x16_codes_16x32_avxvnni, panels: avxvnniU8s,
	},
	{
		layout: tile.Q4_0x16, name: "gemm_q4_0x16_q8x_16x3_avxvnni",
		s0: tile.Q4_0x16Scales, s1: tile.Q4_0x16Codes, scales: 64,
		gemv: []panel{
			{2, amd64.Gemv_q4_0x16_q8x_16x2_avxvnni},
			{1, amd64.Gemv_q4_0x16_q8x_16x1_avxvnni},
		},
		few:    4,
		expand: amd64.Expand_q4_0x16_codes_16x32_avxvnni, panels: avxvnniU8s,
	},
	{
		layout: tile.Q4_1x16, name: "gemm_q4_1x16_q8x_16x3_avxvnni",
		s0: tile.Q4_1x16Scales, s1: tile.Q4_1x16Codes, scales: 128,
		gemv: []panel{
			{2, amd64.Gemv_q4_1x16_q8x_16x2_avxvnni},
			{1, amd64.Gemv_q4_1x16_q8x_16x1_avxvnni},
		},
		few:    4,
		expand: amd64.Expand_q4_1x16_codes_16x32_avxvnni, panels: avxvnniU8m,
	},
	{
		layout: tile.Q5_0x16, name: "gemm_q5_0x16_q8x_16x3_avxvnni",
		s0: tile.Q5_0x16Scales, s1: tile.Q5_0x16Codes, scales: 64,
		gemv: []panel{
			{2, amd64.Gemv_q5_0x16_q8x_16x2_avxvnni},
			{1, amd64.Gemv_q5_0x16_q8x_16x1_avxvnni},
		},
		few:    4,
		expand: amd64.Expand_q5_0x16_codes_16x32_avxvnni, panels: avxvnniU8s,
	},
	{
		layout: tile.Q5_1x16, name: "gemm_q5_1x16_q8x_16x3_avxvnni",
		s0: tile.Q5_1x16Scales, s1: tile.Q5_1x16Codes, scales: 128,
		gemv: []panel{
			{2, amd64.Gemv_q5_1x16_q8x_16x2_avxvnni},
			{1, amd64.Gemv_q5_1x16_q8x_16x1_avxvnni},
		},
		few:    4,
		expand: amd64.Expand_q5_1x16_codes_16x32_avxvnni, panels: avxvnniU8m,
	},
	{
		layout: tile.Q4_Kx16, name: "gemm_q4_kx16_q8x_16x3_avxvnni",
		s0: 0, s1: tile.Q4_Kx16Block, scales: 128,
		gemv: []panel{
			{2, amd64.Gemv_q4_kx16_q8x_16x2_avxvnni},
			{1, amd64.Gemv_q4_kx16_q8x_16x1_avxvnni},
		},
		few:    4,
		expand: amd64.Expand_q4_kx16_codes_16x32_avxvnni, panels: avxvnniU8m,
	},
	{
		layout: tile.Q5_Kx16, name: "gemm_q5_kx16_q8x_16x3_avxvnni",
		s0: 0, s1: tile.Q5_Kx16Block, scales: 128,
		gemv: []panel{
			{2, amd64.Gemv_q5_kx16_q8x_16x2_avxvnni},
			{1, amd64.Gemv_q5_kx16_q8x_16x1_avxvnni},
		},
		few:    4,
		expand: amd64.Expand_q5_kx16_codes_16x32_avxvnni, panels: avxvnniU8m,
	},
	{
		layout: tile.Q6_Kx16, name: "gemm_q6_kx16_q8x_16x3_avxvnni",
		s0: tile.Q6_Kx16D, s1: tile.Q6_Kx16Block, scales: 128,
		gemv: []panel{
			{2, amd64.Gemv_q6_kx16_q8x_16x2_avxvnni},
			{1, amd64.Gemv_q6_kx16_q8x_16x1_avxvnni},
		},
		few:    4,
		expand: amd64.Expand_q6_kx16_codes_16x32_avxvnni, panels: avxvnniU8g,
	},
}

var avx2S16s = &panelSet{
	one: []panel{
		{3, amd64.Panel_s16s_q8x_16x3_avx2},
		{2, amd64.Panel_s16s_q8x_16x2_avx2},
		{1, amd64.Panel_s16s_q8x_16x1_avx2},
	},
}

var avx2U4s = &panelSet{
	one: []panel{
		{3, amd64.Panel_u4s_q8x_16x3_avx2},
		{2, amd64.Panel_u4s_q8x_16x2_avx2},
		{1, amd64.Panel_u4s_q8x_16x1_avx2},
	},
}

var avx2U5s = &panelSet{
	one: []panel{
		{2, amd64.Panel_u5s_q8x_16x2_avx2},
		{1, amd64.Panel_u5s_q8x_16x1_avx2},
	},
}

var avx2U4m = &panelSet{
	one: []panel{
		{3, amd64.Panel_u4m_q8x_16x3_avx2},
		{2, amd64.Panel_u4m_q8x_16x2_avx2},
		{1, amd64.Panel_u4m_q8x_16x1_avx2},
	},
}

var avx2U5m = &panelSet{
	one: []panel{
		{2, amd64.Panel_u5m_q8x_16x2_avx2},
		{1, amd64.Panel_u5m_q8x_16x1_avx2},
	},
}

var avx2U6g = &panelSet{
	one: []panel{
		{2, amd64.Panel_u6g_q8x_16x2_avx2},
		{1, amd64.Panel_u6g_q8x_16x1_avx2},
	},
}

var avx2Products = []product{
	{
		layout: tile.Q8_0x16, name: "gemm_q8_0x16_q8x_16x3_avx2",
		s0: tile.Q8_0x16Scales, s1: tile.Q8_0x16Codes, scales: 64, words: true,
		gemv: []panel{
			{2, amd64.Gemv_q8_0x16_q8x_16x2_avx2},
			{1, amd64.Gemv_q8_0x16_q8x_16x1_avx2},
		},
		few:    6,
		expand: amd64.Expand_q8_0x16_codes_16x32_avx2, panels: avx2S16s,
	},
	{
		layout: tile.Q4_0x16, name: "gemm_q4_0x16_q8x_16x3_avx2",
		s0: tile.Q4_0x16Scales, s1: tile.Q4_0x16Codes, scales: 64,
		gemv: []panel{
			{2, amd64.Gemv_q4_0x16_q8x_16x2_avx2},
			{1, amd64.Gemv_q4_0x16_q8x_16x1_avx2},
		},
		few:    4,
		expand: amd64.Expand_q4_0x16_codes_16x32_avx2, panels: avx2U4s,
	},
	{
		layout: tile.Q4_1x16, name: "gemm_q4_1x16_q8x_16x3_avx2",
		s0: tile.Q4_1x16Scales, s1: tile.Q4_1x16Codes, scales: 128,
		gemv: []panel{
			{2, amd64.Gemv_q4_1x16_q8x_16x2_avx2},
			{1, amd64.Gemv_q4_1x16_q8x_16x1_avx2},
		},
		few:    4,
		expand: amd64.Expand_q4_1x16_codes_16x32_avx2, panels: avx2U4m,
	},
	{
		layout: tile.Q5_0x16, name: "gemm_q5_0x16_q8x_16x2_avx2",
		s0: tile.Q5_0x16Scales, s1: tile.Q5_0x16Codes, scales: 64,
		gemv: []panel{
			{2, amd64.Gemv_q5_0x16_q8x_16x2_avx2},
			{1, amd64.Gemv_q5_0x16_q8x_16x1_avx2},
		},
		few:    4,
		expand: amd64.Expand_q5_0x16_codes_16x32_avx2, panels: avx2U5s,
	},
	{
		layout: tile.Q5_1x16, name: "gemm_q5_1x16_q8x_16x2_avx2",
		s0: tile.Q5_1x16Scales, s1: tile.Q5_1x16Codes, scales: 128,
		gemv: []panel{
			{2, amd64.Gemv_q5_1x16_q8x_16x2_avx2},
			{1, amd64.Gemv_q5_1x16_q8x_16x1_avx2},
		},
		few:    4,
		expand: amd64.Expand_q5_1x16_codes_16x32_avx2, panels: avx2U5m,
	},
	{
		layout: tile.Q4_Kx16, name: "gemm_q4_kx16_q8x_16x3_avx2",
		s0: 0, s1: tile.Q4_Kx16Block, scales: 128,
		gemv: []panel{
			{2, amd64.Gemv_q4_kx16_q8x_16x2_avx2},
			{1, amd64.Gemv_q4_kx16_q8x_16x1_avx2},
		},
		few:    4,
		expand: amd64.Expand_q4_kx16_codes_16x32_avx2, panels: avx2U4m,
	},
	{
		layout: tile.Q5_Kx16, name: "gemm_q5_kx16_q8x_16x2_avx2",
		s0: 0, s1: tile.Q5_Kx16Block, scales: 128,
		gemv: []panel{
			{2, amd64.Gemv_q5_kx16_q8x_16x2_avx2},
			{1, amd64.Gemv_q5_kx16_q8x_16x1_avx2},
		},
		few:    4,
		expand: amd64.Expand_q5_kx16_codes_16x32_avx2, panels: avx2U5m,
	},
	{
		layout: tile.Q6_Kx16, name: "gemm_q6_kx16_q8x_16x2_avx2",
		s0: tile.Q6_Kx16D, s1: tile.Q6_Kx16Block, scales: 128,
		gemv: []panel{
			{2, amd64.Gemv_q6_kx16_q8x_16x2_avx2},
			{1, amd64.Gemv_q6_kx16_q8x_16x1_avx2},
		},
		few:    4,
		expand: amd64.Expand_q6_kx16_codes_16x32_avx2, panels: avx2U6g,
	},
}

var avx512Floats = []floatProduct{
	{layout: tile.F32x16, name: "gemm_f32x16_f32_32x12_avx512vnni", groups: []floatGroup{
		{tiles: 4, only: true, kernels: []panel{
			{1, amd64.Gemv_f32x16_f32_64x1_avx512vnni},
		}},
		{tiles: 2, kernels: []panel{
			{12, amd64.Gemv_f32x16_f32_32x12_avx512vnni},
			{6, amd64.Gemv_f32x16_f32_32x6_avx512vnni},
			{4, amd64.Gemv_f32x16_f32_32x4_avx512vnni},
			{2, amd64.Gemv_f32x16_f32_32x2_avx512vnni},
			{1, amd64.Gemv_f32x16_f32_32x1_avx512vnni},
		}},
		{tiles: 1, kernels: []panel{
			{6, amd64.Gemv_f32x16_f32_16x6_avx512vnni},
			{4, amd64.Gemv_f32x16_f32_16x4_avx512vnni},
			{2, amd64.Gemv_f32x16_f32_16x2_avx512vnni},
			{1, amd64.Gemv_f32x16_f32_16x1_avx512vnni},
		}},
	}},
	{layout: tile.F16x16, name: "gemm_f16x16_f32_32x12_avx512vnni", groups: []floatGroup{
		{tiles: 4, only: true, kernels: []panel{
			{1, amd64.Gemv_f16x16_f32_64x1_avx512vnni},
		}},
		{tiles: 2, kernels: []panel{
			{12, amd64.Gemv_f16x16_f32_32x12_avx512vnni},
			{6, amd64.Gemv_f16x16_f32_32x6_avx512vnni},
			{4, amd64.Gemv_f16x16_f32_32x4_avx512vnni},
			{2, amd64.Gemv_f16x16_f32_32x2_avx512vnni},
			{1, amd64.Gemv_f16x16_f32_32x1_avx512vnni},
		}},
		{tiles: 1, kernels: []panel{
			{6, amd64.Gemv_f16x16_f32_16x6_avx512vnni},
			{4, amd64.Gemv_f16x16_f32_16x4_avx512vnni},
			{2, amd64.Gemv_f16x16_f32_16x2_avx512vnni},
			{1, amd64.Gemv_f16x16_f32_16x1_avx512vnni},
		}},
	}},
	{layout: tile.BF16x16, name: "gemm_bf16x16_f32_32x12_avx512vnni", groups: []floatGroup{
		{tiles: 4, only: true, kernels: []panel{
			{1, amd64.Gemv_bf16x16_f32_64x1_avx512vnni},
		}},
		{tiles: 2, kernels: []panel{
			{12, amd64.Gemv_bf16x16_f32_32x12_avx512vnni},
			{6, amd64.Gemv_bf16x16_f32_32x6_avx512vnni},
			{4, amd64.Gemv_bf16x16_f32_32x4_avx512vnni},
			{2, amd64.Gemv_bf16x16_f32_32x2_avx512vnni},
			{1, amd64.Gemv_bf16x16_f32_32x1_avx512vnni},
		}},
		{tiles: 1, kernels: []panel{
			{6, amd64.Gemv_bf16x16_f32_16x6_avx512vnni},
			{4, amd64.Gemv_bf16x16_f32_16x4_avx512vnni},
			{2, amd64.Gemv_bf16x16_f32_16x2_avx512vnni},
			{1, amd64.Gemv_bf16x16_f32_16x1_avx512vnni},
		}},
	}},
}

var avx2Floats = []floatProduct{
	{layout: tile.F32x16, name: "gemm_f32x16_f32_16x6_avx2", groups: []floatGroup{
		{tiles: 2, only: true, kernels: []panel{
			{1, amd64.Gemv_f32x16_f32_32x1_avx2},
		}},
		{tiles: 1, kernels: []panel{
			{6, amd64.Gemv_f32x16_f32_16x6_avx2},
			{4, amd64.Gemv_f32x16_f32_16x4_avx2},
			{2, amd64.Gemv_f32x16_f32_16x2_avx2},
			{1, amd64.Gemv_f32x16_f32_16x1_avx2},
		}},
	}},
	{layout: tile.F16x16, name: "gemm_f16x16_f32_16x6_avx2", groups: []floatGroup{
		{tiles: 2, only: true, kernels: []panel{
			{1, amd64.Gemv_f16x16_f32_32x1_avx2},
		}},
		{tiles: 1, kernels: []panel{
			{6, amd64.Gemv_f16x16_f32_16x6_avx2},
			{4, amd64.Gemv_f16x16_f32_16x4_avx2},
			{2, amd64.Gemv_f16x16_f32_16x2_avx2},
			{1, amd64.Gemv_f16x16_f32_16x1_avx2},
		}},
	}},
	{layout: tile.BF16x16, name: "gemm_bf16x16_f32_16x6_avx2", groups: []floatGroup{
		{tiles: 2, only: true, kernels: []panel{
			{1, amd64.Gemv_bf16x16_f32_32x1_avx2},
		}},
		{tiles: 1, kernels: []panel{
			{6, amd64.Gemv_bf16x16_f32_16x6_avx2},
			{4, amd64.Gemv_bf16x16_f32_16x4_avx2},
			{2, amd64.Gemv_bf16x16_f32_16x2_avx2},
			{1, amd64.Gemv_bf16x16_f32_16x1_avx2},
		}},
	}},
}
