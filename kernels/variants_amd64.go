//go:build amd64 && !purego

package kernels

import "fmt"

// variants names the kernels by the number of activation rows, for receipts: a few rows are multiplied by gemv kernels – a number that none has is made of the largest that fits, which
// is the one named, and smaller ones – and more by panels of expanded weights.
func (p *product) variants(set string) []Variant {
	if p.gemvSet != "" {
		set = p.gemvSet
	}
	var vs []Variant
	for i := len(p.gemv) - 1; i >= 0; i-- { // the table has the largest first
		vs = append(vs, Variant{p.gemv[i].cols, fmt.Sprintf("gemv_%s_q8x_16x%d_%s", p.layout.Name, p.gemv[i].cols, set)})
	}
	return append(vs, Variant{p.few + 1, p.name})
}
