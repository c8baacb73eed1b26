//go:build openai

package server

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	openaishared "github.com/openai/openai-go/v3/shared"
	"github.com/stretchr/testify/require"
)

// OpenAI's own client takes minutes to compile, so its test has a tag: go test -tags openai ./runtime/server. The other tests say the same by plain HTTP.

func TestOpenAIsClientIsContent(t *testing.T) {
	s := start(t, "", Options{})
	c := openai.NewClient(option.WithBaseURL(s.url+"/v1/"), option.WithAPIKey("none"), option.WithMaxRetries(0))
	ctx := context.Background()
	list, err := c.Models.List(ctx)
	require.NoError(t, err)
	require.Len(t, list.Data, 1)
	p := openai.ChatCompletionNewParams{Model: "tiny", Seed: openai.Int(7), MaxCompletionTokens: openai.Int(24), Temperature: openai.Float(0.8),
		Messages:      []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("Be brief."), openai.UserMessage("Tell me a story about a fox.")},
		StreamOptions: openai.ChatCompletionStreamOptionsParam{}}
	whole, err := c.Chat.Completions.New(ctx, p)
	require.NoError(t, err)
	require.NotEmpty(t, whole.Choices[0].Message.Content)
	require.EqualValues(t, whole.Usage.TotalTokens, whole.Usage.PromptTokens+whole.Usage.CompletionTokens)

	p.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := c.Chat.Completions.NewStreaming(ctx, p)
	var acc openai.ChatCompletionAccumulator
	for stream.Next() {
		require.True(t, acc.AddChunk(stream.Current()))
	}
	require.NoError(t, stream.Err())
	require.Equal(t, whole.Choices[0].Message.Content, acc.Choices[0].Message.Content, "the same seed gives the same text, streamed or not")
	require.Equal(t, whole.Choices[0].FinishReason, acc.Choices[0].FinishReason)
	require.Equal(t, whole.Usage.CompletionTokens, acc.Usage.CompletionTokens)

	p.N = openai.Int(2)
	p.StreamOptions = openai.ChatCompletionStreamOptionsParam{}
	_, err = c.Chat.Completions.New(ctx, p)
	var e *openai.Error
	require.True(t, errors.As(err, &e))
	require.Equal(t, 400, e.StatusCode)
	require.Equal(t, "n", e.Param)
}

// TestOpenAIsClientReadsCallsAndShapes: tool calls, whole and streamed, and answers held to a schema.
func TestOpenAIsClientReadsCallsAndShapes(t *testing.T) {
	s := start(t, toolTemplate, Options{})
	c := openai.NewClient(option.WithBaseURL(s.url+"/v1/"), option.WithAPIKey("none"), option.WithMaxRetries(0))
	ctx := context.Background()
	p := openai.ChatCompletionNewParams{Model: "tiny", Seed: openai.Int(7), MaxCompletionTokens: openai.Int(300), Temperature: openai.Float(1),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Add.")},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openaishared.FunctionDefinitionParam{Name: "add",
			Parameters: openaishared.FunctionParameters{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "integer"}}, "required": []string{"a"}}})},
		ToolChoice: openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: openai.String("required")}}
	whole, err := c.Chat.Completions.New(ctx, p)
	require.NoError(t, err)
	require.Equal(t, "tool_calls", whole.Choices[0].FinishReason)
	calls := whole.Choices[0].Message.ToolCalls
	require.Len(t, calls, 1)
	require.Equal(t, "add", calls[0].Function.Name)
	var arguments struct{ A *int }
	require.NoError(t, json.Unmarshal([]byte(calls[0].Function.Arguments), &arguments))
	require.NotNil(t, arguments.A)

	stream := c.Chat.Completions.NewStreaming(ctx, p)
	var acc openai.ChatCompletionAccumulator
	told := 0
	for stream.Next() {
		require.True(t, acc.AddChunk(stream.Current()))
		if _, ok := acc.JustFinishedToolCall(); ok {
			told++
		}
	}
	require.NoError(t, stream.Err())
	require.Equal(t, 1, told)
	require.Equal(t, calls[0].Function.Arguments, acc.Choices[0].Message.ToolCalls[0].Function.Arguments)

	p.Tools, p.ToolChoice = nil, openai.ChatCompletionToolChoiceOptionUnionParam{}
	p.ResponseFormat = openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &openaishared.ResponseFormatJSONSchemaParam{JSONSchema: openaishared.ResponseFormatJSONSchemaJSONSchemaParam{
		Name: "animal", Strict: openai.Bool(true), Schema: map[string]any{"enum": []string{"fox", "lamb"}}}}}
	shaped, err := c.Chat.Completions.New(ctx, p)
	require.NoError(t, err)
	require.Contains(t, []string{`"fox"`, `"lamb"`}, shaped.Choices[0].Message.Content)
}
