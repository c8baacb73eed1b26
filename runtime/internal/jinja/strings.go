package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// strMethods are Python's str methods; the first value is the string.
var strMethods map[string]*Func

func init() {
	strMethods = map[string]*Func{}
	m := func(name, sig string, fn func(in *interp, s string, v []Value) Value) {
		if !strings.Contains(name, "split") {
			sig = "/ " + sig
		}
		strMethods[name] = fixed(sig, func(in *interp, v []Value) Value {
			s, _ := asStr(v[0])
			in.step(len(s) / 64)
			return fn(in, s, v)
		})
	}
	text := func(name string, fn func(string) string) {
		m(name, "", func(in *interp, s string, _ []Value) Value { in.alloc(2 * len(s)); return fn(s) })
	}
	is := func(name string, empty bool, fn func(rune) bool) {
		m(name, "", func(_ *interp, s string, _ []Value) Value {
			return (s != "" || empty) && strings.IndexFunc(s, func(r rune) bool { return !fn(r) }) < 0
		})
	}
	text("upper", upper)
	text("lower", lower)
	text("casefold", func(s string) string { return cases.Fold().String(s) })
	text("title", title)
	text("capitalize", capitalize)
	text("swapcase", func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsUpper(r) {
				return unicode.ToLower(r)
			}
			return unicode.ToUpper(r)
		}, s)
	})
	is("isspace", false, isSpace)
	is("isalpha", false, unicode.IsLetter)
	is("isalnum", false, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
	is("isdigit", false, unicode.IsDigit)
	is("isdecimal", false, unicode.IsDigit)
	is("isnumeric", false, unicode.IsNumber)
	is("isascii", true, func(r rune) bool { return r < 0x80 })
	is("isprintable", true, isPrintable)
	m("islower", "", func(_ *interp, s string, _ []Value) Value { return isCase(s, unicode.IsLower, unicode.IsUpper) })
	m("isupper", "", func(_ *interp, s string, _ []Value) Value { return isCase(s, unicode.IsUpper, unicode.IsLower) })

	m("strip", "chars?", func(in *interp, s string, v []Value) Value { return in.strip(s, v[1], true, true) })
	m("lstrip", "chars?", func(in *interp, s string, v []Value) Value { return in.strip(s, v[1], true, false) })
	m("rstrip", "chars?", func(in *interp, s string, v []Value) Value { return in.strip(s, v[1], false, true) })
	m("removeprefix", "prefix", func(in *interp, s string, v []Value) Value {
		return strings.TrimPrefix(s, in.mustStr(v[1]))
	})
	m("removesuffix", "suffix", func(in *interp, s string, v []Value) Value {
		return strings.TrimSuffix(s, in.mustStr(v[1]))
	})
	m("startswith", "prefix start? end?", func(in *interp, s string, v []Value) Value {
		return in.affix(s, v, strings.HasPrefix)
	})
	m("endswith", "suffix start? end?", func(in *interp, s string, v []Value) Value {
		return in.affix(s, v, strings.HasSuffix)
	})
	m("split", "sep? maxsplit?", func(in *interp, s string, v []Value) Value { return in.split(s, v[1], v[2], false) })
	m("rsplit", "sep? maxsplit?", func(in *interp, s string, v []Value) Value { return in.split(s, v[1], v[2], true) })
	m("splitlines", "keepends?", func(in *interp, s string, v []Value) Value {
		return in.strList(in.splitLines(s, boolArg(v[1], false)))
	})
	m("partition", "sep", func(in *interp, s string, v []Value) Value {
		sep := in.separator(v[1])
		if i := strings.Index(s, sep); i >= 0 {
			return &Tuple{[]Value{s[:i], sep, s[i+len(sep):]}}
		}
		return &Tuple{[]Value{s, "", ""}}
	})
	m("rpartition", "sep", func(in *interp, s string, v []Value) Value {
		sep := in.separator(v[1])
		if i := strings.LastIndex(s, sep); i >= 0 {
			return &Tuple{[]Value{s[:i], sep, s[i+len(sep):]}}
		}
		return &Tuple{[]Value{"", "", s}}
	})
	m("replace", "old new count?", func(in *interp, s string, v []Value) Value {
		return in.replace(s, in.mustStr(v[1]), in.mustStr(v[2]), in.intArg(v[3], -1))
	})
	m("join", "iterable", func(in *interp, s string, v []Value) Value {
		items := in.iterate(v[1])
		parts := make([]string, len(items))
		for i, it := range items {
			str, ok := asStr(it)
			if !ok {
				in.fail("sequence item %d: expected str instance, %s found", i, typeName(it))
			}
			parts[i] = str
		}
		return in.join(parts, s)
	})
	find := func(name string, last, must bool) {
		m(name, "sub start? end?", func(in *interp, s string, v []Value) Value {
			i := in.find(s, v, last)
			if i < 0 && must {
				in.fail("substring not found")
			}
			return i
		})
	}
	find("find", false, false)
	find("rfind", true, false)
	find("index", false, true)
	find("rindex", true, true)
	m("count", "sub start? end?", func(in *interp, s string, v []Value) Value {
		s, _ = in.bounds(s, v[2], v[3])
		return int64(strings.Count(s, in.mustStr(v[1])))
	})
	pad := func(name string, left, right bool) {
		m(name, "width fill?", func(in *interp, s string, v []Value) Value {
			return in.pad(s, in.intArg(v[1], 0), in.strArg(v[2], " "), left, right)
		})
	}
	pad("ljust", false, true)
	pad("rjust", true, false)
	pad("center", true, true)
	m("zfill", "width", func(in *interp, s string, v []Value) Value {
		sign := ""
		if s != "" && (s[0] == '-' || s[0] == '+') {
			sign, s = s[:1], s[1:]
		}
		return sign + in.pad(s, in.intArg(v[1], 0)-int64(len(sign)), "0", true, false)
	})
	strMethods["format"] = rawFunc("format", func(in *interp, self Value, a *args) Value {
		s, _ := asStr(self)
		kw := NewDict()
		for i, n := range a.kwNames {
			kw.Set(n, a.kwVals[i])
		}
		return in.braceFormat(s, a.pos, kw)
	})
	m("format_map", "mapping", func(in *interp, s string, v []Value) Value {
		d, ok := v[1].(*Dict)
		if !ok {
			in.fail("format_map() needs a dict, not %s", typeName(v[1]))
		}
		return in.braceFormat(s, nil, d)
	})
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// upper and lower are Python's full case mappings (ß becomes SS).
func upper(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	return cases.Upper(language.Und).String(s)
}

func lower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return cases.Lower(language.Und).String(s)
}

func capitalize(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return titleRune(r) + lower(s[n:])
}

// title is str.title: a letter after a non-letter is raised, every other letter lowered.
func title(s string) string {
	var b strings.Builder
	prev := false
	for _, r := range s {
		if prev {
			b.WriteRune(unicode.ToLower(r))
		} else {
			b.WriteString(titleRune(r))
		}
		prev = unicode.IsLetter(r)
	}
	return b.String()
}

// titleRune is the full title case of a code point (ß becomes Ss).
func titleRune(r rune) string {
	if r < utf8.RuneSelf {
		return string(unicode.ToUpper(r))
	}
	return cases.Title(language.Und, cases.NoLower).String(string(r))
}

func (in *interp) strip(s string, chars Value, left, right bool) string {
	cut := isSpace
	if given(chars) && chars != nil {
		set := in.mustStr(chars)
		in.reserve(int64(len(s)), int64(len(set)/16))
		cut = func(r rune) bool { return strings.ContainsRune(set, r) }
	}
	if left {
		s = strings.TrimLeftFunc(s, cut)
	}
	if right {
		s = strings.TrimRightFunc(s, cut)
	}
	return s
}

// bounds cuts s to code points [start, end) and returns how many were cut in front.
func (in *interp) bounds(s string, start, end Value) (string, int64) {
	if (!given(start) || start == nil) && (!given(end) || end == nil) {
		return s, 0
	}
	r := in.runes(s)
	n := int64(len(r))
	fix := func(v Value, def int64) int64 {
		i := in.intArg(v, def)
		if i < 0 {
			i += n
		}
		return max(0, min(i, n))
	}
	lo, hi := fix(start, 0), fix(end, n)
	if lo > hi {
		return "", lo
	}
	return string(r[lo:hi]), lo
}

func (in *interp) affix(s string, v []Value, has func(string, string) bool) Value {
	s, _ = in.bounds(s, v[2], v[3])
	if t, ok := v[1].(*Tuple); ok {
		for _, it := range t.Items {
			in.step(1)
			if has(s, in.mustStr(it)) {
				return true
			}
		}
		return false
	}
	return has(s, in.mustStr(v[1]))
}

func (in *interp) find(s string, v []Value, last bool) int64 {
	part, off := in.bounds(s, v[2], v[3])
	f := strings.Index
	if last {
		f = strings.LastIndex
	}
	i := f(part, in.mustStr(v[1]))
	if i < 0 {
		return -1
	}
	return off + int64(utf8.RuneCountInString(part[:i]))
}

func (in *interp) separator(v Value) string {
	sep := in.mustStr(v)
	if sep == "" {
		in.fail("empty separator")
	}
	return sep
}

func (in *interp) strList(parts []string) *List {
	in.alloc(32 * len(parts))
	l := &List{make([]Value, len(parts))}
	for i, p := range parts {
		l.Items[i] = p
	}
	return l
}

// split is str.split and, from the right, str.rsplit.
func (in *interp) split(s string, sepArg, maxArg Value, right bool) Value {
	n := in.intArg(maxArg, -1)
	in.alloc(len(s))
	if given(sepArg) && sepArg != nil {
		sep := in.separator(sepArg)
		in.reserve(int64(strings.Count(s, sep)), 32)
		if !right || n < 0 {
			if n >= 0 && n < 1<<30 {
				return in.strList(strings.SplitN(s, sep, int(n)+1))
			}
			return in.strList(strings.Split(s, sep))
		}
		var parts []string
		for ; n > 0; n-- {
			i := strings.LastIndex(s, sep)
			if i < 0 {
				break
			}
			parts = append(parts, s[i+len(sep):])
			s = s[:i]
		}
		return in.strList(reversed(append(parts, s)))
	}
	var parts []string
	if right {
		for s = strings.TrimRightFunc(s, isSpace); s != ""; s = strings.TrimRightFunc(s, isSpace) {
			i := strings.LastIndexFunc(s, isSpace)
			if i < 0 || n == 0 {
				parts = append(parts, s)
				break
			}
			_, w := utf8.DecodeRuneInString(s[i:])
			parts = append(parts, s[i+w:])
			s = s[:i]
			n--
		}
		return in.strList(reversed(parts))
	}
	for s = strings.TrimLeftFunc(s, isSpace); s != ""; s = strings.TrimLeftFunc(s, isSpace) {
		i := strings.IndexFunc(s, isSpace)
		if i < 0 || n == 0 {
			parts = append(parts, s)
			break
		}
		parts = append(parts, s[:i])
		s = s[i:]
		n--
	}
	return in.strList(parts)
}

func reversed[T any](s []T) []T {
	out := make([]T, len(s))
	for i, v := range s {
		out[len(s)-1-i] = v
	}
	return out
}

// splitLines is str.splitlines, with Python's set of line ends.
func (in *interp) splitLines(s string, keep bool) []string {
	var lines []string
	start := 0
	for i := 0; i < len(s); {
		r, w := utf8.DecodeRuneInString(s[i:])
		switch r {
		case '\n', '\v', '\f', '\r', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
			end := i + w
			if r == '\r' && end < len(s) && s[end] == '\n' {
				end++
			}
			cut := i
			if keep {
				cut = end
			}
			in.alloc(16)
			lines = append(lines, s[start:cut])
			start, i = end, end
		default:
			i += w
		}
	}
	if start < len(s) {
		lines = append(lines, s[start:])
	}
	return lines
}

// replace is str.replace; n < 0: all.
func (in *interp) replace(s, old, new string, n int64) string {
	count := int64(strings.Count(s, old))
	if n >= 0 && n < count {
		count = n
	}
	in.alloc(len(s))
	in.reserve(count, int64(len(new)))
	return strings.Replace(s, old, new, int(count))
}

func (in *interp) join(parts []string, sep string) string {
	in.reserve(int64(max(0, len(parts)-1)), int64(len(sep)))
	for _, p := range parts {
		in.alloc(len(p))
	}
	return strings.Join(parts, sep)
}

func (in *interp) pad(s string, width int64, fill string, left, right bool) string {
	if utf8.RuneCountInString(fill) != 1 {
		in.fail("The fill character must be exactly one character long")
	}
	have := int64(utf8.RuneCountInString(s))
	n := width - have
	if n <= 0 {
		return s
	}
	in.reserve(n, int64(len(fill)))
	in.alloc(len(s))
	l := int64(0)
	switch {
	case left && right: // CPython puts the odd one left if the width is odd
		l = n/2 + (n & width & 1)
	case left:
		l = n
	}
	return strings.Repeat(fill, int(l)) + s + strings.Repeat(fill, int(n-l))
}

func (in *interp) escapeHTML(s string) string {
	in.alloc(6 * len(s))
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&#39;", "\"", "&#34;").Replace(s)
}
