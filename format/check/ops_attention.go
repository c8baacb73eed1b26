package check

import (
	"jns/format"
)

// Bounds of an attention's buckets of distances.
const (
	MaxEdges    = 1 << 8
	MaxDistance = 1 << 16
)

// distances proves what an attention adds to its scores by distance (JNS-44).
func (k *checker) distances(p *format.AttentionParams) error {
	switch {
	case len(p.Slopes) == 0 && len(p.Edges) == 0:
		if p.Later != 0 || p.Bias != 0 {
			return corrupt("a bias without slopes or edges of distances")
		}
		return nil
	case len(p.Edges) == 0:
		if len(p.Slopes) != int(p.Heads) || p.Later != 0 || p.Bias != format.None {
			return corrupt("%d slopes for %d heads, a bias %d, buckets %d", len(p.Slopes), p.Heads, p.Bias, p.Later)
		}
		return finite(p.Slopes...)
	}
	n := len(p.Edges)
	if len(p.Slopes) != 0 || n > MaxEdges || p.Edges[0] != 0 || p.Edges[n-1] >= MaxDistance || p.Later != 0 && p.Later != uint32(n) {
		return corrupt("%d edges of distances beside %d slopes, buckets from %d on for later positions", n, len(p.Slopes), p.Later)
	}
	for i := 1; i < n; i++ {
		if p.Edges[i] <= p.Edges[i-1] {
			return corrupt("edge %d of distances is %d, after %d", i, p.Edges[i], p.Edges[i-1])
		}
	}
	return k.vector(p.Bias, uint64(p.Heads)*(uint64(n)+uint64(p.Later)))
}
