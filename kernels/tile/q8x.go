package tile

// Q8X is the format of quantised activations: 32 elements in 48 bytes, one row of n elements is n/32 blocks back to back.
//
//	offset  0  int8[32]  q: round to nearest even of x · (1/d), |q| ≤ 127
//	offset 32  float32   d = max|x| / 127
//	offset 36  float32   m = d · float32(Σ q)            (for types with an offset per 32 elements)
//	offset 40  int32     c = −128 · Σ q                  (start of an accumulator over codes stored as code + 128)
//	offset 44  int32     c0 = −128 · Σ q[0:16]           (the same for the first half; the second half is c − c0)
//
// 1/d is the float32 quotient 1/d; a block whose maximum is 0 has d = m = 0 and all-zero codes. The arithmetic of quantising is the
// definition in kernels/scalar.
const (
	Q8XElems = 32
	Q8XBytes = 48
	Q8XQ     = 0
	Q8XD     = 32
	Q8XM     = 36
	Q8XC     = 40
	Q8XC0    = 44
)

// Q8XRowBytes is the size of a quantised activation row of n elements (a multiple of 32).
func Q8XRowBytes(n int) int { return n / Q8XElems * Q8XBytes }
