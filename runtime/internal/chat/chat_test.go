package chat_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"jns/runtime/internal/chat"
	"jns/runtime/internal/jinja"
)

const chatML = `{% for message in messages %}
{{- '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}
{%- endfor %}
{% if add_generation_prompt %}
{{- '<|im_start|>assistant\n' }}
{%- endif %}`

func render(t *testing.T, source string, in chat.Input) (string, error) {
	t.Helper()
	tmpl, err := chat.New(source)
	require.NoError(t, err)
	return tmpl.Render(in)
}

func TestRenderWritesThePrompt(t *testing.T) {
	out, err := render(t, chatML, chat.Input{
		Messages:            chat.Messages(chat.Message{Role: "system", Content: "Be <brief>."}, chat.Message{Role: "user", Content: "Hi 你好"}),
		AddGenerationPrompt: true,
	})
	require.NoError(t, err)
	require.Equal(t, "<|im_start|>system\nBe <brief>.<|im_end|>\n<|im_start|>user\nHi 你好<|im_end|>\n<|im_start|>assistant\n", out)
}

func TestToolsKeepTheirKeyOrder(t *testing.T) {
	out, err := render(t, `{{ bos_token }}{{ tools|tojson }}{{ eos_token }}{{ extra|tojson }}`, chat.Input{
		Tools: json.RawMessage(`[{"z":1,"a":{"y":"<&>","b":null}}]`),
		BOS:   "<s>", EOS: "</s>",
		Extra: map[string]any{"extra": json.RawMessage(`{"q":1.0,"c":[]}`)},
	})
	require.NoError(t, err)
	require.Equal(t, `<s>[{"z": 1, "a": {"y": "<&>", "b": null}}]</s>{"q": 1.0, "c": []}`, out)
}

func TestNullContentReachesTheTemplate(t *testing.T) {
	const src = `{% for m in messages %}{{ m.content if m.content is not none else '(none)' }}{% endfor %}`
	out, err := render(t, src, chat.Input{Messages: json.RawMessage(`[{"role":"assistant","content":null}]`)})
	require.NoError(t, err)
	require.Equal(t, "(none)", out)
	_, err = render(t, chatML, chat.Input{Messages: json.RawMessage(`[{"role":"assistant","content":null}]`)})
	require.ErrorIs(t, err, chat.ErrTemplate)
	require.ErrorContains(t, err, "line 2")
	require.ErrorContains(t, err, `can only concatenate str (not "NoneType") to str`)
}

func TestRaisedTextReachesTheCaller(t *testing.T) {
	_, err := render(t, "\n{{ raise_exception('No system role, please') }}", chat.Input{})
	var e *chat.Error
	require.ErrorAs(t, err, &e)
	require.True(t, e.Raised)
	require.Equal(t, "No system role, please", e.Text)
	require.Equal(t, 2, e.Line)
	require.ErrorIs(t, err, chat.ErrTemplate)
}

func TestUnsupportedTemplateIsAnError(t *testing.T) {
	for _, src := range []string{"{% include 'x' %}", "{{ messages|nosuch }}", "{% if %}", "\n{{ 'x"} {
		_, err := chat.New(src)
		require.ErrorIs(t, err, chat.ErrTemplate)
		require.ErrorContains(t, err, "line ")
	}
}

func TestClockIsTheCallers(t *testing.T) {
	out, err := render(t, `{{ strftime_now("%d %b %Y") }}`, chat.Input{Now: time.Date(2025, 7, 4, 0, 0, 0, 0, time.UTC)})
	require.NoError(t, err)
	require.Equal(t, "04 Jul 2025", out)
}

func TestInputsThatAreNotMessagesAreRefused(t *testing.T) {
	tmpl, err := chat.New(chatML)
	require.NoError(t, err)
	for _, in := range []chat.Input{
		{Messages: json.RawMessage(`{}`)},
		{Messages: json.RawMessage(`["x"]`)},
		{Messages: json.RawMessage(`[`)},
		{Messages: json.RawMessage(strings.Repeat("[", 100_000))},
		{Tools: json.RawMessage(`[}`)},
		{Extra: map[string]any{"x": make(chan int)}},
	} {
		_, err := tmpl.Render(in)
		require.ErrorIs(t, err, chat.ErrInput)
	}
}

func FuzzRender(f *testing.F) {
	f.Add(chatML, []byte(`[{"role":"user","content":"hi"}]`), []byte(`[{"type":"function"}]`))
	f.Add("{% for m in messages %}{{ m|tojson(indent=2) }}{{ m.content|string|trim }}{% endfor %}", []byte(`[{"a":[1,2.5,null,{"b":true}]}]`), []byte(`null`))
	f.Fuzz(func(t *testing.T, source string, messages, tools []byte) {
		tmpl, err := chat.New(source)
		if err != nil {
			require.ErrorIs(t, err, chat.ErrTemplate)
			return
		}
		in := chat.Input{Messages: messages, Tools: tools, Limits: jinja.Limits{Steps: 100_000, Bytes: 4 << 20}}
		out, err := tmpl.Render(in)
		if err != nil {
			require.True(t, strings.Contains(err.Error(), chat.ErrTemplate.Error()) || strings.Contains(err.Error(), chat.ErrInput.Error()))
			require.NotContains(t, err.Error(), "internal error")
			return
		}
		again, err := tmpl.Render(in)
		require.NoError(t, err)
		require.Equal(t, out, again)
	})
}
