// Package progress draws progress bars on a terminal, and nothing anywhere else.
//
// Its one noun is Bars: one bar for each phase of a long operation, in the order in which the phases begin. It must not know what is done.
package progress

import (
	"os"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"jns/cmd/internal/cli"
)

// Bars draws on standard error. A nil *Bars draws nothing.
type Bars struct {
	all   *mpb.Progress
	bar   *mpb.Bar
	phase string
	total uint64
}

// New gives bars if standard error is a terminal that can draw them, else nil.
func New() *Bars {
	if !cli.Terminal(os.Stderr) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return &Bars{all: mpb.New(mpb.WithOutput(os.Stderr), mpb.WithWidth(40), mpb.WithAutoRefresh())}
}

// Show says how many bytes of a phase are done. A new phase ends the one before. It is not safe for several goroutines at once.
func (b *Bars) Show(phase string, done, total uint64) {
	if b == nil {
		return
	}
	if phase != b.phase || b.bar == nil {
		b.finish(true)
		b.phase, b.total = phase, max(total, 1)
		b.bar = b.all.New(int64(b.total), mpb.BarStyle().Lbound("").Rbound("").Filler("━").Tip("━").Padding("─"),
			mpb.PrependDecorators(decor.Name(phase, decor.WC{W: 8, C: decor.DindentRight}), decor.CountersKibiByte("% .1f / % .1f", decor.WC{W: 22})),
			mpb.AppendDecorators(decor.Percentage(decor.WC{W: 5}), decor.Name("  "), decor.AverageSpeed(decor.SizeB1024(0), "% .0f"),
				decor.Name("  "), decor.OnComplete(decor.AverageETA(decor.ET_STYLE_GO), "done")))
	}
	b.bar.SetCurrent(int64(min(done, b.total)))
}

// finish ends the bar of a phase: full if it went well, else removed.
func (b *Bars) finish(well bool) {
	switch {
	case b.bar == nil:
		return
	case well:
		b.bar.SetCurrent(int64(b.total))
	default:
		b.bar.Abort(true)
	}
	b.bar = nil
}

// Close draws the last state and leaves the terminal to others. Call it before printing anything.
func (b *Bars) Close(err error) {
	if b == nil || b.all == nil {
		return
	}
	b.finish(err == nil)
	b.all.Wait()
	b.all = nil
}
