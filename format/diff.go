package format

import (
	"fmt"
	"slices"
	"strings"
)

// Difference is one thing in which two containers differ. Old or New is empty for what only the other has.
type Difference struct {
	Level string // "header", "model", "compiler", "source", "section", "tensor", "slot", "program"
	Name  string // of the field, section or tensor; the number of the slot; the line of the program, counted without gaps over buffers, states, ropes, operations
	Old   string
	New   string
}

// String gives the difference as one or two lines.
func (d Difference) String() string {
	what := d.Level + " " + strings.Map(printable, d.Name)
	before, after := what+": - "+strings.Map(printable, d.Old), what+": + "+strings.Map(printable, d.New)
	switch {
	case d.Old == "":
		return after
	case d.New == "":
		return before
	}
	return before + "\n" + after
}

// Diff compares two containers from the top down: facts, sections, tensors by name, slots, and the program line by line. Containers with equal root
// digests have no difference.
func Diff(a, b *Container) []Difference {
	if a.Root() == b.Root() {
		return nil
	}
	d := &differ{}
	d.facts(a, b)
	d.sections(a.TOC.Sections, b.TOC.Sections)
	d.tensors(a.Tensors, b.Tensors)
	d.slots(a.Slots, b.Slots)
	d.program(programLines(a.Program, a.Tensors), programLines(b.Program, b.Tensors))
	return d.found
}

type differ struct{ found []Difference }

func (d *differ) compare(level, name, a, b string) {
	if a != b {
		d.found = append(d.found, Difference{level, name, a, b})
	}
}

func (d *differ) facts(a, b *Container) {
	d.compare("header", "version", versionText(a.Header), versionText(b.Header))
	d.compare("header", "target", a.Header.Target, b.Header.Target)
	d.compare("header", "tuned-for", a.Header.TunedFor, b.Header.TunedFor)
	d.compare("header", "layouts", fmt.Sprint(a.Header.Layouts), fmt.Sprint(b.Header.Layouts))
	m, n := a.TOC.Model, b.TOC.Model
	d.compare("model", "name", m.Name, n.Name)
	d.compare("model", "vocabulary", fmt.Sprint(m.Vocab), fmt.Sprint(n.Vocab))
	d.compare("model", "context", fmt.Sprint(m.Context), fmt.Sprint(n.Context))
	d.compare("model", "parameters", fmt.Sprint(m.Params), fmt.Sprint(n.Params))
	d.pairs("model", factMap(m.Facts), factMap(n.Facts))
	d.compare("compiler", "name", a.TOC.Compiler.Name, b.TOC.Compiler.Name)
	d.compare("compiler", "revision", fmt.Sprint(a.TOC.Compiler.Revision), fmt.Sprint(b.TOC.Compiler.Revision))
	d.compare("compiler", "options", a.TOC.Compiler.Options, b.TOC.Compiler.Options)
	for i := range max(len(a.TOC.Source), len(b.TOC.Source)) {
		d.compare("source", fmt.Sprint(i), shardText(a.TOC.Source, i), shardText(b.TOC.Source, i))
	}
}

func versionText(h *Header) string { return fmt.Sprintf("%d.%d", h.Major, h.Minor) }

func orderText(t SlotTable) string {
	order := DiskOrder(t)
	if order == nil {
		return "the table's"
	}
	text := fmt.Sprint(order[:min(len(order), 16)])
	if n := len(order) - 16; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

func factMap(fs []Fact) map[string]string {
	m := map[string]string{}
	for _, f := range fs {
		m[f.Key] = f.Value
	}
	return m
}

func shardText(ss []Shard, i int) string {
	if i >= len(ss) {
		return ""
	}
	return fmt.Sprintf("%d bytes, SHA-256 %x", ss[i].Length, ss[i].SHA256)
}

// pairs compares two sets of named values in the order of their names.
func (d *differ) pairs(level string, a, b map[string]string) {
	var names []string
	for n := range a {
		names = append(names, n)
	}
	for n := range b {
		if _, ok := a[n]; !ok {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	for _, n := range names {
		d.compare(level, n, a[n], b[n])
	}
}

func (d *differ) sections(a, b []Section) {
	text := func(ss []Section, k SectionKind) string {
		if s, ok := findSection(ss, k); ok {
			return fmt.Sprintf("%d bytes at %d, digest %x", s.Length, s.Offset, s.Digest[:6])
		}
		return ""
	}
	for k := SectionSource; k <= SectionChunks; k++ {
		d.compare("section", k.String(), text(a, k), text(b, k))
	}
}

func (d *differ) tensors(a, b TensorTable) {
	text := func(t TensorTable) map[string]string {
		m := make(map[string]string, t.Len())
		for i := range t.Len() {
			x := t.At(i)
			m[x.Name] = fmt.Sprintf("type %d, layout %d (%s), %d × %d × %d, %s, %d slots of %d rows, tiles %d rows %d bytes, source %d.%d %x", x.Type, x.Layout,
				ReasonText(x.Reason), x.Count, x.Rows, x.Cols, x.Class, x.Slots, x.RowsPerSlot, x.TileRows, x.TileRowBytes, x.Shard, x.Index, x.Digest[:6])
		}
		return m
	}
	d.pairs("tensor", text(a), text(b))
}

func (d *differ) slots(a, b SlotTable) {
	text := func(t SlotTable, i int) string {
		if i >= t.Len() {
			return ""
		}
		s := t.At(i)
		return fmt.Sprintf("%s%s%s, %d bytes, %x", s.Class, number(" layer ", s.Layer), number(" expert ", s.Expert), s.Length, s.Digest[:6])
	}
	for i := range max(a.Len(), b.Len()) {
		d.compare("slot", fmt.Sprint(i), text(a, i), text(b, i))
	}
	d.compare("slot", "order of experts", orderText(a), orderText(b))
}

// program compares lines: what both have in the same order stays, the rest is old or new. Names are indices of lines.
func (d *differ) program(a, b []string) {
	for _, e := range lineDiff(a, b) {
		if e.old {
			d.found = append(d.found, Difference{Level: "program", Name: fmt.Sprint(e.line), Old: e.text})
		} else {
			d.found = append(d.found, Difference{Level: "program", Name: fmt.Sprint(e.line), New: e.text})
		}
	}
}

type edit struct {
	old  bool
	line int
	text string
}

// lineDiff finds a longest common subsequence of what lies between equal beginnings and ends. When that is too large it takes all of it as changed.
func lineDiff(a, b []string) []edit {
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
	}
	n, m := endA-start, endB-start
	var es []edit
	if n*m > 1<<24 {
		n, m = 0, 0
	}
	common := make([][]int32, n+1)
	for i := range common {
		common[i] = make([]int32, m+1)
	}
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if a[start+i] == b[start+j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < n && j < m {
		switch {
		case a[start+i] == b[start+j]:
			i, j = i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			es = append(es, edit{true, start + i, a[start+i]})
			i++
		default:
			es = append(es, edit{false, start + j, b[start+j]})
			j++
		}
	}
	for ; start+i < endA; i++ {
		es = append(es, edit{true, start + i, a[start+i]})
	}
	for ; start+j < endB; j++ {
		es = append(es, edit{false, start + j, b[start+j]})
	}
	return es
}
