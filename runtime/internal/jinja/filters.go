package jinja

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// filters are the names after a bar. Their first value is the filtered one.
var filters = map[string]*Func{}

func (in *interp) filter(name string, v Value, a *args) Value {
	f, ok := filters[name]
	if !ok {
		in.fail("No filter named '%s'.", name)
	}
	return f.bind(name, v).invoke(in, a)
}

func init() {
	f := func(names, sig string, fn func(in *interp, v []Value) Value) {
		for _, n := range strings.Fields(names) {
			filters[n] = fixed(sig, fn)
		}
	}
	text := func(names, sig string, fn func(in *interp, s string, v []Value) Value) {
		f(names, sig, func(in *interp, v []Value) Value {
			s := in.str(v[0])
			in.alloc(len(s))
			return fn(in, s, v)
		})
	}
	f("default d", "default_value? boolean?", func(in *interp, v []Value) Value {
		if _, ok := v[0].(*Undefined); ok || boolArg(v[2], false) && !truth(v[0]) {
			if given(v[1]) {
				return v[1]
			}
			return ""
		}
		return v[0]
	})
	f("tojson", "ensure_ascii? indent? separators? sort_keys?", tojson)
	f("length count", "", func(in *interp, v []Value) Value { return in.length(v[0]) })
	f("string", "", func(in *interp, v []Value) Value {
		if m, ok := v[0].(Markup); ok {
			return m
		}
		return in.str(v[0])
	})
	text("upper", "", func(in *interp, s string, _ []Value) Value { return upper(s) })
	text("lower", "", func(in *interp, s string, _ []Value) Value { return lower(s) })
	text("capitalize", "", func(in *interp, s string, _ []Value) Value { return capitalize(s) })
	text("title", "", func(in *interp, s string, _ []Value) Value { return filterTitle(s) })
	text("trim", "chars?", func(in *interp, s string, v []Value) Value { return in.strip(s, v[1], true, true) })
	text("replace", "old new count?", func(in *interp, s string, v []Value) Value {
		return in.replace(s, in.str(v[1]), in.str(v[2]), in.intArg(v[3], -1))
	})
	text("center", "width?", func(in *interp, s string, v []Value) Value {
		return in.pad(s, in.intArg(v[1], 80), " ", true, true)
	})
	text("wordcount", "", func(in *interp, s string, _ []Value) Value {
		return int64(len(strings.FieldsFunc(s, func(r rune) bool {
			return r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r)
		})))
	})
	text("urlencode", "", func(in *interp, s string, _ []Value) Value {
		in.alloc(2 * len(s))
		return strings.NewReplacer("+", "%20", "%2F", "/").Replace(url.QueryEscape(s))
	})
	f("safe", "", func(in *interp, v []Value) Value { return Markup(in.str(v[0])) })
	f("escape e", "", func(in *interp, v []Value) Value {
		if m, ok := v[0].(Markup); ok {
			return m
		}
		return Markup(in.escapeHTML(in.str(v[0])))
	})
	f("forceescape", "", func(in *interp, v []Value) Value { return Markup(in.escapeHTML(in.str(v[0]))) })
	f("indent", "width? first? blank?", filterIndent)
	f("int", "default? base?", filterInt)
	f("float", "default?", func(in *interp, v []Value) Value {
		if x, ok := in.toFloat(v[0]); ok {
			return x
		}
		if given(v[1]) {
			return v[1]
		}
		return 0.0
	})
	f("abs", "", func(in *interp, v []Value) Value {
		if x, ok := v[0].(float64); ok {
			return math.Abs(x)
		}
		if x, ok := asInt(v[0]); ok && x >= 0 {
			return x
		}
		return in.unary('-', v[0])
	})
	f("round", "precision? method?", filterRound)
	filters["format"] = rawFunc("format", func(in *interp, self Value, a *args) Value {
		if len(a.kwNames) > 0 {
			d := NewDict()
			for i, n := range a.kwNames {
				d.Set(n, a.kwVals[i])
			}
			return in.percentFormat(in.str(self), d)
		}
		return in.percentFormat(in.str(self), &Tuple{a.pos})
	})
	f("attr", "name", func(in *interp, v []Value) Value {
		in.checkDefined(v[0])
		name := in.str(v[1])
		if it, ok := in.attribute(v[0], name); ok {
			return it
		}
		return in.noAttr(v[0], name)
	})
	f("items", "", func(in *interp, v []Value) Value {
		switch d := v[0].(type) {
		case *Undefined:
			return &generator{kind: "generator"}
		case *Dict:
			return &generator{"generator", in.pairs(d)}
		}
		in.fail("Can only get item pairs from a mapping.")
		return nil
	})
}

// filterTitle raises the first letter of every word, where words end at white space, hyphens and
// opening brackets; unlike str.title it leaves "don't" whole.
func filterTitle(s string) string {
	start := true
	return strings.Map(func(r rune) rune {
		split := isSpace(r) || strings.ContainsRune("-({[<", r)
		defer func() { start = split }()
		if start {
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}, s)
}

func filterIndent(in *interp, v []Value) Value {
	s, ok := asStr(v[0])
	if !ok {
		in.checkDefined(v[0])
		in.fail("unsupported operand type(s) for +=: '%s' and 'str'", typeName(v[0]))
	}
	indent, ok := asStr(v[1])
	if !ok {
		n := max(0, in.intArg(v[1], 4))
		in.reserve(n, 1)
		indent = strings.Repeat(" ", int(n))
	}
	in.alloc(len(s))
	lines := in.splitLines(s+"\n", false)
	in.reserve(int64(len(lines)), int64(len(indent)+1))
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
			if line != "" || boolArg(v[3], false) {
				b.WriteString(indent)
			}
		} else if boolArg(v[2], false) {
			b.WriteString(indent)
		}
		b.WriteString(line)
	}
	return b.String()
}

// filterInt is int(value), then int(float(value)), then the default.
func filterInt(in *interp, v []Value) Value {
	def := Value(int64(0))
	if given(v[1]) {
		def = v[1]
	}
	base := in.intArg(v[2], 10)
	if i, ok := asInt(v[0]); ok {
		return i
	}
	if s, ok := asStr(v[0]); ok {
		t := strings.TrimFunc(s, isSpace)
		// ParseInt with base 0 reads the prefixes Python allows when the base matches them.
		if i, err := strconv.ParseInt(t, int(base), 64); err == nil && base >= 2 && base <= 36 {
			return i
		}
		if base == 16 || base == 8 || base == 2 || base == 0 {
			if i, err := strconv.ParseInt(t, 0, 64); err == nil {
				return i
			}
		}
		if d := strings.TrimLeft(t, "+-"); base == 10 && d != "" && strings.Trim(d, "0123456789") == "" {
			in.fail("integer %s exceeds 64 bits", truncate(t, 40))
		}
	}
	if f, ok := in.toFloat(v[0]); ok && !math.IsNaN(f) && math.Abs(f) < 1<<63 {
		return int64(f)
	}
	return def
}

// toFloat is Python's float(v); false where it raises.
func (in *interp) toFloat(v Value) (float64, bool) {
	in.checkDefined(v)
	if f, ok := asFloat(v); ok {
		return f, true
	}
	s, ok := asStr(v)
	if !ok {
		return 0, false
	}
	s = strings.TrimFunc(s, isSpace)
	if strings.ContainsAny(s, "xXpP_") { // Go's forms, not Python's
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || math.IsInf(f, 0)
}

func filterRound(in *interp, v []Value) Value {
	prec := in.intArg(v[1], 0)
	method := in.strArg(v[2], "common")
	f, ok := asFloat(v[0])
	if !ok {
		in.checkDefined(v[0])
		in.fail("type %s doesn't define __round__ method", typeName(v[0]))
	}
	i, isInt := asInt(v[0])
	if prec < -300 || prec > 300 {
		in.fail("precision %d is not supported", prec)
	}
	scale := 1.0
	for range max(prec, -prec) {
		scale *= 10
	}
	if method == "common" {
		switch {
		case isInt && prec >= 0:
			return i
		case isInt:
			return int64(math.RoundToEven(f/scale) * scale)
		case prec >= 0:
			r, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', int(prec), 64), 64)
			return r
		}
		return math.RoundToEven(f/scale) * scale
	}
	op := math.Ceil
	switch method {
	case "floor":
		op = math.Floor
	case "ceil":
	default:
		in.fail("method must be common, ceil or floor")
	}
	if prec < 0 {
		return op(f/scale) * scale
	}
	return op(f*scale) / scale
}

// attrPath returns a function that follows a dotted attribute path; digits are indexes.
func (in *interp) attrPath(attr Value) func(Value) Value {
	var parts []Value
	switch {
	case attr == nil || attr == (missing{}):
	default:
		s, ok := asStr(attr)
		if !ok {
			parts = []Value{attr}
			break
		}
		for _, p := range strings.Split(s, ".") {
			if i, err := strconv.ParseInt(p, 10, 64); err == nil && i >= 0 {
				parts = append(parts, i)
			} else {
				parts = append(parts, p)
			}
		}
	}
	return func(v Value) Value {
		for _, p := range parts {
			in.step(1)
			v = in.getitem(v, p)
		}
		return v
	}
}

// fold lowers a string, for comparisons that ignore case.
func (in *interp) fold(v Value, caseSensitive bool) Value {
	if s, ok := asStr(v); ok && !caseSensitive {
		in.alloc(len(s))
		return lower(s)
	}
	return v
}

// sorted sorts items by their keys, stably; a NaN keeps its place.
func (in *interp) sorted(items []Value, key func(Value) Value, reverse bool) []Value {
	in.alloc(48 * len(items))
	type pair struct{ k, v Value }
	ps := make([]pair, len(items))
	for i, it := range items {
		ps[i] = pair{key(it), it}
	}
	slices.SortStableFunc(ps, func(a, b pair) int {
		c := in.compare(a.k, b.k, "<")
		if c == 2 {
			return 0
		}
		if reverse {
			return -c
		}
		return c
	})
	out := make([]Value, len(ps))
	for i, p := range ps {
		out[i] = p.v
	}
	return out
}
