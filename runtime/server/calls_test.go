package server

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCallsAreFoundInEveryDialect, however the text comes in pieces; what is no call of an offered tool stays text.
func TestCallsAreFoundInEveryDialect(t *testing.T) {
	by := func(open string) dialect {
		for _, d := range dialects {
			if d.open == open {
				return d
			}
		}
		return plain
	}
	const one, two = `{"name": "add", "arguments": {"a": 1}}`, `{"name": "now", "arguments": {}}`
	for _, c := range []struct {
		open, answer, text string
		calls              []string
	}{
		{"<tool_call>", "<tool_call>\n" + one + "\n</tool_call>", "", []string{`add {"a": 1}`}},
		{"<tool_call>", "Let me see.\n<tool_call>\n" + one + "\n</tool_call>\n<tool_call>" + two + "</tool_call>", "Let me see.", []string{`add {"a": 1}`, `now {}`}},
		{"<tool_call>", one, "", []string{`add {"a": 1}`}}, // small models forget the markers
		{"<tool_call>", "<tool_call>\n" + one, "", []string{`add {"a": 1}`}},
		{"<tool_call>", "a < b and <tool_ but no call", "a < b and <tool_ but no call", nil},
		{"<tool_call>", "<tool_call>no JSON</tool_call> after", "<tool_call>no JSON</tool_call> after", nil},
		{"<tool_call>", `<tool_call>{"name": "rm", "arguments": {}}</tool_call>`, `<tool_call>{"name": "rm", "arguments": {}}</tool_call>`, nil},
		{"<tool_call>", `{"name": "add", "arguments": 7}`, `{"name": "add", "arguments": 7}`, nil},
		{"<tool_call>", `{"name": "Ada"}`, `{"name": "Ada"}`, nil},
		{"<tool_call>", "  plain text", "  plain text", nil},
		{"[TOOL_CALLS]", "[TOOL_CALLS][" + one + ", " + two + "]", "", []string{`add {"a": 1}`, `now {}`}},
		{"[TOOL_CALLS]", `[TOOL_CALLS]add[ARGS]{"a": 1}now[ARGS]{}`, "", []string{`add {"a": 1}`, `now {}`}},
		{"[TOOL_CALLS]", "[TOOL_BOX] is text", "[TOOL_BOX] is text", nil},
		{"<|tool_call|>", "<|tool_call|>[" + one + "]", "", []string{`add {"a": 1}`}},
		{"<|python_tag|>", `<|python_tag|>{"name": "add", "parameters": {"a": 1}}; {"name": "now", "parameters": {}}`, "", []string{`add {"a": 1}`, `now {}`}},
		{"<|python_tag|>", `{"type": "function", "name": "add", "parameters": {"a": 1}}`, "", []string{`add {"a": 1}`}},
		{"", `{"name": "add", "arguments": "{\"a\": 1}"}`, "", []string{`add {"a": 1}`}},
		{"", "text", "text", nil},
		{"", " [" + one + ", " + two + "]", "", []string{`add {"a": 1}`, `now {}`}},
		{"", "[1] is a footnote", "[1] is a footnote", nil},
	} {
		for size := 1; size <= len(c.answer); size++ {
			r := &callReader{d: by(c.open), names: []string{"add", "now"}}
			var text strings.Builder
			var calls []string
			take := func(s string, found []toolCall) {
				text.WriteString(s)
				for _, f := range found {
					calls = append(calls, f.Function.Name+" "+f.Function.Arguments)
				}
			}
			for rest := c.answer; rest != ""; rest = rest[min(size, len(rest)):] {
				take(r.write(rest[:min(size, len(rest))]))
			}
			take(r.end())
			require.Equal(t, c.text, text.String(), "%s in pieces of %d", c.answer, size)
			require.Equal(t, c.calls, calls, "%s in pieces of %d", c.answer, size)
			require.Equal(t, len(c.calls), r.found)
		}
	}
}

// TestALongCallIsReadOnce: what a piece costs does not grow with what came before it.
func TestALongCallIsReadOnce(t *testing.T) {
	for open, end := range map[string]string{"<tool_call>": "</tool_call>", "": ""} { // small models forget the markers
		r := &callReader{d: dialects[1], names: []string{"f"}}
		r.write(open + `{"name": "f", "arguments": {"a": "`)
		const n = 1 << 16
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range n {
			if text, calls := r.write("abcd"); text != "" || calls != nil {
				t.Fatal(text, calls)
			}
		}
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64*4*n))
		_, calls := r.write(`"}}` + end)
		_, rest := r.end()
		require.Len(t, append(calls, rest...), 1)
	}
}

// TestADemandedCallIsMade, with arguments of its schema, streamed or not.
func TestADemandedCallIsMade(t *testing.T) {
	s := start(t, toolTemplate, Options{})
	type answer struct {
		Choices []struct {
			Message, Delta struct {
				Content *string
				Calls   []toolCall `json:"tool_calls"`
			}
			Finish string `json:"finish_reason"`
		}
	}
	const tools = `[{"type":"function","function":{"name":"add","strict":true,"parameters":{"type":"object","properties":{"a":{"type":"integer"},"b":{"enum":[1,2]}},"required":["a","b"],"additionalProperties":false}}},` +
		`{"type":"function","function":{"name":"now"}}]`
	for seed := range 6 {
		body := fmt.Sprintf(`{"messages":[{"role":"user","content":"x"}],"max_tokens":300,"temperature":1,"seed":%d,"tools":%s,"tool_choice":{"type":"function","function":{"name":"add"}}`, seed, tools)
		resp, text := s.do("POST", "/v1/chat/completions", body+"}")
		require.Equal(t, 200, resp.StatusCode, text)
		var a answer
		require.NoError(t, json.Unmarshal([]byte(text), &a))
		m := a.Choices[0].Message
		require.Equal(t, "tool_calls", a.Choices[0].Finish, text)
		require.Nil(t, m.Content)
		require.Contains(t, text, `"content":null`)
		require.Len(t, m.Calls, 1)
		require.Equal(t, "add", m.Calls[0].Function.Name)
		require.Regexp(t, "^call_", m.Calls[0].ID)
		var arguments struct{ A, B *int }
		require.NoError(t, json.Unmarshal([]byte(m.Calls[0].Function.Arguments), &arguments))
		require.NotNil(t, arguments.A)
		require.Contains(t, []int{1, 2}, *arguments.B)

		_, text = s.do("POST", "/v1/chat/completions", body+`,"stream":true}`)
		var streamed []toolCall
		finish := ""
		for line := range strings.SplitSeq(text, "\n\n") {
			data := strings.TrimPrefix(line, "data: ")
			if data == "" || data == "[DONE]" {
				continue
			}
			var e answer
			require.NoError(t, json.Unmarshal([]byte(data), &e), data)
			if c := e.Choices[0].Delta.Content; c != nil {
				require.Empty(t, *c)
			}
			streamed = append(streamed, e.Choices[0].Delta.Calls...)
			finish += e.Choices[0].Finish
		}
		require.Equal(t, "tool_calls", finish)
		require.Len(t, streamed, 1)
		require.Equal(t, 0, *streamed[0].Index)
		require.Equal(t, m.Calls[0].Function, streamed[0].Function)
	}
	for _, bad := range []string{
		`"tools":` + tools,                          // strict, and nothing is demanded
		`"tools":` + tools + `,"tool_choice":"all"`, // no such word
		`"tools":` + tools + `,"tool_choice":{"type":"function","function":{"name":"rm"}}`,
		`"tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":{"pattern":"x"}}}],"tool_choice":"required"`,
	} {
		s.refuse("/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],`+bad+"}", 400)
	}
}
