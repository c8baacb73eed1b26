package jinja

import (
	"strconv"
	"strings"
)

// parseTuple reads an expression or several with commas. Where a condition or a loop's "if" may
// follow, inline conditions are off.
func (p *parser) parseTuple(cond bool, endName string) expr {
	line := pos(p.cur().line)
	items, tuple := p.parseItems(cond, endName)
	if !tuple {
		if len(items) == 0 {
			p.fail("Expected an expression, got %s", p.cur().describe())
		}
		return items[0]
	}
	return &seqE{line, items, true}
}

func (p *parser) parseItems(cond bool, endName string) (items []expr, tuple bool) {
	for {
		t := p.cur()
		if t.kind == tVarEnd || t.kind == tBlockEnd || p.isOp(")") || endName != "" && p.isName(endName) {
			return items, tuple
		}
		items = append(items, p.parseExpression(cond))
		if !p.skipOp(",") {
			return items, tuple
		}
		tuple = true
	}
}

func (p *parser) parseExpression(cond bool) expr {
	p.enter()
	defer p.leave()
	if !cond {
		return p.parseOr()
	}
	x := p.parseOr()
	for p.isName("if") {
		line := pos(p.next().line)
		p.soft++
		c := &condE{pos: line, test: p.parseOr(), a: x}
		if p.skipName("else") {
			c.b = p.parseExpression(true)
		}
		p.soft--
		x = c
	}
	return x
}

func (p *parser) parseOr() expr {
	x := p.parseAnd()
	for p.isName("or") {
		line := pos(p.next().line)
		x = &logicE{line, false, x, p.parseAnd()}
	}
	return x
}

func (p *parser) parseAnd() expr {
	x := p.parseNot()
	for p.isName("and") {
		line := pos(p.next().line)
		x = &logicE{line, true, x, p.parseNot()}
	}
	return x
}

func (p *parser) parseNot() expr {
	if p.isName("not") {
		p.enter()
		defer p.leave()
		line := pos(p.next().line)
		return &unaryE{line, 'n', p.parseNot()}
	}
	return p.parseCompare()
}

func (p *parser) parseCompare() expr {
	line := pos(p.cur().line)
	x := p.parseSum()
	var c *compareE
	for {
		op := ""
		switch t := p.cur(); {
		case t.kind == tOp && strings.Contains("== != < <= > >=", t.val) && t.val != "=":
			op = t.val
			p.next()
		case p.isName("in"):
			op = "in"
			p.next()
		case p.isName("not") && p.look().kind == tName && p.look().val == "in":
			op = "not in"
			p.next()
			p.next()
		}
		if op == "" {
			break
		}
		if c == nil {
			c = &compareE{pos: line, x: x}
		}
		c.ops = append(c.ops, op)
		c.rhs = append(c.rhs, p.parseSum())
	}
	if c == nil {
		return x
	}
	return c
}

func (p *parser) binary(sub func() expr, ops ...string) expr {
	x := sub()
	for {
		t := p.cur()
		if t.kind != tOp {
			return x
		}
		found := false
		for _, op := range ops {
			found = found || op == t.val
		}
		if !found {
			return x
		}
		p.next()
		x = &binE{pos(t.line), t.val, x, sub()}
	}
}

func (p *parser) parseSum() expr     { return p.binary(p.parseConcat, "+", "-") }
func (p *parser) parseProduct() expr { return p.binary(p.parsePower, "*", "/", "//", "%") }
func (p *parser) parsePower() expr {
	return p.binary(func() expr { return p.parseUnary(true) }, "**")
}

func (p *parser) parseConcat() expr {
	line := pos(p.cur().line)
	parts := []expr{p.parseProduct()}
	for p.skipOp("~") {
		parts = append(parts, p.parseProduct())
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return &concatE{line, parts}
}

func (p *parser) parseUnary(filters bool) expr {
	var x expr
	if t := p.cur(); t.kind == tOp && (t.val == "-" || t.val == "+") {
		p.enter()
		p.next()
		x = &unaryE{pos(t.line), t.val[0], p.parseUnary(false)}
		p.leave()
	} else {
		x = p.parsePrimary()
	}
	x = p.parsePostfix(x)
	if filters {
		x = p.parseFilterExpr(x)
	}
	return x
}

func (p *parser) parsePrimary() expr {
	t := p.next()
	line := pos(t.line)
	switch t.kind {
	case tName:
		switch t.val {
		case "true", "True":
			return &constE{line, true}
		case "false", "False":
			return &constE{line, false}
		case "none", "None":
			return &constE{line, nil}
		}
		p.noteName(t.val)
		return &nameE{line, t.val}
	case tString:
		var b strings.Builder
		b.WriteString(t.val)
		for p.cur().kind == tString {
			b.WriteString(p.next().val)
		}
		return &constE{line, b.String()}
	case tInt:
		return &constE{line, p.intConst(t)}
	case tFloat:
		f, err := strconv.ParseFloat(t.val, 64)
		if err != nil && !strings.Contains(err.Error(), "range") {
			p.failAt(t.line, "bad number %q", t.val)
		}
		return &constE{line, f}
	case tOp:
		switch t.val {
		case "(":
			items, tuple := p.parseItems(true, "")
			p.wantOp(")")
			if len(items) == 1 && !tuple {
				return items[0]
			}
			return &seqE{line, items, true}
		case "[":
			n := &seqE{pos: line}
			for !p.isOp("]") {
				if len(n.items) > 0 {
					p.wantOp(",")
				}
				if p.isOp("]") {
					break
				}
				n.items = append(n.items, p.parseExpression(true))
			}
			p.wantOp("]")
			return n
		case "{":
			return p.parseDict(line)
		}
	}
	p.failAt(t.line, "unexpected %s", t.describe())
	return nil
}

func (p *parser) intConst(t token) Value {
	s, base := t.val, int64(10)
	if len(s) > 2 && s[0] == '0' {
		switch s[1] | 0x20 {
		case 'x':
			s, base = s[2:], 16
		case 'o':
			s, base = s[2:], 8
		case 'b':
			s, base = s[2:], 2
		}
	}
	v, ok := parseBase(s, base)
	if !ok {
		p.failAt(t.line, "integer %q is too large", t.val)
	}
	return v
}

func (p *parser) parseDict(line pos) expr {
	n := &dictE{pos: line}
	for !p.isOp("}") {
		if len(n.keys) > 0 {
			p.wantOp(",")
		}
		if p.isOp("}") {
			break
		}
		n.keys = append(n.keys, p.parseExpression(true))
		p.wantOp(":")
		n.vals = append(n.vals, p.parseExpression(true))
	}
	p.wantOp("}")
	return n
}

func (p *parser) parsePostfix(x expr) expr {
	for {
		switch {
		case p.isOp("."):
			x = p.parseDot(x)
		case p.isOp("["):
			x = p.parseIndex(x)
		case p.isOp("("):
			line := pos(p.cur().line)
			x = &callE{line, x, p.parseArgs()}
		default:
			return x
		}
	}
}

func (p *parser) parseDot(x expr) expr {
	line := pos(p.next().line)
	switch t := p.next(); t.kind {
	case tName:
		return &attrE{line, x, t.val}
	case tInt:
		return &itemE{line, x, &constE{line, p.intConst(t)}}
	default:
		p.failAt(t.line, "expected name or number")
		return nil
	}
}

func (p *parser) parseIndex(x expr) expr {
	line := pos(p.next().line)
	var items []expr
	for !p.isOp("]") {
		if len(items) > 0 {
			p.wantOp(",")
		}
		items = append(items, p.parseSubscript())
	}
	p.wantOp("]")
	if len(items) == 1 {
		return &itemE{line, x, items[0]}
	}
	return &itemE{line, x, &seqE{line, items, true}}
}

func (p *parser) parseSubscript() expr {
	s := &sliceE{pos: pos(p.cur().line)}
	end := func() bool { return p.isOp("]") || p.isOp(",") }
	if !p.isOp(":") {
		x := p.parseExpression(true)
		if !p.isOp(":") {
			return x
		}
		s.lo = x
	}
	p.wantOp(":")
	if !end() && !p.isOp(":") {
		s.hi = p.parseExpression(true)
	}
	if p.skipOp(":") && !end() {
		s.step = p.parseExpression(true)
	}
	return s
}

func (p *parser) parseArgs() callArgs {
	line := p.wantOp("(").line
	var a callArgs
	need := func(ok bool) {
		if !ok {
			p.failAt(line, "invalid syntax for function call expression")
		}
	}
	for first := true; !p.isOp(")"); first = false {
		if !first {
			p.wantOp(",")
			if p.isOp(")") {
				break
			}
		}
		switch next := p.look(); {
		case p.skipOp("*"):
			need(a.star == nil && a.dstar == nil)
			a.star = p.parseExpression(true)
		case p.skipOp("**"):
			need(a.dstar == nil)
			a.dstar = p.parseExpression(true)
		case p.cur().kind == tName && next.kind == tOp && next.val == "=":
			need(a.dstar == nil)
			name := p.next().val
			p.next()
			a.names = append(a.names, name)
			a.kw = append(a.kw, p.parseExpression(true))
		default:
			need(a.star == nil && a.dstar == nil && len(a.kw) == 0)
			a.pos = append(a.pos, p.parseExpression(true))
		}
	}
	p.wantOp(")")
	return a
}

func (p *parser) parseFilterExpr(x expr) expr {
	for {
		switch {
		case p.isOp("|"):
			x = p.parseFilters(x, false)
		case p.isName("is"):
			x = p.parseTest(x)
		case p.isOp("("):
			line := pos(p.cur().line)
			x = &callE{line, x, p.parseArgs()}
		default:
			return x
		}
	}
}

// parseFilters reads "|name(args)" any number of times; inline: the first without its bar.
func (p *parser) parseFilters(x expr, inline bool) expr {
	for ; inline || p.isOp("|"); inline = false {
		if !inline {
			p.next()
		}
		t := p.wantName()
		f := &filterE{pos: pos(t.line), x: x, name: p.dotted(t.val)}
		if p.isOp("(") {
			f.args = p.parseArgs()
		}
		if _, ok := filters[f.name]; !ok && p.soft == 0 {
			p.failAt(t.line, "No filter named %q.", f.name)
		}
		x = f
	}
	return x
}

func (p *parser) dotted(name string) string {
	for p.skipOp(".") {
		name += "." + p.wantName().val
	}
	return name
}

func (p *parser) parseTest(x expr) expr {
	line := pos(p.next().line)
	negated := p.skipName("not")
	n := &testE{pos: line, x: x, name: p.dotted(p.wantName().val)}
	switch t := p.cur(); {
	case p.isOp("("):
		n.args = p.parseArgs()
	case t.kind == tName && t.val != "else" && t.val != "or" && t.val != "and",
		t.kind == tString, t.kind == tInt, t.kind == tFloat, p.isOp("["), p.isOp("{"):
		if p.isName("is") {
			p.fail("You cannot chain multiple tests with is")
		}
		n.args.pos = []expr{p.parsePostfix(p.parsePrimary())}
	}
	if _, ok := tests[n.name]; !ok && p.soft == 0 {
		p.failAt(int(line), "No test named %q.", n.name)
	}
	if negated {
		return &unaryE{line, 'n', n}
	}
	return n
}
