package manifests

import (
	"fmt"
	"strings"
)

// TableHead is the head of the table of MODELS.md.
const TableHead = "| model | source file, SHA-256 | licence | target | size | root digest, SHA-256 | needs | peak RSS | prefill tok/s | decode tok/s | ratio to peer | machine | command |\n" +
	"|---|---|---|---|---|---|---|---|---|---|---|---|---|\n"

// Row is the manifest's row of MODELS.md, for a manifest that jns-get knows by name.
func (m *Manifest) Row() string {
	if len(m.Container.At) > 0 {
		return m.row(fmt.Sprintf("jns-get %s --target %s", m.Name, m.Target))
	}
	return m.row(fmt.Sprintf("jns-get compile %s --target %s", m.Name, m.Target))
}

// RowAt is the same for a manifest that is known by its place only. beside says that the container lies beside it.
func (m *Manifest) RowAt(place string, beside bool) string {
	if beside || len(m.Container.At) > 0 {
		return m.row("jns-get --manifest " + place)
	}
	return m.row("jns-get compile --manifest " + place)
}

func (m *Manifest) row(command string) string {
	var src []string
	for _, f := range m.Source.Files {
		src = append(src, fmt.Sprintf("%s `%s`", cell(f.File), f.SHA256))
	}
	needs, rss, pp, tg, ratio, machine := "–", "–", "–", "–", "–", "–"
	if m.Memory != nil {
		needs = mib(m.Memory.Required)
		if m.Memory.Experts > 0 {
			needs += " + experts " + mib(m.Memory.Experts)
		}
	}
	if len(m.Measured) > 0 {
		b := m.Measured[0]
		machine = b.Machine
		if b.Threads > 0 {
			machine += fmt.Sprintf(", %d threads", b.Threads)
		}
		if b.Kernels != "" {
			machine += ", " + b.Kernels
		}
		if b.PeakRSS > 0 {
			rss = mib(b.PeakRSS)
		}
		if b.PrefillTPS > 0 {
			pp = fmt.Sprintf("%.4g", b.PrefillTPS)
		}
		if b.DecodeTPS > 0 {
			tg = fmt.Sprintf("%.4g", b.DecodeTPS)
		}
		if b.PrefillRatio > 0 || b.DecodeRatio > 0 {
			ratio = fmt.Sprintf("%.2f prefill, %.2f decode (%s)", b.PrefillRatio, b.DecodeRatio, b.Peer)
		}
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | `%s` `%s` | %s | %s | %s | %s | %s | %s | `%s` |\n", cell(m.Name), strings.Join(src, "<br>"), cell(m.Source.Licence), cell(m.Target),
		mib(uint64(m.Container.Bytes)), m.Container.Root, m.Container.SHA256, needs, rss, pp, tg, cell(ratio), cell(machine), cell(command))
}

func mib(n uint64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// cell makes text fit for a cell of a table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ", "<", "&lt;", "`", "'").Replace(s)
}
