package jinja

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTemplatesRenderAsInPython replays testdata/python.json, made by testdata/python.py.
func TestTemplatesRenderAsInPython(t *testing.T) {
	var file struct {
		Vars  json.RawMessage
		Now   string
		Cases []struct {
			Template string
			Out      *string
			Error    string
		}
	}
	b, err := os.ReadFile("testdata/python.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &file))
	now, err := time.Parse("2006-01-02T15:04:05.999999", file.Now)
	require.NoError(t, err)
	vars, err := FromJSON(file.Vars)
	require.NoError(t, err)
	m := map[string]Value{}
	for i, k := range vars.(*Dict).keys {
		m[k.(string)] = vars.(*Dict).vals[i]
	}
	for _, c := range file.Cases {
		t.Run(c.Template, func(t *testing.T) {
			tmpl, err := Parse(c.Template)
			out := ""
			if err == nil {
				out, err = tmpl.Render(m, Options{Now: now})
			}
			if c.Out != nil {
				require.NoError(t, err)
				require.Equal(t, *c.Out, out)
				return
			}
			require.Error(t, err, "gave %q, Python: %s", out, c.Error)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.NotContains(t, e.Msg, "internal error")
			if os.Getenv("JNS_SHOW") != "" && !strings.Contains(e.Msg, c.Error) {
				t.Logf("Python: %s | here: %s", c.Error, e.Msg)
			}
		})
	}
}
