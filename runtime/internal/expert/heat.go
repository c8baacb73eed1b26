package expert

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Heat counts, from a trace, how many tokens used each expert of each layer.
type Heat struct {
	Experts int
	Layers  []int32    // that have experts, ascending
	Tokens  [][]uint64 // by layer, by expert of the layer
}

// Heat gives the use of every expert.
func (t *Trace) Heat() *Heat {
	h := &Heat{}
	row := map[int32]int{}
	for _, s := range t.Slots {
		if _, ok := row[s.Layer]; !ok {
			row[s.Layer] = len(h.Layers)
			h.Layers, h.Tokens = append(h.Layers, s.Layer), append(h.Tokens, nil)
		}
		h.Experts = max(h.Experts, int(s.Expert)+1)
		h.Tokens[row[s.Layer]] = append(h.Tokens[row[s.Layer]], 0) // a trace lists the experts of a layer in order
	}
	for _, u := range t.Turns {
		for i, s := range u.Slots {
			q := t.Slots[s]
			h.Tokens[row[q.Layer]][q.Expert] += uint64(u.Count[i])
		}
	}
	return h
}

// SVG draws the use of experts: a row for each layer, a column for each expert, darker where more tokens went; each cell says its count when pointed at.
func (h *Heat) SVG(w io.Writer, title string) error {
	const cell, left, top = 10, 48, 34
	var b strings.Builder
	width, height := left+cell*h.Experts+10, top+cell*len(h.Layers)+24
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="9">`+"\n", width, height)
	fmt.Fprintf(&b, `<text x="%d" y="14" font-size="12">%s</text>`+"\n", left, escape(title))
	for l, counts := range h.Tokens {
		most, total := uint64(1), uint64(0)
		for _, n := range counts {
			most, total = max(most, n), total+n
		}
		y := top + cell*l
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%d</text>`+"\n", left-4, y+cell-2, h.Layers[l])
		for e, n := range counts {
			// The square root shows rare experts too.
			shade := 255 - int(215*math.Sqrt(float64(n)/float64(most)))
			share := 0.0
			if total > 0 {
				share = 100 * float64(n) / float64(total)
			}
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" fill="#%02x%02x%02x"><title>layer %d, expert %d: %d tokens, %.2f %%</title></rect>`+"\n",
				left+cell*e, y, cell-1, cell-1, 255-(255-shade)/4, shade, shade/2+64, h.Layers[l], e, n, share)
		}
	}
	for e := 0; e < h.Experts; e += 8 {
		fmt.Fprintf(&b, `<text x="%d" y="%d">%d</text>`+"\n", left+cell*e, top-4, e)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
