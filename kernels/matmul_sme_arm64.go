//go:build arm64 && !purego

package kernels

import (
	"math"
	"sync"
	"unsafe"

	"jns/kernels/arm64"
	"jns/kernels/tile"
)

const (
	// smeFew is the number of activation rows from which on a panel of sixteen, partly empty, is worth packing: what the products of fewer do not have.
	smeFew = 5
	// smePacked is the size of 32 columns of sixteen packed activation rows: [8][16][4] codes, then d, m and d·Σq of both halves, [16] float32 each.
	smePacked = 512 + 4*64
	smeRows   = 16
	// smePanels bounds the panels that are packed at a time, and with that the length of a call: chunkBlocks × smePanels × 8 SMOPA, far below a millisecond.
	smePanels = 16
)

// streamKernel multiplies weights as they lie with a few activation rows in streaming mode.
type streamKernel = func(*arm64.StreamArgs)

// streamCols are the most activation rows of the three kernels of a layout; a kernel is taken from half of that on.
var streamCols = [3]int{1, 2, 4}

// streamed is a layout that has them: a row of the table in sets_sme_arm64.go.
type streamed struct {
	layout  *tile.Layout
	kernels [3]streamKernel
}

// multiplyStream takes groups of four tile rows, then what is left of one. The weights of a call are read and its outputs written to before it: a fault that becomes a signal must
// not come in streaming mode, whose state the handler of Go would return with. base is where stream 1 begins in a tile row.
func multiplyStream(a *MatMulArgs, l *tile.Layout, base int, run streamKernel) {
	step := max(1, callBytes/(4*int(a.WStride)))
	for t := 0; t < a.Tiles; {
		w, y := unsafe.Add(a.W, uintptr(t)*a.WStride), unsafe.Add(a.Y, t*64)
		g := arm64.StreamArgs{
			P0: w, P1: unsafe.Add(w, base), Stride: a.WStride, Groups: min(step, (a.Tiles-t)/4), Last: 3, Blocks: a.Cols / l.Codec.Elems,
			X: a.X, XStride: a.XStride, Cols: a.N, Y: y, YStride: a.YStride,
		}
		tiles := 4 * g.Groups
		if tiles == 0 {
			tiles = a.Tiles - t
			g.Groups, g.Last = 1, tiles-1
		}
		touch(w, tiles*int(a.WStride))
		for n := range a.N {
			clear(unsafe.Slice((*float32)(unsafe.Add(y, uintptr(n)*a.YStride)), 16*tiles))
		}
		callStream(run, hideStream(&g))
		t += tiles
	}
}

// multiplyStreams takes four activation rows at a time, all of them with as many tile rows as a call takes.
func multiplyStreams(a *MatMulArgs, l *tile.Layout, run streamKernel) {
	step := 4 * max(1, callBytes/(4*int(a.WStride)))
	for t := 0; t < a.Tiles; t += step {
		for n := 0; n < a.N; n += 4 {
			b := *a
			b.W, b.Tiles = unsafe.Add(a.W, uintptr(t)*a.WStride), min(step, a.Tiles-t)
			b.X, b.N = unsafe.Add(a.X, uintptr(n)*a.XStride), min(4, a.N-n)
			b.Y = unsafe.Add(a.Y, uintptr(n)*a.YStride+uintptr(t)*64)
			multiplyStream(&b, l, 0, run)
		}
	}
}

// touch reads a byte of every page.
//
//go:noinline
func touch(p unsafe.Pointer, n int) (sum byte) {
	for _, b := range [...]int{0, n - 1} {
		sum += *(*byte)(unsafe.Add(p, b))
	}
	for i := 4096; i < n; i += 4096 {
		sum += *(*byte)(unsafe.Add(p, i))
	}
	return sum
}

//go:noinline
func callStream(f streamKernel, a *arm64.StreamArgs) {
	held := holdSignals()
	f(a)
	releaseSignals(held)
}

//go:noinline
func callPanel(f kernel, a *arm64.GemmArgs) {
	held := holdSignals()
	f(a)
	releaseSignals(held)
}

func hideStream(a *arm64.StreamArgs) *arm64.StreamArgs {
	x := uintptr(unsafe.Pointer(a))
	return *(**arm64.StreamArgs)(unsafe.Pointer(&x))
}

// smeScratch holds packed activations; it grows to the widest matrix seen.
type smeScratch struct{ packed []byte }

var smeScratches = sync.Pool{New: func() any { return new(smeScratch) }}

// multiplySME packs up to smePanels panels of activations and multiplies them with every tile row. All memory that the kernel touches has been touched before it: codes and
// activations were written here, outputs are written to first, since a fault that becomes a signal must not come in streaming mode.
func (p *product) multiplySME(a *MatMulArgs) {
	s, act := scratches.Get().(*scratch), smeScratches.Get().(*smeScratch)
	blocks := a.Cols / tile.Q8XElems
	subs := p.layout.Codec.Elems / tile.Q8XElems
	panels := min(smePanels, (a.N+smeRows-1)/smeRows, max(1, 4*cacheBytes/(blocks*smePacked)))
	stride := blocks * smePacked
	if need := panels*stride + 64; len(act.packed) < need {
		act.packed = make([]byte, need)
	}
	packed := unsafe.Pointer(&act.packed[0])
	packed = unsafe.Add(packed, -uintptr(packed)&63)
	codes := unsafe.Pointer(&s.buf[0])
	codes = unsafe.Add(codes, -uintptr(codes)&63)
	scales := unsafe.Add(codes, chunkBlocks*512)
	for n := 0; n < a.N; n += panels * smeRows {
		rows := min(panels*smeRows, a.N-n)
		for i := 0; i < rows; i += smeRows {
			packSME(unsafe.Add(packed, i/smeRows*stride), unsafe.Add(a.X, uintptr(n+i)*a.XStride), a.XStride, min(smeRows, rows-i), blocks)
		}
		for t := range a.Tiles {
			w, y := unsafe.Add(a.W, uintptr(t)*a.WStride), unsafe.Add(a.Y, uintptr(n)*a.YStride+uintptr(t)*64)
			for i := range rows {
				*(*[16]float32)(unsafe.Add(y, uintptr(i)*a.YStride)) = [16]float32{}
			}
			for b := 0; b < blocks; b += chunkBlocks {
				nb := min(chunkBlocks, blocks-b)
				e := arm64.GemmArgs{
					P0: unsafe.Add(w, b/subs*p.s0), P1: unsafe.Add(w, p.codesAt(a.Cols)+b/subs*p.s1), Blocks: nb / subs, Codes: codes, Scales: scales,
				}
				call(p.expand[dotprod], hide(&e))
				g := arm64.GemmArgs{Codes: codes, Scales: scales, Blocks: nb, X: unsafe.Add(packed, b*smePacked), XStride: uintptr(stride), Y: y, YStride: a.YStride, Load: b}
				if g.Panels, g.Tiles = rows/smeRows, smeRows; g.Panels > 0 {
					callPanel(p.form.sme, hide(&g))
				}
				if left := rows % smeRows; left > 0 {
					g.X = unsafe.Add(packed, rows/smeRows*stride+b*smePacked)
					g.Y = unsafe.Add(y, uintptr(rows-left)*a.YStride)
					g.Panels, g.Tiles = 1, left
					callPanel(p.form.sme, hide(&g))
				}
			}
		}
	}
	smeScratches.Put(act)
	scratches.Put(s)
}

// packSME packs n rows of Q8X blocks; rows that are missing of sixteen are zeros.
func packSME(dst, x unsafe.Pointer, xstride uintptr, n, blocks int) {
	for b := range blocks {
		d := unsafe.Slice((*uint32)(unsafe.Add(dst, b*smePacked)), smePacked/4)
		if n < smeRows {
			clear(d)
		}
		for r := range n {
			q := (*[12]uint32)(unsafe.Add(x, uintptr(r)*xstride+uintptr(b*tile.Q8XBytes)))
			for t, v := range q[:8] {
				d[16*t+r] = v
			}
			scale := math.Float32frombits(q[8])
			all, first := int32(q[10]), int32(q[11])
			d[128+r], d[144+r] = q[8], q[9]
			d[160+r] = math.Float32bits(float32(scale * float32(-first>>7)))
			d[176+r] = math.Float32bits(float32(scale * float32((first-all)>>7)))
		}
	}
}
