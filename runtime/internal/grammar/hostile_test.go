package grammar

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// many joins what f gives for 0 to n-1.
func many(n int, f func(i int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = f(i)
	}
	return strings.Join(all, ",")
}

// TestLargeSchemasAreReadOnce: a search through the members for each of them took minutes for a schema of a megabyte, hours for what a server takes.
func TestLargeSchemasAreReadOnce(t *testing.T) {
	const n = 150_000
	member := func(i int) string { return fmt.Sprintf(`"%d":true`, i) }
	for _, schema := range []string{
		`{"properties":{` + many(n, member) + `}}`,
		`{"properties":{` + many(n, member) + `},"required":[` + many(n, func(i int) string { return fmt.Sprintf(`"%d"`, i) }) + `]}`,
		`{"$defs":{` + many(n, func(i int) string { return fmt.Sprintf(`"%d":{"$ref":"#/$defs/%d"}`, i, i+1) }) + `},"$ref":"#/$defs/0"}`,
		`{"anyOf":[` + many(n, func(int) string { return `{"minLength":1024}` }) + `]}`,
		`{"enum":[` + many(n, func(int) string { return `"abcd"` }) + `]}`,
	} {
		_, err := Compile(json.RawMessage(schema))
		require.ErrorIs(t, err, ErrSchema)
	}
}

// TestAnAmbiguousSchemaDoesNotHoldTheEngineUp: sixty ways to be at each character make states that cost much.
func TestAnAmbiguousSchemaDoesNotHoldTheEngineUp(t *testing.T) {
	v, _ := vocabulary()
	s, err := Compile(json.RawMessage(`{"oneOf":[` + many(60, func(i int) string { return fmt.Sprintf(`{"type":"string","maxLength":%d}`, 900+i) }) + `]}`))
	require.NoError(t, err)
	k := s.Text(v)
	require.NoError(t, k.Accept([]byte(`"`)))
	for range 900 {
		if _, err = k.Allow(); err != nil {
			break
		}
		if err = k.Accept([]byte("é")); err != nil {
			break
		}
	}
	require.ErrorIs(t, err, ErrTooLarge)
	require.ErrorIs(t, err, ErrSchema)
}

func TestReferencesArePointers(t *testing.T) {
	for _, c := range []struct{ ref, good, bad string }{
		{"#/$defs/a~1b", `"x"`, `1`},
		{"#/$defs/c%20d", `1`, `"x"`},
		{"#/$defs/e/anyOf/1", `true`, `null`},
		{"#/$defs/", `null`, `true`}, // the empty name
	} {
		s, err := Compile(json.RawMessage(`{"$defs":{"a/b":{"type":"string"},"c d":{"type":"integer"},"e":{"anyOf":[{"type":"null"},{"type":"boolean"}]},"":{"type":"null"}},"$ref":"` + c.ref + `"}`))
		require.NoError(t, err, c.ref)
		require.True(t, reads(t, s, c.good), c.ref)
		require.False(t, reads(t, s, c.bad), c.ref)
	}
	for _, ref := range []string{"#$defs", "#name", "#/$defs/e/anyOf/2", "#/$defs/e/anyOf/01", "#/$defs/e/anyOf/-1", "#/%zz", "$defs/a"} {
		_, err := Compile(json.RawMessage(`{"$defs":{"e":{"anyOf":[true,true]}},"$ref":"` + ref + `"}`))
		require.ErrorIs(t, err, ErrSchema, ref)
	}
}
