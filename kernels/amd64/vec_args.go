package amd64

import "unsafe"

// VecArgs is the argument block of the vector functions; which fields one reads and writes is said at the function. Pointers are to
// float32 unless said, N counts elements.
type VecArgs struct {
	Dst, A, B, C unsafe.Pointer
	N            int
	F, G         float32
	R            float32 // result
	U            uint32  // result
	J            int     // result
}

// AttendStep is the argument block of the attention functions, for the queries of one call: up to 16 (AVX-512) or 4 (AVX2) rows of Q, S
// and O, which share one page.
type AttendStep struct {
	Q       unsafe.Pointer
	QStride uintptr
	K, V    unsafe.Pointer
	S, O    unsafe.Pointer
	OStride uintptr
	M, L    unsafe.Pointer
	D, DV   int
	// All queries see From ≤ p < To; Lo ≤ p < From and To ≤ p < Hi is for those whose bit is set in Active[p]. Lo ≤ From ≤ To ≤ Hi.
	Lo, From, To, Hi   int
	Any                int // bits of the queries that see anything
	Rows               int
	Scale, Cap, InvCap float32
	_                  float32
	Active             [64]uint16
	Alpha, Beta        [16]float32 // set by soften: factors of the old state and of the page
	RowLo, RowHi       [16]int32
	// Fetched, not read: while K is read, into the first-level cache and into the second; while V is read; and in between.
	NearK, FarK, NearV, FarV, NearS unsafe.Pointer
	// Where K and V are codes: their scales and how many there are, those of the next page, which are fetched; scratch for factors of the values' scales, see Attend_codescales.
	KS, VS         unsafe.Pointer
	KN, VN         int
	NextKS, NextVS unsafe.Pointer
	T              unsafe.Pointer
	TGap, Wild     int
}

// JoinStep is the argument block of Attend_join, for up to 16 (AVX-512) or 8 (AVX2) queries of all pages.
type JoinStep struct {
	PM, PSees, PO unsafe.Pointer // of the first part: maxima, with the sums arg.PartL behind them; bits of the queries; rows
	PStride       uintptr        // bytes from one part to the next
	Pages         int            // at least 1
	O             unsafe.Pointer
	OStride       uintptr
	M, L          unsafe.Pointer
	Rows, DV      int
	Alpha, Beta   [16]float32 // factors of the old state and of the page
}
