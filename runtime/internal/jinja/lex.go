package jinja

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokKind is the kind of a token.
type tokKind uint8

const (
	tEOF tokKind = iota
	tData
	tVarBegin
	tVarEnd
	tBlockBegin
	tBlockEnd
	tName
	tString
	tInt
	tFloat
	tOp
)

type token struct {
	kind tokKind
	val  string // text; operators as written; strings decoded
	line int
}

// lexer splits a source into tokens. Whitespace control (the - and + signs, trim_blocks,
// lstrip_blocks) is settled here, so that the parser sees final text.
type lexer struct {
	src       string
	pos       int
	line      int
	toks      []token
	lineStart bool // whether the last match ended with a newline (or nothing was matched yet)
}

func lex(src string) []token {
	src = strings.ReplaceAll(src, "\r\n", "\n")
	src = strings.ReplaceAll(src, "\r", "\n")
	src = strings.TrimSuffix(src, "\n") // keep_trailing_newline is off
	src = strings.ToValidUTF8(src, "\uFFFD")
	l := &lexer{src: src, line: 1, lineStart: true}
	for l.pos < len(l.src) {
		l.root()
	}
	l.add(tEOF, "")
	return l.toks
}

func (l *lexer) add(k tokKind, val string) { l.toks = append(l.toks, token{k, val, l.line}) }

func (l *lexer) fail(format string, a ...any) {
	panic(&Error{Line: l.line, Kind: Syntax, Msg: fmt.Sprintf(format, a...)})
}

// take consumes the source up to end and keeps the line count and lineStart right.
func (l *lexer) take(end int) string {
	s := l.src[l.pos:end]
	l.line += strings.Count(s, "\n")
	l.pos = end
	if s != "" {
		l.lineStart = s[len(s)-1] == '\n'
	}
	return s
}

// root reads text up to the next tag, and that tag.
func (l *lexer) root() {
	rest := l.src[l.pos:]
	at := -1
	for i := 0; i+1 < len(rest); i++ {
		j := strings.IndexByte(rest[i:], '{')
		if j < 0 {
			break
		}
		i += j
		if i+1 < len(rest) && (rest[i+1] == '{' || rest[i+1] == '%' || rest[i+1] == '#') {
			at = i
			break
		}
	}
	if at < 0 {
		l.add(tData, rest)
		l.take(len(l.src))
		return
	}
	kind := rest[at+1]
	sign, begin := byte(0), l.pos+at+2
	if begin < len(l.src) && (l.src[begin] == '-' || l.src[begin] == '+') {
		sign = l.src[begin]
		begin++
	}
	wasStart := l.lineStart
	line := l.line
	text := stripBefore(l.take(l.pos+at), sign, kind, wasStart)
	if text != "" {
		l.toks = append(l.toks, token{tData, text, line})
	}
	l.take(begin)
	switch kind {
	case '#':
		l.comment()
	case '{':
		l.add(tVarBegin, "")
		l.expression(false)
	default:
		if end, ok := l.matchTag(l.pos, "raw", false); ok {
			l.take(end)
			l.raw()
			return
		}
		l.add(tBlockBegin, "")
		l.expression(true)
	}
}

// stripBefore trims the text before a tag: all white space for "-", and for blocks and comments the
// indentation of a line that holds nothing else (lstrip_blocks).
func stripBefore(text string, sign, kind byte, lineStart bool) string {
	if sign == '-' {
		return strings.TrimRightFunc(text, isSpace)
	}
	if sign == '+' || kind == '{' {
		return text
	}
	nl := strings.LastIndexByte(text, '\n') + 1
	if (nl > 0 || lineStart) && strings.TrimFunc(text[nl:], isSpace) == "" {
		return text[:nl]
	}
	return text
}

// comment skips to the end of a comment.
func (l *lexer) comment() {
	i := strings.Index(l.src[l.pos:], "#}")
	if i < 0 {
		l.fail("Missing end of comment tag")
	}
	end := l.pos + i
	sign := byte(0)
	if i > 0 {
		sign = l.src[end-1]
	}
	l.take(l.afterTag(end+2, sign, true))
}

// afterTag returns where text resumes after a closing delimiter that ends at end.
func (l *lexer) afterTag(end int, sign byte, trimNewline bool) int {
	switch {
	case sign == '-':
		return len(l.src) - len(strings.TrimLeftFunc(l.src[end:], isSpace))
	case sign != '+' && trimNewline && end < len(l.src) && l.src[end] == '\n':
		return end + 1
	}
	return end
}

// matchTag matches the rest of a tag with only the given name, from after its opening delimiter,
// and returns where the text behind it begins.
func (l *lexer) matchTag(pos int, name string, trimNewline bool) (int, bool) {
	s := strings.TrimLeftFunc(l.src[pos:], isSpace)
	s, ok := strings.CutPrefix(s, name)
	if !ok {
		return 0, false
	}
	s = strings.TrimLeftFunc(s, isSpace)
	sign := byte(0)
	if s != "" && (s[0] == '-' || s[0] == '+' && trimNewline) {
		sign = s[0]
		s = s[1:]
	}
	if !strings.HasPrefix(s, "%}") {
		return 0, false
	}
	return l.afterTag(len(l.src)-len(s)+2, sign, trimNewline), true
}

// raw copies the text up to the endraw tag.
func (l *lexer) raw() {
	for at := l.pos; ; {
		i := strings.Index(l.src[at:], "{%")
		if i < 0 {
			l.fail("Missing end of raw directive")
		}
		at += i
		body, sign := at+2, byte(0)
		if body < len(l.src) && (l.src[body] == '-' || l.src[body] == '+') {
			sign = l.src[body]
			body++
		}
		if end, ok := l.matchTag(body, "endraw", true); ok {
			start := l.lineStart
			if text := stripBefore(l.src[l.pos:at], sign, '%', start); text != "" {
				l.add(tData, text)
			}
			l.take(end)
			return
		}
		at += 2
	}
}

const maxBrackets = 200

// expression reads tokens up to the end of the tag. Closing delimiters count only outside brackets.
func (l *lexer) expression(block bool) {
	var open []byte
	close2, endKind := "}}", tVarEnd
	if block {
		close2, endKind = "%}", tBlockEnd
	}
	for {
		l.take(len(l.src) - len(strings.TrimLeftFunc(l.src[l.pos:], isSpace)))
		rest := l.src[l.pos:]
		if rest == "" {
			l.fail("unexpected end of template inside a tag")
		}
		if len(open) == 0 {
			sign := byte(0)
			s := rest
			if s[0] == '-' || s[0] == '+' && block {
				sign, s = s[0], s[1:]
			}
			if strings.HasPrefix(s, close2) {
				l.add(endKind, "")
				l.take(l.afterTag(len(l.src)-len(s)+2, sign, block))
				return
			}
		}
		c := rest[0]
		switch {
		case c == '"' || c == '\'':
			l.str(c)
		case c >= '0' && c <= '9':
			l.number()
		case c == '_' || c >= utf8.RuneSelf || unicode.IsLetter(rune(c)):
			l.name()
		default:
			op := l.operator(rest)
			switch op {
			case "(", "[", "{":
				if len(open) >= maxBrackets {
					l.fail("more than %d nested brackets", maxBrackets)
				}
				open = append(open, op[0])
			case ")", "]", "}":
				if len(open) == 0 {
					l.fail("unexpected %q", op)
				}
				if want := closing(open[len(open)-1]); op[0] != want {
					l.fail("unexpected %q, expected %q", op, string(want))
				}
				open = open[:len(open)-1]
			}
			l.add(tOp, op)
			l.take(l.pos + len(op))
		}
	}
}

func closing(c byte) byte {
	switch c {
	case '(':
		return ')'
	case '[':
		return ']'
	}
	return '}'
}

func (l *lexer) operator(s string) string {
	if len(s) >= 2 {
		switch s[:2] {
		case "==", "!=", ">=", "<=", "//", "**":
			return s[:2]
		}
	}
	if strings.IndexByte("+-/*%~[](){}><=.:|,;", s[0]) >= 0 {
		return s[:1]
	}
	r, _ := utf8.DecodeRuneInString(s)
	l.fail("unexpected char %q", string(r))
	return ""
}

func (l *lexer) name() {
	end := l.pos
	for end < len(l.src) {
		r, n := utf8.DecodeRuneInString(l.src[end:])
		if r != '_' && !unicode.IsLetter(r) && !(end > l.pos && (unicode.IsDigit(r) || unicode.IsMark(r))) {
			break
		}
		end += n
	}
	if end == l.pos {
		r, _ := utf8.DecodeRuneInString(l.src[end:])
		l.fail("unexpected char %q", string(r))
	}
	l.add(tName, l.src[l.pos:end])
	l.take(end)
}

// number reads an integer or a float; "a.0.b" keeps its dots because a float needs no dot before it.
func (l *lexer) number() {
	s := l.src[l.pos:]
	digits := func(i int, ok func(byte) bool) int {
		for i < len(s) && (ok(s[i]) || s[i] == '_' && i > 0 && s[i-1] != '_' && i+1 < len(s) && ok(s[i+1])) {
			i++
		}
		return i
	}
	dec := func(c byte) bool { return c >= '0' && c <= '9' }
	n := 0
	kind := tInt
	if len(s) > 2 && s[0] == '0' && strings.IndexByte("xXoObB", s[1]) >= 0 {
		n = digits(2, func(c byte) bool {
			switch s[1] | 0x20 {
			case 'x':
				return dec(c) || c|0x20 >= 'a' && c|0x20 <= 'f'
			case 'o':
				return c >= '0' && c <= '7'
			}
			return c == '0' || c == '1'
		})
	} else {
		n = digits(0, dec)
		if l.pos == 0 || l.src[l.pos-1] != '.' {
			e := n
			if e+1 < len(s) && s[e] == '.' && dec(s[e+1]) {
				e = digits(e+1, dec)
				kind, n = tFloat, e
			}
			if e < len(s) && s[e]|0x20 == 'e' {
				e++
				if e < len(s) && (s[e] == '+' || s[e] == '-') {
					e++
				}
				if e < len(s) && dec(s[e]) {
					kind, n = tFloat, digits(e, dec)
				}
			}
		}
	}
	l.add(kind, strings.ReplaceAll(s[:n], "_", ""))
	l.take(l.pos + n)
}

// str reads a string literal and decodes its escapes as Python does; unknown escapes stay as written.
func (l *lexer) str(quote byte) {
	s := l.src[l.pos+1:]
	var b strings.Builder
	for i := 0; i < len(s); {
		c := s[i]
		if c == quote {
			l.add(tString, b.String())
			l.take(l.pos + 1 + i + 1)
			return
		}
		if c != '\\' {
			b.WriteByte(c)
			i++
			continue
		}
		if i+1 >= len(s) {
			break
		}
		i += l.escape(&b, s[i:])
	}
	l.fail("unterminated string literal")
}

// escape decodes the escape at the start of s, which begins with a backslash and has a second byte.
func (l *lexer) escape(b *strings.Builder, s string) int {
	simple := map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", 'a': "\a", 'v': "\v",
		'\\': "\\", '\'': "'", '"': "\"", '\n': ""}
	c := s[1]
	if v, ok := simple[c]; ok {
		b.WriteString(v)
		return 2
	}
	width := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if width > 0 {
		if len(s) < 2+width {
			l.fail("truncated \\%c escape", c)
		}
		v, ok := parseBase(s[2:2+width], 16)
		if !ok || v > unicode.MaxRune {
			l.fail("malformed \\%c escape", c)
		}
		b.WriteRune(rune(v))
		return 2 + width
	}
	if c >= '0' && c <= '7' {
		n := 1
		for n < 4 && n < len(s) && s[n] >= '0' && s[n] <= '7' {
			n++
		}
		v, _ := parseBase(s[1:n], 8)
		b.WriteRune(rune(v))
		return n
	}
	b.WriteByte('\\')
	return 1
}

func parseBase(s string, base int64) (int64, bool) {
	v := int64(0)
	for i := 0; i < len(s); i++ {
		d := int64(99)
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			d = int64(c - '0')
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			d = int64(c|0x20-'a') + 10
		}
		if d >= base || v > (1<<62)/base {
			return 0, false
		}
		v = v*base + d
	}
	return v, s != ""
}

// isSpace is Python's str.isspace for one code point.
func isSpace(r rune) bool {
	return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f
}
