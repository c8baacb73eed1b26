package jinja

import (
	"fmt"
	"slices"
)

// parser reads statements. Expressions are in parse_expr.go.
type parser struct {
	toks   []token
	i      int
	depth  int         // nesting of statements and expressions
	loops  int         // loops around the current statement, within the current macro
	soft   int         // conditions around the current place: unknown filters there fail when reached
	macros []*macroDef // definitions around the current place
}

// maxNesting bounds the parser's recursion. Published templates stay below 20.
const maxNesting = 250

func (p *parser) cur() token  { return p.toks[p.i] }
func (p *parser) look() token { return p.toks[min(p.i+1, len(p.toks)-1)] }

func (p *parser) next() token {
	t := p.toks[p.i]
	if t.kind != tEOF {
		p.i++
	}
	return t
}

func (p *parser) failAt(line int, format string, a ...any) {
	panic(&Error{Line: line, Kind: Syntax, Msg: fmt.Sprintf(format, a...)})
}

func (p *parser) fail(format string, a ...any) { p.failAt(p.cur().line, format, a...) }

func (p *parser) enter() {
	if p.depth++; p.depth > maxNesting {
		p.fail("template nested deeper than %d", maxNesting)
	}
}

func (p *parser) leave() { p.depth-- }

func (p *parser) isOp(op string) bool  { t := p.cur(); return t.kind == tOp && t.val == op }
func (p *parser) isName(n string) bool { t := p.cur(); return t.kind == tName && t.val == n }

func (p *parser) skipOp(op string) bool {
	if p.isOp(op) {
		p.i++
		return true
	}
	return false
}

func (p *parser) skipName(n string) bool {
	if p.isName(n) {
		p.i++
		return true
	}
	return false
}

func (p *parser) wantOp(op string) token {
	if !p.isOp(op) {
		p.fail("expected token %q, got %s", op, p.cur().describe())
	}
	return p.next()
}

func (p *parser) wantName() token {
	if p.cur().kind != tName {
		p.fail("expected a name, got %s", p.cur().describe())
	}
	return p.next()
}

func (p *parser) want(k tokKind) {
	if p.cur().kind != k {
		p.fail("expected %s, got %s", token{kind: k}.describe(), p.cur().describe())
	}
	p.next()
}

func (t token) describe() string {
	switch t.kind {
	case tEOF:
		return "end of template"
	case tData:
		return "text"
	case tVarBegin:
		return "'{{'"
	case tVarEnd:
		return "end of print statement"
	case tBlockBegin:
		return "'{%'"
	case tBlockEnd:
		return "end of statement block"
	}
	return fmt.Sprintf("%q", t.val)
}

func (p *parser) parseTemplate() []stmt {
	body := p.parseUntil()
	if p.cur().kind != tEOF {
		p.fail("unexpected %s", p.cur().describe())
	}
	return body
}

// parseUntil reads statements up to a tag with one of the given names, whose name is then current;
// with no names, up to the end of the template.
func (p *parser) parseUntil(ends ...string) []stmt {
	p.enter()
	defer p.leave()
	var body []stmt
	for {
		t := p.cur()
		switch t.kind {
		case tEOF:
			if len(ends) > 0 {
				p.fail("unexpected end of template, expected %q", ends[0])
			}
			return body
		case tData:
			p.next()
			body = append(body, &dataS{pos(t.line), t.val})
		case tVarBegin:
			p.next()
			x := p.parseTuple(true, "")
			p.want(tVarEnd)
			body = append(body, &outS{pos(t.line), x})
		case tBlockBegin:
			p.next()
			if p.cur().kind != tName {
				p.fail("tag name expected, got %s", p.cur().describe())
			}
			if slices.Contains(ends, p.cur().val) {
				return body
			}
			body = append(body, p.parseStatement())
			p.want(tBlockEnd)
		default:
			p.fail("unexpected %s", t.describe())
		}
	}
}

// parseBody reads the rest of an opening tag, the body, and the name of the tag that ends it.
func (p *parser) parseBody(ends ...string) (body []stmt, end string) {
	p.skipOp(":")
	p.want(tBlockEnd)
	body = p.parseUntil(ends...)
	return body, p.next().val
}

func (p *parser) parseStatement() stmt {
	t := p.next()
	line := pos(t.line)
	switch t.val {
	case "if":
		return p.parseIf(line)
	case "for":
		return p.parseFor(line)
	case "set":
		return p.parseSet(line)
	case "macro":
		m := &macroDef{name: p.wantName().val}
		p.parseSignature(m)
		p.parseMacroBody(m, "endmacro")
		return &macroS{line, m}
	case "call":
		m := &macroDef{name: "caller"}
		if p.isOp("(") {
			p.parseSignature(m)
		}
		call, ok := p.parseExpression(true).(*callE)
		if !ok {
			p.failAt(t.line, "expected call")
		}
		p.parseMacroBody(m, "endcall")
		return &callS{line, m, call}
	case "filter":
		f := p.parseFilters(nil, true)
		body, _ := p.parseBody("endfilter")
		return &filterS{line, f, body}
	case "with":
		return p.parseWith(line)
	case "generation":
		// Marks the assistant's tokens for training; rendering sees only a scope.
		body, _ := p.parseBody("endgeneration")
		return &scopeS{line, body}
	case "block":
		name := p.wantName().val
		p.skipName("scoped")
		p.skipName("required")
		body, _ := p.parseBody("endblock")
		if p.cur().kind == tName && p.cur().val == name {
			p.next()
		}
		return &scopeS{line, body}
	case "print":
		n := &printS{pos: line}
		for p.cur().kind != tBlockEnd {
			if len(n.items) > 0 {
				p.wantOp(",")
			}
			n.items = append(n.items, p.parseExpression(true))
		}
		return n
	case "break", "continue":
		if p.loops == 0 {
			p.failAt(t.line, "%q outside a loop", t.val)
		}
		if t.val == "break" {
			return &loopCtlS{line, ctlBreak}
		}
		return &loopCtlS{line, ctlContinue}
	case "extends", "include", "import", "from", "autoescape", "do", "trans", "debug":
		p.failAt(t.line, "tag %q is not supported in chat templates", t.val)
	}
	p.failAt(t.line, "Encountered unknown tag %q", t.val)
	return nil
}

func (p *parser) parseIf(line pos) stmt {
	p.soft++
	defer func() { p.soft-- }()
	n := &ifS{pos: line}
	for {
		n.tests = append(n.tests, p.parseTuple(false, ""))
		body, end := p.parseBody("elif", "else", "endif")
		n.bodies = append(n.bodies, body)
		switch end {
		case "elif":
			continue
		case "else":
			body, _ = p.parseBody("endif")
			n.bodies = append(n.bodies, body)
		}
		return n
	}
}

func (p *parser) parseFor(line pos) stmt {
	n := &forS{pos: line, target: p.parseTarget(false)}
	if !p.skipName("in") {
		p.fail("expected \"in\", got %s", p.cur().describe())
	}
	n.iter = p.parseTuple(false, "recursive")
	if p.skipName("if") {
		n.cond = p.parseExpression(true)
	}
	n.recursive = p.skipName("recursive")
	p.loops++
	body, end := p.parseBody("endfor", "else")
	p.loops--
	n.body = body
	if end == "else" {
		n.alt, _ = p.parseBody("endfor")
	}
	return n
}

func (p *parser) parseSet(line pos) stmt {
	t := p.parseTarget(true)
	if p.skipOp("=") {
		return &setS{line, t, p.parseTuple(true, "")}
	}
	f := p.parseFilters(nil, false)
	body, _ := p.parseBody("endset")
	return &setBlockS{line, t, f, body}
}

func (p *parser) parseWith(line pos) stmt {
	n := &withS{pos: line}
	for p.cur().kind != tBlockEnd {
		if len(n.targets) > 0 {
			p.wantOp(",")
		}
		n.targets = append(n.targets, p.parseTarget(false))
		p.wantOp("=")
		n.vals = append(n.vals, p.parseExpression(true))
	}
	n.body, _ = p.parseBody("endwith")
	return n
}

func (p *parser) parseSignature(m *macroDef) {
	p.wantOp("(")
	for !p.isOp(")") {
		if len(m.params) > 0 {
			p.wantOp(",")
		}
		t := p.wantName()
		p.checkAssignable(t)
		m.params = append(m.params, t.val)
		if p.skipOp("=") {
			m.defaults = append(m.defaults, p.parseExpression(true))
		} else if len(m.defaults) > 0 {
			p.fail("non-default argument follows default argument")
		}
	}
	p.wantOp(")")
}

func (p *parser) parseMacroBody(m *macroDef, end string) {
	loops := p.loops
	p.loops = 0
	p.macros = append(p.macros, m)
	m.body, _ = p.parseBody(end)
	p.macros = p.macros[:len(p.macros)-1]
	p.loops = loops
}

// noteName tells the macros around that their bodies use one of the implicit names.
func (p *parser) noteName(name string) {
	for _, m := range p.macros {
		switch name {
		case "varargs":
			m.usesVarargs = true
		case "kwargs":
			m.usesKwargs = true
		case "caller":
			m.usesCaller = true
		}
	}
}

func (p *parser) checkAssignable(t token) {
	switch t.val {
	case "true", "false", "none", "True", "False", "None":
		p.failAt(t.line, "can't assign to %q", t.val)
	}
}

// parseTarget reads the left side of an assignment: a name, names with commas, or ns.attr.
func (p *parser) parseTarget(namespace bool) target {
	line := pos(p.cur().line)
	var items []target
	tuple := false
	for {
		if p.isOp("(") {
			p.enter()
			p.next()
			items = append(items, p.parseTarget(namespace))
			p.wantOp(")")
			p.leave()
		} else {
			t := p.wantName()
			p.checkAssignable(t)
			one := target{pos: pos(t.line), name: t.val}
			if namespace && p.skipOp(".") {
				one.attr = p.wantName().val
			}
			items = append(items, one)
		}
		if !p.skipOp(",") {
			break
		}
		tuple = true
		if p.isName("in") || p.isOp("=") || p.isOp(")") || p.cur().kind == tBlockEnd {
			break
		}
	}
	if !tuple {
		return items[0]
	}
	return target{pos: line, tuple: items}
}
