package tile

// The types with 256 elements in a block.
const (
	// One stream. A block of 16 rows: d[16], dmin[16] (halves), [3][16] dwords of packed 6-bit scales, [32][16] dwords of nibbles:
	// of dword 8p+g the low nibbles are elements 64p+4g…, the high ones elements 64p+32+4g….
	Q4_Kx16Block  = 2304
	Q4_Kx16Min    = 32
	Q4_Kx16Scales = 64
	Q4_Kx16Quants = 256

	// As Q4_K, with [8][16] dwords of fifth bits before the nibbles: bit j of dword g belongs to elements 32j+4g….
	Q5_Kx16Block  = 2816
	Q5_Kx16Min    = 32
	Q5_Kx16Scales = 64
	Q5_Kx16High   = 256
	Q5_Kx16Quants = 768

	// Stream 0: d[16]. Stream 1: [4][16] dwords of int8 scales (one per 16 elements), [16][16] dwords of upper bits, [32][16] dwords
	// of nibbles. In half h of the block, dword 16h+8s+g of the nibbles holds elements 128h+32s+4g… (low) and 64 further on
	// (high); bits 2s… of dword 8h+g of the upper bits belong to elements 128h+32s+4g….
	Q6_Kx16D      = 32
	Q6_Kx16Block  = 3328
	Q6_Kx16Scales = 0
	Q6_Kx16High   = 256
	Q6_Kx16Quants = 1280
)

var (
	Q4_Kx16 = x16{256, 144, [2]int{0, Q4_Kx16Block}, []x16Field{
		{src: 0, size: 2, n: 2, stream: 1},
		{src: 4, size: 4, n: 3, stream: 1, dst: Q4_Kx16Scales},
		{src: 16, size: 4, n: 32, stream: 1, dst: Q4_Kx16Quants},
	}}.layout(6, "q4_kx16", 12)

	Q5_Kx16 = x16{256, 176, [2]int{0, Q5_Kx16Block}, []x16Field{
		{src: 0, size: 2, n: 2, stream: 1},
		{src: 4, size: 4, n: 3, stream: 1, dst: Q5_Kx16Scales},
		{src: 16, size: 4, n: 8, stream: 1, dst: Q5_Kx16High},
		{src: 48, size: 4, n: 32, stream: 1, dst: Q5_Kx16Quants},
	}}.layout(7, "q5_kx16", 13)

	Q6_Kx16 = x16{256, 210, [2]int{Q6_Kx16D, Q6_Kx16Block}, []x16Field{
		{src: 208, size: 2, n: 1, stream: 0},
		{src: 192, size: 4, n: 4, stream: 1, dst: Q6_Kx16Scales},
		{src: 128, size: 4, n: 16, stream: 1, dst: Q6_Kx16High},
		{src: 0, size: 4, n: 32, stream: 1, dst: Q6_Kx16Quants},
	}}.layout(8, "q6_kx16", 14)
)
