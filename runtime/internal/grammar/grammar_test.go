package grammar

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// schemas and texts that are, or are not, of their shape. Everything in good must also satisfy the schema by an independent validator.
var schemas = []struct {
	schema    string
	good, bad []string
}{
	{`{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name","age"],"additionalProperties":false}`,
		[]string{`{"name":"Ada","age":36}`, `{"name": "Ada", "age": -1}`, "{\n  \"name\": \"\\u00e9é😀\",\n  \"age\": 0\n}"},
		[]string{`{"name":"Ada"}`, `{"age":36,"name":"Ada"}`, `{"name":"Ada","age":1.5}`, `{"name":"Ada","age":036}`, `{"name":"A` + "\n" + `","age":1}`, `{}`, `[]`, `{"name":"Ada","age":36,"x":1}`,
			`{"name":"Ada","age":36}}`, "{\"name\":\"\xff\",\"age\":1}", "{\"name\":\"\xed\xa0\x80\",\"age\":1}", `{"name":"\ud800","age":1}`, `{"name":"Ada",,"age":36}`}},
	{`{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"null"},"c":{"type":["number","string"]}}}`,
		[]string{`{}`, `{"a":true}`, `{"b":null}`, `{"c":1.5e-7}`, `{"a":false,"c":"x"}`, `{"b":null,"c":-0.25}`, `{"a":true,"b":null,"c":12}`},
		[]string{`{,"a":true}`, `{"a":true,}`, `{"c":1,"a":true}`, `{"a":1}`, `{"c":.5}`, `{"c":1.}`, `{"a":true "b":null}`}},
	{`{"type":"array","items":{"enum":["red","green",3,null,{"k":[1]}]},"minItems":1,"maxItems":3}`,
		[]string{`["red"]`, `["red", 3, null]`, `[{"k":[1]}]`}, []string{`[]`, `["blue"]`, `["red",3,3,3]`, `["red",]`, `[4]`}},
	{`{"$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["v","next"]}},"$ref":"#/$defs/node"}`,
		[]string{`{"v":1,"next":null}`, `{"v":1,"next":{"v":2,"next":{"v":3,"next":null}}}`}, []string{`{"v":1}`, `{"v":1,"next":{"v":2}}`, `{"v":1,"next":[]}`}},
	{`{"type":"string","minLength":2,"maxLength":3}`, []string{`"ab"`, `"éé😀"`, `"\n\t"`}, []string{`"a"`, `"abcd"`, `ab`}},
	{`{"type":"object","additionalProperties":{"type":"array","items":{"type":"number"}}}`, []string{`{}`, `{"x":[1,2],"y":[]}`}, []string{`{"x":1}`, `{1:[]}`}},
	{`{"const":{"type":"call","n":[1,2.5,"<&>"]}}`, []string{`{"type":"call","n":[1,2.5,"<&>"]}`}, []string{`{"type":"call"}`, `{}`}},
	{`{"type":"object"}`, []string{`{}`, `{"a":{"b":[true,{"c":"d"}]}}`}, []string{`[]`, `"a"`, `{"a"}`}},
	{`true`, []string{`1`, `"x"`, `[[],{}]`}, []string{``, `x`}},
	{`{"type":"array","maxItems":0}`, []string{`[]`, `[ ]`}, []string{`[1]`}},
}

// reads says whether a text is of the shape, byte by byte.
func reads(t *testing.T, s *Schema, text string) bool {
	t.Helper()
	m := newMachine(s.code, s.start)
	at := int32(0)
	for i := range len(text) {
		if at = m.step(at, text[i]); at == dead {
			require.NoError(t, m.err)
			return false
		}
	}
	return m.states[at].ends
}

func validator(t *testing.T, schema string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("s.json", doc))
	v, err := c.Compile("s.json")
	require.NoError(t, err)
	return v
}

func valid(t *testing.T, v *jsonschema.Schema, text string) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return v.Validate(doc)
}

func TestTextsOfASchemaAreRead(t *testing.T) {
	for _, c := range schemas {
		s, err := Compile(json.RawMessage(c.schema))
		require.NoError(t, err, c.schema)
		v := validator(t, c.schema)
		for _, text := range c.good {
			require.True(t, reads(t, s, text), "%s\n%s", c.schema, text)
			require.NoError(t, valid(t, v, text), "%s\n%s", c.schema, text)
		}
		for _, text := range c.bad {
			require.False(t, reads(t, s, text), "%s\n%s", c.schema, text)
		}
	}
}

// vocabulary is all bytes and some longer tokens, of which several cross what a grammar tells apart.
func vocabulary() (*Vocab, [][]byte) {
	pieces := [][]byte{nil, nil} // the end of a text, and a control token
	for c := range 256 {
		pieces = append(pieces, []byte{byte(c)})
	}
	for _, s := range []string{`{"`, `":`, `": `, `",`, `", "`, `"}`, `"]`, `{}`, `[]`, `null`, `true`, `fal`, `se`, "\n  ", `name`, `"name"`, `age`, `é`, "\xf0\x9f", `12`, `1.`, ` "`, `},{`, `"a":true`, `{"name":"`} {
		pieces = append(pieces, []byte(s))
	}
	return NewVocab(pieces, []int32{0}), pieces
}

// Whatever is chosen among what is allowed, the text is valid JSON of the schema: this is the promise.
func TestWhateverIsAllowedIsOfTheSchema(t *testing.T) {
	v, pieces := vocabulary()
	for i, c := range schemas {
		s, err := Compile(json.RawMessage(c.schema))
		require.NoError(t, err)
		check := validator(t, c.schema)
		r := rand.New(rand.NewPCG(7, uint64(i)))
		ended := 0
		for range 60 {
			k := s.Text(v)
			var text []byte
			for len(text) < 400 {
				mask, err := k.Allow()
				require.NoError(t, err, "%s\n%s", c.schema, text)
				var may []int
				for id := range pieces {
					if mask[id>>6]>>(id&63)&1 != 0 {
						may = append(may, id)
					}
				}
				require.NotContains(t, may, 1, "a control token")
				id := may[r.IntN(len(may))]
				if mask[0]&1 != 0 && r.IntN(2) == 0 {
					id = 0
				}
				if id == 0 {
					require.NoError(t, valid(t, check, string(text)), "%s\n%s", c.schema, text)
					require.True(t, utf8.Valid(text))
					ended++
					break
				}
				require.NoError(t, k.Accept(pieces[id]))
				text = append(text, pieces[id]...)
			}
		}
		require.Positive(t, ended, c.schema)
	}
}

// The mask is what trying every token gives.
func TestTheMaskIsWhatEachTokenGives(t *testing.T) {
	v, pieces := vocabulary()
	for _, c := range schemas {
		s, err := Compile(json.RawMessage(c.schema))
		require.NoError(t, err)
		for _, text := range c.good {
			for n := range len(text) + 1 {
				k := s.Text(v)
				require.NoError(t, k.Accept([]byte(text[:n])))
				mask, err := k.Allow()
				require.NoError(t, err)
				for id, p := range pieces {
					want := id == 0 && n == len(text) && reads(t, s, text) || len(p) > 0 && s.Text(v).Accept([]byte(text[:n]+string(p))) == nil
					if id == 0 {
						want = reads(t, s, text[:n])
					}
					require.Equal(t, want, mask[id>>6]>>(id&63)&1 != 0, "%s after %q: %q", c.schema, text[:n], p)
				}
			}
		}
	}
}

func TestWhatCannotBePromisedIsRefused(t *testing.T) {
	for _, schema := range []string{
		``, `x`, `1`, `false`, `[]`, `{"type":"thing"}`, `{"type":7}`, `{"pattern":"a"}`, `{"type":"integer","minimum":3}`, `{"not":{}}`, `{"type":"object","patternProperties":{}}`,
		`{"$ref":"https://example.org/x"}`, `{"$ref":"#/nothing"}`, `{"anyOf":[]}`, `{"allOf":[{},{}]}`, `{"anyOf":[{}],"type":"string"}`, `{"enum":[]}`, `{"enum":["a"],"type":"integer"}`,
		`{"type":"array","minItems":3,"maxItems":1}`, `{"type":"array","minItems":-1}`, `{"type":"string","maxLength":100000}`, `{"type":"object","required":["a"]}`,
		`{"type":"object","properties":{"a":{}},"additionalProperties":{"type":"string"}}`, `{"properties":{"a":{}},"minLength":1}`, `{"a":1,"a":2}`, `{"type":"object","properties":[]}`,
		`{} {}`, strings.Repeat(`{"items":`, 100) + `{}` + strings.Repeat(`}`, 100), `{"prefixItems":[{}]}`,
	} {
		_, err := Compile(json.RawMessage(schema))
		require.ErrorIs(t, err, ErrSchema, schema)
	}
	huge := `{"type":"array","minItems":1024,"items":` + `{"type":"string","minLength":1024}}`
	_, err := Compile(json.RawMessage(huge))
	require.NoError(t, err, "elements are written once")
}

// A schema that names itself without taking anything has no text, and takes no time.
func TestASchemaOfItselfEnds(t *testing.T) {
	_, err := Compile(json.RawMessage(`{"$ref":"#"}`))
	require.ErrorIs(t, err, ErrSchema)
	_, err = Compile(json.RawMessage(`{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`))
	require.ErrorIs(t, err, ErrSchema)
}

func TestDeepTextsEnd(t *testing.T) {
	v, _ := vocabulary()
	k := Object().Text(v)
	for i := range 1000 {
		if err := k.Accept([]byte(`{"a":`)); err != nil {
			require.Greater(t, i, 20)
			require.ErrorIs(t, err, ErrRefused)
			return
		}
	}
	t.Fatal("no bound")
}

func FuzzCompile(f *testing.F) {
	for _, c := range schemas {
		f.Add([]byte(c.schema))
	}
	v, pieces := vocabulary()
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Compile(b)
		if err != nil {
			return
		}
		k := s.Text(v)
		for range 20 {
			mask, err := k.Allow()
			if err != nil {
				return
			}
			for id := range pieces {
				if id > 0 && mask[id>>6]>>(id&63)&1 != 0 {
					if err := k.Accept(pieces[id]); err != nil {
						t.Fatal(err)
					}
					break
				}
			}
		}
	})
}

func BenchmarkMask(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	pieces := [][]byte{nil}
	for range 150000 {
		pieces = append(pieces, []byte(fmt.Sprintf("%x", r.Uint64())[:1+r.IntN(10)]))
	}
	v := NewVocab(pieces, []int32{0})
	for b.Loop() {
		k := Object().Text(v)
		if err := k.Accept([]byte(`{"a":"`)); err != nil {
			b.Fatal(err)
		}
		if _, err := k.Allow(); err != nil {
			b.Fatal(err)
		}
	}
}
