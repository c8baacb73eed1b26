package jinja

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// jsonStyle are the arguments of Python's json.dumps.
type jsonStyle struct {
	ascii     bool
	indent    string
	multiline bool // indent was given
	item, key string
	sorted    bool
}

// tojson is Hugging Face's filter: json.dumps with ensure_ascii off, no HTML escapes.
func tojson(in *interp, v []Value) Value {
	st := jsonStyle{ascii: boolArg(v[1], false), item: ", ", key: ": ", sorted: boolArg(v[4], false)}
	switch ind := v[2].(type) {
	case missing, nil:
	default:
		st.multiline = true
		st.item = ","
		if s, ok := asStr(ind); ok {
			st.indent = s
		} else {
			n := max(0, in.intArg(ind, 0))
			in.reserve(n, 1)
			st.indent = strings.Repeat(" ", int(n))
		}
	}
	if given(v[3]) && v[3] != nil {
		sep := in.iterate(v[3])
		if len(sep) != 2 {
			in.fail("separators must be a pair")
		}
		st.item, st.key = in.mustStr(sep[0]), in.mustStr(sep[1])
	}
	w := &textWriter{in: in}
	w.json(v[0], &st, 1)
	return w.b.String()
}

func (w *textWriter) newline(st *jsonStyle, depth int) {
	if st.multiline {
		w.put("\n")
		w.in.reserve(int64(depth), int64(len(st.indent)))
		w.b.WriteString(strings.Repeat(st.indent, depth))
	}
}

func (w *textWriter) json(v Value, st *jsonStyle, depth int) {
	w.in.enter()
	w.in.step(1)
	switch x := v.(type) {
	case nil:
		w.put("null")
	case bool:
		w.put(strconv.FormatBool(x))
	case int64:
		w.put(strconv.FormatInt(x, 10))
	case *big.Int:
		w.put(x.String())
	case float64:
		w.put(jsonFloat(x))
	case string:
		w.jsonString(x, st.ascii)
	case Markup:
		w.jsonString(string(x), st.ascii)
	case *List:
		w.jsonList(x.Items, st, depth)
	case *Tuple:
		w.jsonList(x.Items, st, depth)
	case *Dict:
		w.jsonDict(x, st, depth)
	default:
		w.in.fail("Object of type %s is not JSON serializable", typeName(v))
	}
	w.in.leave()
}

func (w *textWriter) jsonList(items []Value, st *jsonStyle, depth int) {
	if len(items) == 0 {
		w.put("[]")
		return
	}
	w.put("[")
	for i, it := range items {
		if i > 0 {
			w.put(st.item)
		}
		w.newline(st, depth)
		w.json(it, st, depth+1)
	}
	w.newline(st, depth-1)
	w.put("]")
}

func (w *textWriter) jsonDict(d *Dict, st *jsonStyle, depth int) {
	if d.Len() == 0 {
		w.put("{}")
		return
	}
	order := make([]int, d.Len())
	for i := range order {
		order[i] = i
	}
	if st.sorted {
		slices.SortStableFunc(order, func(a, b int) int { return w.in.compare(d.keys[a], d.keys[b], "<") })
	}
	w.put("{")
	for n, i := range order {
		if n > 0 {
			w.put(st.item)
		}
		w.newline(st, depth)
		w.jsonString(w.jsonKey(d.keys[i]), st.ascii)
		w.put(st.key)
		w.json(d.vals[i], st, depth+1)
	}
	w.newline(st, depth-1)
	w.put("}")
}

func (w *textWriter) jsonKey(k Value) string {
	switch x := k.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(x)
	case int64, *big.Int:
		return w.in.repr(x)
	case float64:
		return jsonFloat(x)
	}
	if s, ok := asStr(k); ok {
		return s
	}
	w.in.fail("keys must be str, int, float, bool or None, not %s", typeName(k))
	return ""
}

func jsonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return floatRepr(f)
}

func (w *textWriter) jsonString(s string, ascii bool) {
	w.in.alloc(len(s) + 2)
	b := &w.b
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\b':
			b.WriteString(`\b`)
		case r == '\f':
			b.WriteString(`\f`)
		case r < 0x20 || ascii && r >= 0x7f && r < 0x10000:
			b.WriteString(`\u` + hex(r, 4))
		case ascii && r >= 0x10000:
			hi, lo := utf16.EncodeRune(r)
			b.WriteString(`\u` + hex(hi, 4) + `\u` + hex(lo, 4))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}
