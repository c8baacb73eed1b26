package exec

import (
	"errors"
	"fmt"
	"math"
	"time"

	"jns/format"
	"jns/runtime/internal/kv"
	"jns/runtime/internal/sched"
)

// Errors of a run.
var (
	ErrToken    = errors.New("token id out of range")
	ErrPosition = errors.New("position beyond the model's table of positions")
	ErrLogits   = errors.New("logits are not finite")
	ErrStopped  = errors.New("stopped")
	ErrParts    = errors.New("the model sees a text as a whole, which must fit in one batch")
)

// Row is one token of a batch.
type Row struct {
	Token  int32
	Cache  *kv.Cache
	Pos    int  // its position; Cache.Extend has made room for it
	Logits bool // its logits are wanted
}

// Batch is a list of rows. Rows of one session stand in order of position.
type Batch []Row

// Run computes a batch of at most Rows() rows. Logits then gives the wanted rows' results, until the next Run.
func (m *Model) Run(b Batch) error {
	if len(b) == 0 || len(b) > m.rows {
		return fmt.Errorf("exec: batch of %d rows, capacity %d", len(b), m.rows)
	}
	m.chosen = m.chosen[:0]
	for i := range b {
		r := &b[i]
		if r.Token < 0 || uint32(r.Token) >= m.prog.Vocab {
			return fmt.Errorf("%w: %d, the vocabulary has %d", ErrToken, r.Token, m.prog.Vocab)
		}
		if r.Pos < 0 || r.Pos >= r.Cache.Len() {
			return fmt.Errorf("exec: row %d has position %d, its session %d positions", i, r.Pos, r.Cache.Len())
		}
		if r.Pos >= m.positions {
			return fmt.Errorf("%w: position %d, the table has %d; make the prompt and the answer shorter", ErrPosition, r.Pos, m.positions)
		}
		if r.Logits {
			m.chosen = append(m.chosen, i)
		}
	}
	if m.Whole() {
		for i := 0; i < len(b); {
			first := i
			for i++; i < len(b) && b[i].Cache == b[first].Cache; i++ {
			}
			if b[first].Pos != 0 || i-first != b[first].Cache.Len() {
				return fmt.Errorf("%w: %d of %d tokens (raise it with --batch)", ErrParts, i-first, b[first].Cache.Len())
			}
		}
	}
	m.batch, m.n, m.inLoop = b, len(b), false
	if m.stream != nil {
		if err := m.stream.Pass(len(b)); err != nil {
			return err
		}
	}
	var watched bool
	m.pool, watched = m.teams.Team(len(b))
	m.timed = m.pool.Measured()
	m.stopped = false
	start := time.Now()
	err := error(nil)
	if m.stream != nil {
		err = m.pool.Run(m.entry) // waits are for the disk
	} else {
		err = m.pool.Do(len(b), m.entry)
	}
	if err == nil && m.stopped {
		err = ErrStopped
	}
	if watched && err == nil {
		m.teams.Took(len(b), time.Since(start))
	}
	if m.timed && err == nil {
		m.learn()
	}
	if err != nil { // counters are left as they were
		for i := range m.next {
			m.next[i].Reset()
		}
		m.chains.reset()
		m.deal.Reset()
	}
	return err
}

// learn tells the team how fast its workers were.
func (m *Model) learn() {
	n := m.pool.Workers()
	for i := range n {
		m.did[i], m.busy[i] = m.work[i].did, m.work[i].busy.Seconds()
	}
	m.pool.Learn(m.did[:n], m.busy[:n])
}

// Until makes a Run end with ErrStopped between two steps once done is closed; nil: never. What the batch has stored by then is of no use. Reads that are under way go on; the
// stream waits for them where it wants their memory again.
func (m *Model) Until(done <-chan struct{}) { m.until = done }

// Whole says that rows see later positions: all tokens of a session must be in one batch.
func (m *Model) Whole() bool {
	for i := range m.prog.Ops {
		if p, ok := m.prog.Ops[i].Params.(*format.AttentionParams); ok && p.All {
			return true
		}
	}
	return false
}

// region is what every worker does for one batch: the program from top to bottom. Steps that would give a single row to a single worker are left to the one who comes last to the
// meeting before them.
func (m *Model) region(id int) {
	w := &m.work[id]
	w.turn, w.did, w.busy, w.before = 0, 0, 0, 0
	w.asked = noStep
	w.ahead = uintptr(m.pool.Prefetch(id))
	if w.times != nil {
		w.since = time.Now()
	}
	var idle func(int) bool
	if m.dealt() {
		idle = m.waiting
	}
	for i := 0; i < len(m.steps); {
		s := &m.steps[i]
		if s.selected && len(m.chosen) == 0 {
			return
		}
		s.run(w, &m.next[i])
		w.lap(i, false)
		w.done, w.upto = i, m.alone(i+1)
		if !m.pool.Meet(id, m.between, idle) {
			return
		}
		w.lap(i, true)
		if m.stopped {
			return
		}
		i = w.upto
		if back := m.steps[i-1].back; back != 0 && m.more[w.turn&1] {
			i -= back
		}
	}
}

// alone gives the end of the run of steps from step i on that one worker does.
func (m *Model) alone(i int) int {
	for i < len(m.steps) && m.steps[i-1].back == 0 && m.steps[i].row != nil && m.count(m.steps[i].selected) == 1 {
		i++
	}
	return i
}

// meeting is what the worker who ends a step as the last one does before the others go on.
func (m *Model) meeting(id int) {
	w := &m.work[id]
	m.next[w.done].Reset()
	if m.stream != nil {
		m.stream.Keep()
	}
	if m.until != nil {
		select {
		case <-m.until:
			m.stopped = true // all see it behind the meeting
			return
		default:
		}
	}
	w.lap(w.done, true)
	for i := w.done + 1; i < w.upto; i++ {
		m.steps[i].row(w, 0)
		w.lap(i, false)
	}
}

// count is the number of rows that a step runs over.
func (m *Model) count(selected bool) int {
	if selected {
		return len(m.chosen)
	}
	return m.n
}

// Logits gives the logits of the i-th wanted row, or an error if one of them is not finite.
func (m *Model) Logits(i int) ([]float32, error) {
	l := m.bufs[m.prog.Logits].f32(i)
	if at, ok := m.vec.ArgMax(l); !ok {
		for j, v := range l {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				at = j
				break
			}
		}
		return nil, fmt.Errorf("%w: logit %d is %v; the model's weights or its input hold values that no arithmetic can use; whether the file is damaged says: jnsc verify", ErrLogits, at, l[at])
	}
	return l, nil
}

// bindOps turns the program into steps.
func (m *Model) bindOps() error {
	m.bindRopes()
	m.named(0, "rope tables")
	selected := false
	for i := range m.prog.Ops {
		var err error
		first := len(m.steps)
		switch p := m.prog.Ops[i].Params.(type) {
		case *format.RowsParams:
			err = m.bindRows(p)
		case *format.NormParams:
			err = m.bindNorm(p, selected)
		case *format.QuantizeParams:
			err = m.bindQuantize(p, selected)
		case *format.MatMulParams:
			err = m.bindProduct(p, selected)
		case *format.RopeParams:
			err = m.bindRope(p)
		case *format.KVAppendParams:
			err = m.bindAppend(p)
		case *format.AttentionParams:
			next := false
			if i+1 < len(m.prog.Ops) {
				_, next = m.prog.Ops[i+1].Params.(*format.SelectParams)
			}
			err = m.bindAttention(p, next)
		case *format.ActivationParams:
			err = m.bindActivation(p, selected)
		case *format.ElementParams:
			err = m.bindElement(p, selected)
		case *format.SelectParams:
			err = m.bindSelect(p)
			selected = true
		case *format.RouteParams:
			err = m.bindRoute(p, selected)
		case *format.ExpertsParams:
			err = m.bindExperts(p, selected)
		case *format.SoftCapParams:
			err = m.bindSoftCap(p, selected)
		case *format.SliceParams:
			err = m.bindSlice(p, selected)
		case *format.TemperParams:
			err = m.bindTemper(p)
		case *format.MixParams:
			err = m.bindMix(p, selected)
		case *format.ConvParams:
			err = m.bindConv(p)
		case *format.ScanParams:
			err = m.bindScan(p)
		case *format.DeltaParams:
			err = m.bindDelta(p)
		case *format.HeadMatMulParams:
			err = m.bindHeadMatMul(p, selected)
		case *format.JoinParams:
			err = m.bindJoin(p, selected)
		case *format.PositionParams:
			err = m.bindPosition(p)
		case *format.XIELUParams:
			err = m.bindXIELU(p, selected)
		case *format.AffineParams:
			err = m.bindAffine(p, selected)
		case *format.WKVParams:
			err = m.bindWKV(p)
		case *format.RetainParams:
			err = m.bindRetain(p)
		default:
			err = fmt.Errorf("%w: operation kind %d", format.ErrUnsupported, m.prog.Ops[i].Kind)
		}
		if err != nil {
			return fmt.Errorf("operation %d: %w", i, err)
		}
		m.named(first, m.opName(m.prog.Ops[i].Params))
	}
	return nil
}

func (m *Model) step(selected bool, run func(w *worker, next *sched.Counter)) {
	m.steps = append(m.steps, step{run: run, selected: selected})
}

// eachRow is the step that does one thing per row.
func (m *Model) eachRow(selected bool, f func(w *worker, row int)) {
	m.step(selected, func(w *worker, next *sched.Counter) {
		n := m.count(selected)
		m.each(w, next, n, n, func(r int) { f(w, r) })
	})
	m.steps[len(m.steps)-1].row = f
}

// spanAlone is the number of elements up to which a single row is not worth parting: a barrier takes as long as some thousand elements.
const spanAlone = 2048

// eachSpan is the step that does one thing per row and range of elements, for element-wise work: the row is cut in spans (multiples of 64 elements) when there are
// fewer rows than workers.
func (m *Model) eachSpan(selected bool, length int, f func(w *worker, row, from, to int)) {
	m.step(selected, func(w *worker, next *sched.Counter) {
		n, workers := m.count(selected), m.pool.AtWork()
		spans := 1
		if n < workers {
			spans = (workers + n - 1) / n
		}
		size := ((length+spans-1)/spans + 63) &^ 63
		spans = (length + size - 1) / size
		m.each(w, next, n, n*spans, func(i int) {
			from := i % spans * size
			f(w, i/spans, from, min(from+size, length))
		})
	})
	if length <= spanAlone {
		m.steps[len(m.steps)-1].row = func(w *worker, row int) { f(w, row, 0, length) }
	}
}
