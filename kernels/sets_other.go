//go:build (!amd64 && !arm64) || purego

package kernels

import "jns/kernels/tile"

// bindSet finds nothing: this build has scalar kernels only.
func bindSet(*tile.Layout, string) *MatMul { return nil }
