package kernels

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Name is a kernel's name taken apart. The grammar, fields joined by "_":
//
//	op _ tile _ activations _ rows "x" columns _ set
//
//	op           gemv (a few columns, weights as they lie), gemm (a whole product), expand (weights to codes of a byte), panel (product of
//	             expanded weights)
//	tile         the layout: q4_kx16, q8_0; for panel the form of the expanded weights: u8s (one scale), u8m (scale and offset), u8g (two
//	             scales), the digit being the bits that the kernel allows for; s8s, s8m, s8g, s8n are signed
//	activations  q8x or f32; codes for expand
//	rows, columns  the block of outputs held in registers
//	set          amxint8, avx512vnni, avxvnni, avx2, sme2, i8mm, dotprod, scalar
type Name struct {
	Op, Tile, Act string
	Rows, Cols    int
	Set           string
}

// ErrName is the error of a name outside the grammar.
var ErrName = errors.New("not a kernel name")

// ParseName takes a name apart. The error wraps ErrName.
func ParseName(s string) (Name, error) {
	f := strings.Split(s, "_")
	if len(f) < 5 {
		return Name{}, fmt.Errorf("%w: %q has fewer than five fields", ErrName, s)
	}
	k := len(f)
	n := Name{Op: f[0], Tile: strings.Join(f[1:k-3], "_"), Act: f[k-3], Set: f[k-1]}
	rows, cols, ok := strings.Cut(f[k-2], "x")
	var err1, err2 error
	n.Rows, err1 = strconv.Atoi(rows)
	n.Cols, err2 = strconv.Atoi(cols)
	switch {
	case !slices.Contains([]string{"gemv", "gemm", "expand", "panel"}, n.Op):
		return Name{}, fmt.Errorf("%w: %q: no operation %q", ErrName, s, n.Op)
	case !slices.Contains([]string{"q8x", "f32", "codes"}, n.Act):
		return Name{}, fmt.Errorf("%w: %q: no activations %q", ErrName, s, n.Act)
	case !ok || err1 != nil || err2 != nil || n.Rows < 1 || n.Cols < 1:
		return Name{}, fmt.Errorf("%w: %q: shape %q is not rows x columns", ErrName, s, f[k-2])
	case !slices.Contains([]string{"amxint8", "avx512vnni", "avxvnni", "avx2", "sme2", "i8mm", "dotprod", "scalar"}, n.Set):
		return Name{}, fmt.Errorf("%w: %q: no set %q", ErrName, s, n.Set)
	}
	if n.String() != s {
		return Name{}, fmt.Errorf("%w: %q is not in canonical form %q", ErrName, s, n.String())
	}
	return n, nil
}

func (n Name) String() string {
	return fmt.Sprintf("%s_%s_%s_%dx%d_%s", n.Op, n.Tile, n.Act, n.Rows, n.Cols, n.Set)
}
