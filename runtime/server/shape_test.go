package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// TestAnswersAreOfTheirShape asks a model that knows no JSON for some; another implementation checks every answer.
func TestAnswersAreOfTheirShape(t *testing.T) {
	s := start(t, "", Options{})
	for _, schema := range []string{
		`{"type":"object","properties":{"animal":{"enum":["fox","lamb","crow"]},"legs":{"type":"integer"},"tags":{"type":"array","items":{"type":"string","maxLength":6},"maxItems":2}},"required":["animal","legs","tags"],"additionalProperties":false}`,
		`{"$defs":{"tree":{"type":"object","properties":{"leaf":{"type":"boolean"},"next":{"anyOf":[{"$ref":"#/$defs/tree"},{"type":"null"}]}},"required":["leaf"]}},"$ref":"#/$defs/tree"}`,
		`{"type":"array","items":{"type":["number","null"]},"minItems":1,"maxItems":3}`,
	} {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
		require.NoError(t, err)
		c := jsonschema.NewCompiler()
		require.NoError(t, c.AddResource("s.json", doc))
		check, err := c.Compile("s.json")
		require.NoError(t, err)
		whole := 0
		for seed := range 8 {
			body := fmt.Sprintf(`{"messages":[{"role":"user","content":"Tell me about a fox."}],"max_tokens":200,"temperature":1.5,"seed":%d,"ignore_eos":true,"response_format":{"type":"json_schema","json_schema":{"name":"x","strict":true,"schema":%s}}`,
				seed, schema)
			r := s.ask("/v1/chat/completions", body+"}")
			text := *r.Choices[0].Message.Content
			events, done := s.stream("/v1/chat/completions", body+`,"stream":true}`)
			require.True(t, done)
			var streamed strings.Builder
			for _, e := range events {
				if c := e.Choices[0].Delta.Content; c != nil {
					streamed.WriteString(*c)
				}
			}
			require.Equal(t, text, streamed.String())
			if r.Choices[0].Finish != "stop" { // numbers and trees may be long
				continue
			}
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			require.NoError(t, err, text)
			require.NoError(t, check.Validate(v), text)
			whole++
		}
		require.Positive(t, whole, schema)
	}
	r := s.ask("/v1/completions", `{"prompt":"Once","max_tokens":100,"temperature":2,"seed":3,"response_format":{"type":"json_object"}}`)
	require.True(t, strings.HasPrefix(r.Choices[0].Text, "{"), r.Choices[0].Text)
}

// TestAShapeThatProvesTooLargeOnTheWayIsTheRequestsFault, which OpenAI's clients do not send again, as they do after a 500.
func TestAShapeThatProvesTooLargeOnTheWayIsTheRequestsFault(t *testing.T) {
	s := start(t, "", Options{})
	schema := `{"oneOf":[` + strings.Repeat(`{"type":"string","minLength":100,"maxLength":900},`, 60) + `{"type":"string","minLength":900}]}`
	body := fmt.Sprintf(`{"messages":[{"role":"user","content":"x"}],"max_tokens":2000,"temperature":0,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":%s}}}`, schema)
	a := s.refuse("/v1/chat/completions", body, 400)
	require.Equal(t, "unsupported", *a.Error.Code)
	require.Equal(t, "response_format", *a.Error.Param)
	s.ask("/v1/completions", `{"prompt":"x","max_tokens":1}`)
}
