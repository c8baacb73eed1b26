package tile

// The float types: one stream, [columns][16 rows].
const (
	F16x16Col  = 32 // bytes a column
	BF16x16Col = 32
	F32x16Col  = 64
)

var (
	F16x16 = x16{1, 2, [2]int{0, F16x16Col}, []x16Field{
		{size: 2, n: 1, stream: 1},
	}}.layout(9, "f16x16", 1)

	BF16x16 = x16{1, 2, [2]int{0, BF16x16Col}, []x16Field{
		{size: 2, n: 1, stream: 1},
	}}.layout(10, "bf16x16", 30)

	F32x16 = x16{1, 4, [2]int{0, F32x16Col}, []x16Field{
		{size: 4, n: 1, stream: 1},
	}}.layout(11, "f32x16", 0)
)
