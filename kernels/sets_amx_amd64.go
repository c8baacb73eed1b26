//go:build amd64 && !purego

package kernels

import (
	"strings"

	"jns/kernels/amd64"
	"jns/kernels/cpu"
)

// tilesFrom is the number of activation rows from which on tile registers are used: a whole panel.
const tilesFrom = 12

// tilePanels multiply what expand of AVX-512 leaves in a form, with tile registers. Forms with two scales a block are not among them: a processor at work on tiles scales with one
// port instead of two, so that these were slower than with VPDPBUSD, 0.77 of its rate (Emerald Rapids).
var tilePanels = []struct {
	plain, tiles *panelSet
	signs        kernel // takes a bias off, nil: codes have none
}{
	{avx512U8s, &panelSet{
		wide: []panel{{12, amd64.Panel_s8s_q8x_32x12_amxint8}, {8, amd64.Panel_s8s_q8x_32x8_amxint8}},
		one:  []panel{{12, amd64.Panel_s8s_q8x_16x12_amxint8}, {8, amd64.Panel_s8s_q8x_16x8_amxint8}},
	}, amd64.Expand_signs_codes_16x32_amxint8},
	{avx512U8m, &panelSet{
		wide: []panel{{12, amd64.Panel_s8m_q8x_32x12_amxint8}, {8, amd64.Panel_s8m_q8x_32x8_amxint8}},
		one:  []panel{{12, amd64.Panel_s8m_q8x_16x12_amxint8}, {8, amd64.Panel_s8m_q8x_16x8_amxint8}},
	}, nil},
}

// tileProducts are those products of AVX-512 that tile registers take part in: all but a few activation rows, and but what twelve and eight leave of many.
func tileProducts(plain []product) (all []product) {
	for _, p := range plain {
		for _, s := range tilePanels {
			if p.panels != s.plain {
				continue
			}
			p.name = strings.TrimSuffix(p.name, "_32x6_"+cpu.AVX512VNNI) + "_32x12_" + cpu.AMXINT8
			p.tiles, p.signs, p.gemvSet = s.tiles, s.signs, cpu.AVX512VNNI
			p.few = max(p.few, tilesFrom-1)
			all = append(all, p)
		}
	}
	return all
}

// tiled is how many of n activation rows tile registers multiply.
func (p *product) tiled(n int) int {
	if p.tiles == nil {
		return 0
	}
	done := 0
	for _, k := range p.tiles.one {
		done += (n - done) / k.cols * k.cols
	}
	return done
}
