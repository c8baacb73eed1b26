package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"jns/runtime/engine"
)

// fakeSession is a session that only remembers.
type fakeSession struct {
	tokens []int32
	gone   bool // positions cannot be given up, as behind a window
	open   *int
}

func (f *fakeSession) Tokens() []int32 { return f.tokens }
func (f *fakeSession) Close()          { *f.open-- }
func (f *fakeSession) Fork() session {
	*f.open++
	return &fakeSession{slices.Clone(f.tokens), f.gone, f.open}
}

func (f *fakeSession) Reach(n int) int { return n }
func (f *fakeSession) Bytes() int      { return len(f.tokens) }

func (f *fakeSession) Truncate(n int) error {
	if f.gone {
		return errors.New("gone")
	}
	f.tokens = f.tokens[:n]
	return nil
}

func TestThePoolKeepsItsBoundsAndItsBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		open, limit := 0, rapid.IntRange(1, 4).Draw(t, "max")
		p := &sessions{max: limit, open: func() session { open++; return &fakeSession{open: &open, gone: rapid.Bool().Draw(t, "gone")} }}
		var used []session
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(used) < limit && rapid.Bool().Draw(t, "take") {
				prompt := rapid.SliceOfN(rapid.Int32Range(0, 1), 1, 80).Draw(t, "prompt")
				f := p.take(prompt).(*fakeSession)
				f.tokens = slices.Clone(prompt)
				used = append(used, f)
			} else if len(used) > 0 {
				p.give(used[0], rapid.Bool().Draw(t, "broken"))
				used = used[1:]
			}
			require.LessOrEqual(t, open, limit, "more sessions than allowed")
			require.Equal(t, open, len(used)+len(p.idle), "a session was lost")
		}
		for _, s := range used {
			p.give(s, false)
		}
		p.close()
		require.Zero(t, open)
	})
}

func TestAnotherConversationDoesNotCostTheFirst(t *testing.T) {
	open := 0
	p := &sessions{max: 2, open: func() session { open++; return &fakeSession{open: &open} }}
	system := slices.Repeat([]int32{1}, 50)
	first := append(slices.Clone(system), slices.Repeat([]int32{2}, 100)...)
	s := p.take(first)
	s.(*fakeSession).tokens = first
	p.give(s, false)
	other := append(slices.Clone(system), 3)
	o := p.take(other)
	require.Equal(t, system, o.Tokens(), "the common beginning is not computed again")
	p.give(o, false)
	require.Equal(t, first, p.take(first).Tokens(), "and the first conversation is still there")
}

func TestTheQueueIsFirstComeFirstServed(t *testing.T) {
	q := newQueue(1, 8, time.Minute)
	first, err := q.reserve()
	require.NoError(t, err)
	require.NoError(t, first.wait(context.Background(), 0))
	order := make(chan int, 8)
	var tickets []*ticket
	for i := range 5 {
		x, err := q.reserve()
		require.NoError(t, err)
		tickets = append(tickets, x)
		ctx, cancel := context.WithCancel(context.Background())
		if i == 2 {
			defer cancel()
			cancel() // goes away while waiting
		}
		go func() {
			defer cancel()
			if err := x.wait(ctx, 0); err == nil {
				order <- i
			}
			x.leave()
		}()
		if i != 2 {
			eventually(t, func() bool { q.mu.Lock(); defer q.mu.Unlock(); return slices.Contains(q.waiting, x) })
		} else {
			eventually(t, func() bool { q.mu.Lock(); defer q.mu.Unlock(); return q.places == 3 })
		}
	}
	first.leave()
	for _, want := range []int{0, 1, 3, 4} {
		require.Equal(t, want, <-order)
	}
	eventually(t, func() bool { q.mu.Lock(); defer q.mu.Unlock(); return q.places == 0 && q.running == 0 })
	require.Len(t, tickets, 5)
	a, err := q.reserve()
	require.NoError(t, err)
	require.NoError(t, a.wait(context.Background(), 0))
	b, err := q.reserve()
	require.NoError(t, err)
	refused := make(chan error)
	go func() { refused <- b.wait(context.Background(), 0) }()
	eventually(t, func() bool { _, n, _ := q.state(); return n == 1 })
	q.close()
	require.Error(t, <-refused)
	_, err = q.reserve()
	require.Error(t, err)
}

// FuzzRequest: any body gives a job that can be run, or an error that blames the request.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		`{"messages":[{"role":"user","content":"x"}],"stream":true,"stream_options":{"include_usage":true},"logit_bias":{"1":-100}}`,
		`{"messages":[{"role":"assistant","content":null,"tool_calls":[{"function":{"arguments":"{}"}}]},{"role":"user","content":[{"type":"text","text":"x"}]}],"tools":[{"type":"function","function":{"name":"f"}}]}`,
		`{"prompt":[[1,2]],"stop":["a","b"],"max_tokens":3,"logprobs":2,"seed":-1}`, `{"prompt":["x"],"n":1,"echo":true}`, `{"prompt":[1.5]}`, `{"stop":{}}`, `nul`, "\xff", `{"prompt":"\ud800"}`,
		`{"messages":[{"role":"user","role":"x","content":1e999}],"temperature":1e400}`,
	} {
		f.Add([]byte(s))
	}
	check := func(p engine.SampleParams) error { return p.Validate() }
	f.Fuzz(func(t *testing.T, body []byte) {
		known := &facts{model: "m", vocab: 100, hasText: true, defaults: engine.DefaultSampling(), mentions: func(string) bool { return true }, check: check}
		for _, parse := range []func([]byte, *facts) (*job, error){parseChat, parseCompletion} {
			j, err := parse(body, known)
			if err != nil {
				var a *apiError
				require.True(t, errors.As(err, &a), "%v", err)
				require.GreaterOrEqual(t, a.status, 400)
				require.Less(t, a.status, 500)
				b, err := encode(map[string]any{"error": a})
				require.NoError(t, err)
				require.True(t, json.Valid(b))
				continue
			}
			require.NoError(t, j.params.Validate())
			require.NotZero(t, j.maxTokens)
			require.NoError(t, engine.CheckStop(j.stop))
			n := 0
			for _, is := range []bool{j.conversation != nil, j.text != nil, len(j.ids) > 0} {
				if is {
					n++
				}
			}
			require.Equal(t, 1, n)
			if j.conversation != nil {
				require.True(t, json.Valid(j.conversation.Messages))
			}
			for id := range j.params.LogitBias {
				require.Less(t, id, int32(100))
			}
		}
		require.Equal(t, http.StatusBadRequest, invalid("", "").status)
	})
}

func TestMemoryThatIsNotThereIsNobodysMistake(t *testing.T) {
	e := classify(t.Context(), errors.Join(engine.ErrMemory))
	require.Equal(t, http.StatusServiceUnavailable, e.status)
	require.Positive(t, e.retry)
}

// TestRequestsThatDoNotFitTogetherTakeTurns: what running requests may need is within the memory, one that needs more than all runs alone, and sessions at rest make way.
func TestRequestsThatDoNotFitTogetherTakeTurns(t *testing.T) {
	q := newQueue(3, 8, time.Minute)
	q.memory = 100
	place := func() *ticket {
		x, err := q.reserve()
		require.NoError(t, err)
		return x
	}
	a, b, c := place(), place(), place()
	require.NoError(t, a.wait(context.Background(), 60))
	left, limited := q.left()
	require.True(t, limited)
	require.Equal(t, uint64(40), left)
	came := make(chan *ticket, 2)
	wait := func(x *ticket, needs uint64) {
		go func() {
			if x.wait(context.Background(), needs) == nil {
				came <- x
			}
		}()
		require.Eventually(t, func() bool { _, waiting, _ := q.state(); return waiting > 0 }, time.Minute, time.Millisecond)
	}
	wait(b, 50)
	select {
	case <-came:
		t.Fatal("60 and 50 are not 100")
	default:
	}
	a.leave()
	require.Same(t, b, <-came)
	wait(c, 1000)
	b.leave()
	require.Same(t, c, <-came, "alone")
	left, _ = q.left()
	require.Zero(t, left)
	c.leave()

	open := 2
	p := &sessions{max: 2, idle: []session{&fakeSession{tokens: make([]int32, 30), open: &open}, &fakeSession{tokens: make([]int32, 20), open: &open}}}
	p.trim(50)
	require.Len(t, p.idle, 2)
	p.trim(49)
	require.Len(t, p.idle, 1)
	require.Equal(t, 20, p.idle[0].Bytes())
	p.trim(0)
	require.Zero(t, open)
}
