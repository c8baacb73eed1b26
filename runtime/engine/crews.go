package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"jns/kernels"
	"jns/runtime/internal/sched"
)

// Schedules lists the policies by which processors are chosen, the default first.
func Schedules() []string { return sched.Policies() }

// Topology is the processors that this process may use, and what is known of them. The error wraps ErrOption: the file that JNS_CORES names cannot be used.
func Topology() (sched.Topology, error) {
	allowed := sched.Allowed()
	known, err := kernels.Cores(allowed)
	if err != nil {
		return sched.Topology{}, fmt.Errorf("%w: %w", ErrOption, err)
	}
	var t sched.Topology
	if runtime.GOOS == "linux" {
		cores := map[int]sched.Core{}
		for id, c := range known {
			cores[id] = sched.Core{Name: c.Name, Small: c.Small(), Width: float64(c.Vectors), Speed: c.Speed, Prefetch: c.Prefetch}
		}
		t = sched.ReadTopology("/", allowed, cores)
	} else if levels := kernels.Levels(); levels != nil {
		var l []sched.Level
		for _, x := range levels {
			l = append(l, sched.Level{Name: x.Name, Cores: x.Cores, Cache: x.L2})
		}
		t = sched.FromLevels(l)
	}
	if len(t.CPUs) == 0 {
		t = sched.Alike(sched.Available().Affinity)
	}
	return t, nil
}

// manyRows is from how many rows on a batch counts as a prompt: its products are bound by multiplications, those of fewer by memory.
const manyRows = 16

// timedRows: prompts shorter than this are not measured, since what does not grow with them would count.
const timedRows = 128

// crews is who works when: the teams of both phases, and the trials that find the fastest of several.
type crews struct {
	policy sched.Policy
	plan   sched.Plan
	limits sched.CPUs
	phases [2]phase // of prompts, of decoding
	teams  []*sched.Team

	file     string // where choices are kept, "" nowhere
	kept     keptChoices
	measured [2]int // what earlier runs had measured, by phase
}

// phase is one of the two kinds of runs.
type phase struct {
	crews []sched.Crew
	teams []*sched.Team // by crew; nil until it works
	trial *sched.Trial
	why   string
}

const (
	prompts = iota
	decoding
)

func phaseOf(rows int) int {
	if rows >= manyRows {
		return prompts
	}
	return decoding
}

// surroundings is what is read of the machine and of this process's limits.
type surroundings struct {
	topology sched.Topology
	err      error // of the topology
	limits   sched.CPUs
	memory   uint64
}

// look reads the surroundings. That is a hundred small files, which are read beside other work.
func look() <-chan surroundings {
	seen := make(chan surroundings, 1)
	go func() {
		var s surroundings
		s.topology, s.err = Topology()
		s.limits, s.memory = sched.Available(), sched.AvailableMemory()
		seen <- s
	}()
	return seen
}

// newCrews plans who works. limit is the number of workers that the user asked for, 0 for none.
func newCrews(policy string, limit int, around surroundings) (*crews, error) {
	t := around.topology
	if around.err != nil {
		return nil, around.err
	}
	c := &crews{policy: sched.Policy(policy), limits: around.limits}
	if limit > len(t.CPUs) {
		t = sched.Alike(limit) // more workers than processors: the system shares them out
	} else if limit == 0 {
		limit = c.limits.Quota
	}
	c.plan = t.Plan(c.policy, limit)
	for i, list := range [][]sched.Crew{c.plan.Prefill, c.plan.Decode} {
		c.phases[i] = phase{crews: list, teams: make([]*sched.Team, len(list)), trial: sched.NewTrial(len(list), -1), why: "there is one choice"}
		if len(list) > 1 {
			c.phases[i].why = "to begin with; not yet measured"
		}
	}
	return c, nil
}

// Workers is the size of the largest team.
func (c *crews) Workers() int { return c.plan.Workers() }

// Team gives the team of a batch. A trial wants to know how long single tokens take, and prompts of more than a few rows.
func (c *crews) Team(rows int) (*sched.Team, bool) {
	p := &c.phases[phaseOf(rows)]
	i, timed := p.trial.Choice()
	if rows > 1 && rows < timedRows {
		timed = false // neither a single token nor a prompt of some length
	}
	if p.teams[i] == nil {
		p.teams[i] = c.start(p.crews[i])
	}
	return p.teams[i], timed
}

// start brings a crew to work, or finds it at work: both phases may have the same.
func (c *crews) start(crew sched.Crew) *sched.Team {
	for _, t := range c.teams {
		if t.Of(crew) {
			return t
		}
	}
	t := sched.NewTeam(crew)
	c.teams = append(c.teams, t)
	return t
}

// Took tells the trial how long a batch took.
func (c *crews) Took(rows int, took time.Duration) {
	p := &c.phases[phaseOf(rows)]
	if !p.trial.Took(took.Seconds() / float64(rows)) {
		return
	}
	p.why = fmt.Sprintf("measured: the fastest of %d", len(p.crews))
	c.keep()
	c.dismiss()
}

// dismiss ends the teams that no phase will give work again.
func (c *crews) dismiss() {
	c.teams = slices.DeleteFunc(c.teams, func(t *sched.Team) bool {
		for i := range c.phases {
			p := &c.phases[i]
			if k, trying := p.trial.Choice(); trying && slices.Contains(p.teams, t) || p.teams[k] == t {
				return false
			}
		}
		t.Close()
		for i := range c.phases {
			for j, x := range c.phases[i].teams {
				if x == t {
					c.phases[i].teams[j] = nil
				}
			}
		}
		return true
	})
}

// decide ends the trials with the first choice: what is measured would not be the processors.
func (c *crews) decide(why string) {
	for i := range c.phases {
		if p := &c.phases[i]; len(p.crews) > 1 {
			p.trial, p.why = sched.NewTrial(len(p.crews), 0), why
		}
	}
}

// one is the team that reads prompts, for measurements of the machine.
func (c *crews) one() *sched.Pool {
	t, _ := c.Team(manyRows)
	return t.Pool
}

func (c *crews) close() {
	for i := range c.phases {
		if _, trying := c.phases[i].trial.Choice(); trying && c.phases[i].trial.Measured() > c.measured[i] {
			c.keep()
			break
		}
	}
	for _, t := range c.teams {
		t.Close()
	}
}

// keptChoices is the file in which the fastest crews of a machine and a model are kept.
type keptChoices struct {
	Version int       `json:"version"`
	Key     string    `json:"key"` // machine, model and what else the choice depends on
	Prefill keptTrial `json:"prefill"`
	Decode  keptTrial `json:"decode"`
}

// keptTrial is the choice of a phase, or how far the trial has come.
type keptTrial struct {
	Choice   string    `json:"choice,omitempty"`
	Seconds  []float64 `json:"seconds_per_token,omitempty"`
	Measured int       `json:"measured,omitempty"`
}

const keptVersion = 2

// remember takes the choices of earlier runs from dir, and keeps those of this one there. model and set say what is run.
func (c *crews) remember(dir, model, set string) {
	if len(c.phases[prompts].crews) == 1 && len(c.phases[decoding].crews) == 1 {
		return
	}
	key := fmt.Sprintf("model %s, kernels %s, policy %s", model, set, c.policy)
	for i, p := range c.phases {
		for _, crew := range p.crews {
			key += fmt.Sprintf("; %d: %s: %s", i, crew.Name, crew)
		}
	}
	sum := sha256.Sum256([]byte(key))
	c.file = filepath.Join(dir, hex.EncodeToString(sum[:16])+".json")
	c.kept = keptChoices{Version: keptVersion, Key: key}
	f, err := os.Open(c.file)
	if err != nil {
		return
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<20))
	var kept keptChoices
	if err != nil || json.Unmarshal(b, &kept) != nil || kept.Version != keptVersion || kept.Key != key {
		return // measured anew and written over
	}
	for i, was := range []keptTrial{kept.Prefill, kept.Decode} {
		p := &c.phases[i]
		p.trial.Resume(was.Seconds, was.Measured)
		c.measured[i] = p.trial.Measured()
		if k := slices.IndexFunc(p.crews, func(crew sched.Crew) bool { return crew.String() == was.Choice }); k >= 0 && len(p.crews) > 1 {
			p.trial, p.why = sched.NewTrial(len(p.crews), k), fmt.Sprintf("measured in an earlier run: the fastest of %d", len(p.crews))
		}
	}
	c.kept = kept
}

// keep writes down what has been found. A failure only means that the next run measures again.
func (c *crews) keep() {
	if c.file == "" {
		return
	}
	for i, k := range []*keptTrial{&c.kept.Prefill, &c.kept.Decode} {
		p := &c.phases[i]
		if best, trying := p.trial.Choice(); trying {
			*k = keptTrial{Seconds: p.trial.Times(), Measured: p.trial.Measured()}
		} else if len(p.crews) > 1 {
			*k = keptTrial{Choice: p.crews[best].String(), Seconds: p.trial.Times()}
		}
	}
	b, err := json.Marshal(c.kept)
	if err != nil || os.MkdirAll(filepath.Dir(c.file), 0o755) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(c.file), ".pools*")
	if err != nil {
		return
	}
	_, err = f.Write(append(b, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err2 := f.Close(); err != nil || err2 != nil || os.Rename(f.Name(), c.file) != nil {
		os.Remove(f.Name())
	}
}

// PoolsReceipt says which processors worked, and why.
type PoolsReceipt struct {
	Policy   string      `json:"policy"`
	Why      string      `json:"why"`
	Affinity int         `json:"affinity"`        // processors that the process may run on
	Quota    int         `json:"quota,omitempty"` // whole processors that its control group pays for
	Prefill  PoolReceipt `json:"prefill"`
	Decode   PoolReceipt `json:"decode"`
}

// PoolReceipt is the pool of one phase.
type PoolReceipt struct {
	Name       string `json:"name"`
	Workers    int    `json:"workers"`
	Processors string `json:"processors"` // with their shares, as corrected by the times that the workers took
	Bound      bool   `json:"bound"`      // workers keep to their kind of processor; else the system places them
	Why        string `json:"why"`
	// Tried are the seconds for a token with each choice, where they were measured in this run.
	Tried map[string]float64 `json:"tried,omitempty"`
}

func (c *crews) receipt() PoolsReceipt {
	r := PoolsReceipt{Policy: string(c.policy), Why: c.plan.Why, Affinity: c.limits.Affinity, Quota: c.limits.Quota}
	for i, out := range []*PoolReceipt{&r.Prefill, &r.Decode} {
		p := &c.phases[i]
		k, trying := p.trial.Choice()
		if trying {
			k = 0
		}
		crew := p.crews[k]
		if p.teams[k] != nil {
			crew = p.teams[k].Crew()
		}
		*out = PoolReceipt{Name: crew.Name, Workers: len(crew.Shares), Processors: crew.String(), Bound: crew.Bound, Why: p.why}
		if times := p.trial.Times(); times != nil {
			out.Tried = map[string]float64{}
			for j, t := range times {
				if t > 0 {
					out.Tried[p.crews[j].Name] = t
				}
			}
		}
	}
	return r
}
