package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// spec is a format specification, of % and of format alike.
type spec struct {
	fill       string
	align      byte // < > ^ = or 0
	sign       byte // + space - or 0
	alt, comma bool
	width      int64
	prec       int64 // -1: none
	verb       byte  // 0: none
}

// percentFormat is the % operator on a string.
func (in *interp) percentFormat(f string, arg Value) Value {
	items, single := []Value{arg}, true
	if t, ok := arg.(*Tuple); ok {
		items, single = t.Items, false
	}
	dict, _ := arg.(*Dict)
	next := 0
	take := func() Value {
		if next >= len(items) {
			in.fail("not enough arguments for format string")
		}
		next++
		return items[next-1]
	}
	w := &textWriter{in: in}
	for f != "" {
		i := strings.IndexByte(f, '%')
		if i < 0 {
			w.put(f)
			break
		}
		w.put(f[:i])
		f = f[i+1:]
		if strings.HasPrefix(f, "%") {
			w.put("%")
			f = f[1:]
			continue
		}
		s := spec{fill: " ", prec: -1}
		var v Value = missing{}
		if strings.HasPrefix(f, "(") {
			end := strings.IndexByte(f, ')')
			if end < 0 {
				in.fail("incomplete format key")
			}
			if dict == nil {
				in.fail("format requires a mapping")
			}
			it, ok := dict.Get(f[1:end])
			if !ok {
				in.fail("KeyError: '%s'", f[1:end])
			}
			v, f, next = it, f[end+1:], 1
		}
		left, zero := false, false
		for f != "" && strings.IndexByte("-+ #0", f[0]) >= 0 {
			switch f[0] {
			case '-':
				left = true
			case '0':
				zero = true
			case '#':
				s.alt = true
			default:
				if s.sign != '+' {
					s.sign = f[0]
				}
			}
			f = f[1:]
		}
		s.width, f = in.count(f, take)
		if rest, ok := strings.CutPrefix(f, "."); ok {
			s.prec, f = in.count(rest, take)
		}
		if f == "" {
			in.fail("incomplete format")
		}
		s.verb, f = f[0], f[1:]
		if !given(v) {
			v = take()
		}
		s.align = '>'
		if left {
			s.align = '<'
		}
		w.put(in.percentVerb(&s, v, zero && !left))
	}
	if next < len(items) && !(single && dict != nil) {
		in.fail("not all arguments converted during string formatting")
	}
	return w.b.String()
}

// count reads a width or precision: digits, or * for the next argument.
func (in *interp) count(f string, take func() Value) (int64, string) {
	if rest, ok := strings.CutPrefix(f, "*"); ok && take != nil {
		return in.intArg(take(), 0), rest
	}
	i := 0
	for i < len(f) && f[i] >= '0' && f[i] <= '9' {
		i++
	}
	n, err := strconv.ParseInt("0"+f[:i], 10, 32)
	if err != nil {
		in.fail("number too big in format string")
	}
	return n, f[i:]
}

func (in *interp) percentVerb(s *spec, v Value, zero bool) string {
	in.checkDefinedUnless(v, s.verb == 's' || s.verb == 'r')
	switch s.verb {
	case 's', 'r', 'a':
		text := in.str(v)
		if s.verb != 's' {
			text = in.repr(v)
		}
		return in.padSpec(s, truncate(text, s.prec))
	case 'c':
		if i, ok := asInt(v); ok {
			return in.padSpec(s, string(rune(i)))
		}
		return in.padSpec(s, in.mustStr(v))
	case 'd', 'i', 'u':
		if f, ok := v.(float64); ok {
			v = in.truncFloat(f)
		}
		s.verb = 'd'
		if zero {
			s.fill, s.align = "0", '='
		}
		return in.formatInt(s, v)
	case 'x', 'X', 'o':
		if zero {
			s.fill, s.align = "0", '='
		}
		return in.formatInt(s, v)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		if zero {
			s.fill, s.align = "0", '='
		}
		return in.formatFloat(s, v)
	}
	in.fail("unsupported format character '%c'", s.verb)
	return ""
}

func (in *interp) checkDefinedUnless(v Value, ok bool) {
	if !ok {
		in.checkDefined(v)
	}
}

func (in *interp) truncFloat(f float64) Value {
	if math.IsNaN(f) || math.Abs(f) >= 1<<63 {
		in.fail("cannot convert float %s to integer", floatRepr(f))
	}
	return int64(f)
}

func truncate(s string, n int64) string {
	if n < 0 {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// padSpec pads text to the width of s.
func (in *interp) padSpec(s *spec, text string) string {
	switch s.align {
	case '>':
		return in.pad(text, s.width, s.fill, true, false)
	case '^':
		n := max(0, s.width-int64(utf8.RuneCountInString(text)))
		text = in.pad(text, s.width-(n-n/2), s.fill, true, false) // the odd one goes right
		return in.pad(text, s.width, s.fill, false, true)
	}
	return in.pad(text, s.width, s.fill, false, true)
}

// padNumber puts sign and digits together and pads them.
func (in *interp) padNumber(s *spec, neg bool, prefix, digits string) string {
	sign := ""
	switch {
	case neg:
		sign = "-"
	case s.sign == '+' || s.sign == ' ':
		sign = string(s.sign)
	}
	if s.comma {
		end := strings.IndexAny(digits, ".e")
		if end < 0 {
			end = len(digits)
		}
		for i := end - 3; i > 0; i -= 3 {
			digits = digits[:i] + "," + digits[i:]
		}
	}
	sign += prefix
	if s.align == '=' {
		return sign + in.pad(digits, s.width-int64(len(sign)), s.fill, true, false)
	}
	return in.padSpec(s, sign+digits)
}

func (in *interp) formatInt(s *spec, v Value) string {
	var n *big.Int
	if b, ok := v.(*big.Int); ok {
		n = b
	} else {
		i, ok := asInt(v)
		if !ok {
			in.fail("%%%c format: an integer is required, not %s", s.verb, typeName(v))
		}
		n = big.NewInt(i)
	}
	base, prefix := 10, ""
	switch s.verb {
	case 'x', 'X':
		base, prefix = 16, "0"+string(s.verb)
	case 'o':
		base, prefix = 8, "0o"
	case 'b':
		base, prefix = 2, "0b"
	}
	if !s.alt {
		prefix = ""
	}
	digits := new(big.Int).Abs(n).Text(base)
	if s.verb == 'X' {
		digits = strings.ToUpper(digits)
	}
	if s.prec > 0 && int64(len(digits)) < s.prec {
		digits = in.pad(digits, s.prec, "0", true, false)
	}
	return in.padNumber(s, n.Sign() < 0, prefix, digits)
}

func (in *interp) formatFloat(s *spec, v Value) string {
	f, ok := asFloat(v)
	if !ok {
		in.fail("must be real number, not %s", typeName(v))
	}
	neg := math.Signbit(f) && !math.IsNaN(f)
	f = math.Abs(f)
	prec := s.prec
	if prec < 0 {
		prec = 6
	}
	if prec > 1000 {
		in.fail("precision %d is not supported", prec)
	}
	var digits string
	verb := s.verb | 0x20
	switch {
	case math.IsNaN(f):
		digits = "nan"
	case math.IsInf(f, 0):
		digits = "inf"
	case s.verb == '%':
		digits = strconv.FormatFloat(f*100, 'f', int(prec), 64) + "%"
	case verb == 'g':
		digits = strconv.FormatFloat(f, 'g', int(max(1, prec)), 64)
	default:
		digits = strconv.FormatFloat(f, verb, int(prec), 64)
	}
	if s.verb == 'E' || s.verb == 'F' || s.verb == 'G' {
		digits = strings.ToUpper(digits)
	}
	return in.padNumber(s, neg, "", digits)
}

// braceFormat is str.format.
func (in *interp) braceFormat(f string, pos []Value, kw *Dict) Value {
	w := &textWriter{in: in}
	auto := 0
	in.formatInto(w, f, pos, kw, &auto, 2)
	return w.b.String()
}

func (in *interp) formatInto(w *textWriter, f string, pos []Value, kw *Dict, auto *int, depth int) {
	if depth == 0 {
		in.fail("Max string recursion exceeded")
	}
	for f != "" {
		in.step(1)
		i := strings.IndexAny(f, "{}")
		if i < 0 {
			w.put(f)
			return
		}
		w.put(f[:i])
		if i+1 < len(f) && f[i+1] == f[i] {
			w.put(f[i : i+1])
			f = f[i+2:]
			continue
		}
		if f[i] == '}' {
			in.fail("Single '}' encountered in format string")
		}
		f = f[i+1:]
		end, level := -1, 1
		for j := 0; j < len(f) && end < 0; j++ {
			switch f[j] {
			case '{':
				level++
			case '}':
				if level--; level == 0 {
					end = j
				}
			}
		}
		if end < 0 {
			in.fail("expected '}' before end of string")
		}
		field, specText := f[:end], ""
		f = f[end+1:]
		if c := strings.IndexByte(field, ':'); c >= 0 {
			field, specText = field[:c], field[c+1:]
		}
		conv := byte(0)
		if c := strings.IndexByte(field, '!'); c >= 0 {
			if len(field) != c+2 {
				in.fail("bad conversion in format string")
			}
			field, conv = field[:c], field[c+1]
		}
		v := in.formatField(field, pos, kw, auto)
		switch conv {
		case 's':
			v = in.str(v)
		case 'r':
			v = in.repr(v)
		case 0:
		default:
			in.fail("Unknown conversion specifier %c", conv)
		}
		if strings.ContainsAny(specText, "{}") {
			inner := &textWriter{in: in}
			in.formatInto(inner, specText, pos, kw, auto, depth-1)
			specText = inner.b.String()
		}
		w.put(in.formatValue(v, specText))
	}
}

// formatField finds the value of a replacement field such as "0.name[key]".
func (in *interp) formatField(field string, pos []Value, kw *Dict, auto *int) Value {
	end := strings.IndexAny(field, ".[")
	if end < 0 {
		end = len(field)
	}
	name, rest := field[:end], field[end:]
	var v Value
	i, err := strconv.Atoi(name)
	if name == "" {
		i, err = *auto, nil
		*auto++
	}
	if err == nil {
		if i < 0 || i >= len(pos) {
			in.fail("Replacement index %d out of range for positional args tuple", i)
		}
		v = pos[i]
	} else {
		it, ok := kw.Get(name)
		if !ok {
			in.fail("KeyError: '%s'", name)
		}
		v = it
	}
	for rest != "" {
		in.step(1)
		if rest[0] == '[' {
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				in.fail("Missing ']' in format string")
			}
			var key Value = rest[1:end]
			if n, err := strconv.ParseInt(rest[1:end], 10, 64); err == nil {
				key = n
			}
			v, rest = in.getitem(v, key), rest[end+1:]
			continue
		}
		if rest[0] != '.' {
			in.fail("Only '.' or '[' may follow ']' in format field specifier")
		}
		rest = rest[1:]
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		v, rest = in.getattr(v, rest[:end]), rest[end:]
	}
	return v
}

// formatValue is Python's format(v, text).
func (in *interp) formatValue(v Value, text string) string {
	if text == "" {
		return in.str(v)
	}
	s := in.parseSpec(text)
	if str, ok := asStr(v); ok {
		if s.verb != 0 && s.verb != 's' || s.align == '=' || s.sign != 0 {
			in.fail("invalid format specifier '%s' for str", text)
		}
		return in.padSpec(s, truncate(str, s.prec))
	}
	if s.align == 0 {
		s.align = '>'
	}
	_, isInt := asInt(v)
	if _, ok := v.(*big.Int); ok {
		isInt = true
	}
	if _, ok := v.(bool); ok && s.verb == 0 {
		s.verb = 'd'
	}
	switch _, isFloat := v.(float64); {
	case isInt && strings.IndexByte("\x00dxXob", s.verb) >= 0:
		if s.prec >= 0 {
			in.fail("Precision not allowed in integer format specifier")
		}
		return in.formatInt(s, v)
	case isInt && s.verb == 'c':
		i, _ := asInt(v)
		return in.padSpec(s, string(rune(i)))
	case (isInt || isFloat) && strings.IndexByte("eEfFgG%", s.verb) >= 0:
		return in.formatFloat(s, v)
	case isFloat && s.verb == 0 && s.prec < 0:
		f := v.(float64)
		neg := math.Signbit(f)
		return in.padNumber(s, neg, "", strings.TrimPrefix(floatRepr(f), "-"))
	case isFloat && s.verb == 0:
		s.verb = 'g'
		return in.formatFloat(s, v)
	}
	in.fail("unsupported format string '%s' passed to %s.__format__", text, typeName(v))
	return ""
}

// parseSpec reads [[fill]align][sign][#][0][width][,][.precision][type].
func (in *interp) parseSpec(text string) *spec {
	s := &spec{fill: " ", prec: -1}
	r, n := utf8.DecodeRuneInString(text)
	if len(text) > n && strings.IndexByte("<>^=", text[n]) >= 0 {
		s.fill, s.align, text = string(r), text[n], text[n+1:]
	} else if strings.IndexByte("<>^=", text[0]) >= 0 {
		s.align, text = text[0], text[1:]
	}
	if text != "" && strings.IndexByte("+- ", text[0]) >= 0 {
		s.sign, text = text[0], text[1:]
	}
	if rest, ok := strings.CutPrefix(text, "#"); ok {
		s.alt, text = true, rest
	}
	if rest, ok := strings.CutPrefix(text, "0"); ok {
		text = rest
		if s.align == 0 {
			s.fill, s.align = "0", '='
		}
	}
	s.width, text = in.count(text, nil)
	if rest, ok := strings.CutPrefix(text, ","); ok {
		s.comma, text = true, rest
	}
	if rest, ok := strings.CutPrefix(text, "."); ok {
		s.prec, text = in.count(rest, nil)
	}
	if text != "" {
		s.verb, text = text[0], text[1:]
	}
	if text != "" {
		in.fail("Invalid format specifier")
	}
	return s
}
