package jinja

import (
	"fmt"
	"strings"
	"time"
)

// interp is one rendering. Its methods leave on failure by panicking with *Error; Render catches it.
type interp struct {
	lim         Limits
	steps, used int64
	depth       int
	line        int // of the node evaluated last, for errors
	now         time.Time
	out         *strings.Builder
	scope, root *scope
}

// maxDepth bounds the recursion of evaluation, macros and nested values, as Python's recursion
// limit does.
const maxDepth = 3000

type scope struct {
	vars   map[string]Value
	parent *scope
}

func (in *interp) fail(format string, a ...any) {
	panic(&Error{Kind: Runtime, Msg: fmt.Sprintf(format, a...)})
}

func (in *interp) exceed(format string, a ...any) {
	panic(&Error{Kind: Limit, Msg: fmt.Sprintf(format, a...)})
}

// step charges n steps of work.
func (in *interp) step(n int) {
	if in.steps += int64(n); in.steps > in.lim.Steps {
		in.exceed("template ran longer than %d steps", in.lim.Steps)
	}
}

// alloc charges n bytes about to be built, before they are.
func (in *interp) alloc(n int) {
	if in.used += int64(n); in.used > in.lim.Bytes || n < 0 {
		in.exceed("template built more than %d bytes of text", in.lim.Bytes)
	}
	in.step(n / 64)
}

// reserve is alloc for count pieces of size bytes, whose product may overflow.
func (in *interp) reserve(count, size int64) {
	if count > 0 && size > 0 {
		if count > in.lim.Bytes/size {
			in.exceed("template built more than %d bytes of text", in.lim.Bytes)
		}
		in.alloc(int(count * size))
	}
}

func (in *interp) enter() {
	if in.depth++; in.depth > maxDepth {
		in.exceed("maximum recursion depth exceeded")
	}
}

func (in *interp) leave() { in.depth-- }

func (in *interp) undefined(format string, a ...any) *Undefined {
	return &Undefined{fmt.Sprintf(format, a...)}
}

// checkDefined fails if v is undefined.
func (in *interp) checkDefined(v Value) {
	if u, ok := v.(*Undefined); ok {
		in.fail("%s", u.msg)
	}
}

func (in *interp) lookup(name string) Value {
	depth := 0
	for s := in.scope; s != nil; s = s.parent {
		if v, ok := s.vars[name]; ok {
			in.step(depth / 8)
			return v
		}
		depth++
	}
	in.step(depth / 8)
	return in.undefined("'%s' is undefined", name)
}

// set assigns in the innermost scope, as jinja2 does: nothing leaks out of loops and macros.
func (in *interp) set(name string, v Value) {
	if in.scope.vars == nil {
		in.scope.vars = make(map[string]Value, 4)
	}
	in.scope.vars[name] = v
}

// within runs f in a new scope below parent.
func (in *interp) within(parent *scope, f func()) {
	old := in.scope
	in.scope = &scope{parent: parent}
	f()
	in.scope = old
}

// capture returns the text that f prints.
func (in *interp) capture(f func()) string {
	old := in.out
	in.out = &strings.Builder{}
	f()
	s := in.out.String()
	in.out = old
	return s
}

func (in *interp) print(s string) {
	in.alloc(len(s))
	in.out.WriteString(s)
}

func (in *interp) exec(body []stmt) ctl {
	in.enter()
	for _, s := range body {
		in.step(1)
		in.line = s.at()
		if c := in.execOne(s); c != ctlNext {
			in.leave()
			return c
		}
	}
	in.leave()
	return ctlNext
}

func (in *interp) execOne(s stmt) ctl {
	switch n := s.(type) {
	case *dataS:
		in.print(n.text)
	case *outS:
		in.print(in.str(in.eval(n.x)))
	case *printS:
		for _, x := range n.items {
			in.print(in.str(in.eval(x)))
		}
	case *ifS:
		for i, t := range n.tests {
			if truth(in.eval(t)) {
				return in.exec(n.bodies[i])
			}
		}
		if len(n.bodies) > len(n.tests) {
			return in.exec(n.bodies[len(n.tests)])
		}
	case *forS:
		in.execFor(n, in.eval(n.iter), 0)
	case *setS:
		in.assign(&n.target, in.eval(n.x))
	case *setBlockS:
		var v Value = in.capture(func() { in.within(in.scope, func() { in.exec(n.body) }) })
		if n.filter != nil {
			v = in.evalFilterOn(n.filter, v)
		}
		in.assign(&n.target, v)
	case *macroS:
		in.set(n.m.name, &macro{def: n.m, scope: in.scope})
	case *callS:
		caller := &macro{def: n.m, scope: in.scope}
		f := in.eval(n.call.f)
		a := in.evalArgs(&n.call.args)
		a.kwNames = append(a.kwNames, "caller")
		a.kwVals = append(a.kwVals, caller)
		in.print(in.str(in.call(f, a)))
	case *filterS:
		text := in.capture(func() { in.within(in.scope, func() { in.exec(n.body) }) })
		in.print(in.str(in.evalFilterOn(n.filter, text)))
	case *withS:
		vals := make([]Value, len(n.vals))
		for i, x := range n.vals {
			vals[i] = in.eval(x)
		}
		var c ctl
		in.within(in.scope, func() {
			for i := range vals {
				in.assign(&n.targets[i], vals[i])
			}
			c = in.exec(n.body)
		})
		return c
	case *scopeS:
		var c ctl
		in.within(in.scope, func() { c = in.exec(n.body) })
		return c
	case *loopCtlS:
		return n.ctl
	default:
		in.fail("internal error: statement %T", s)
	}
	return ctlNext
}

func (in *interp) assign(t *target, v Value) {
	switch {
	case t.tuple != nil:
		items := in.iterate(v)
		if len(items) < len(t.tuple) {
			in.fail("not enough values to unpack (expected %d, got %d)", len(t.tuple), len(items))
		}
		if len(items) > len(t.tuple) {
			in.fail("too many values to unpack (expected %d)", len(t.tuple))
		}
		for i := range t.tuple {
			in.assign(&t.tuple[i], items[i])
		}
	case t.attr != "":
		ns, ok := in.lookup(t.name).(*Namespace)
		if !ok {
			in.fail("cannot assign attribute on non-namespace object")
		}
		ns.attrs.Set(t.attr, v)
	default:
		in.set(t.name, v)
	}
}

// loop is the variable "loop" of a for statement.
type loop struct {
	items   []Value
	i       int
	depth0  int
	node    *forS
	scope   *scope // around the statement
	changed []Value
	seen    bool // whether changed holds the last call's values
}

// execFor runs a loop over v; depth counts the levels of a recursive loop.
func (in *interp) execFor(n *forS, v Value, depth int) {
	outer := in.scope
	items := in.iterate(v)
	if n.cond != nil {
		var kept []Value
		for _, it := range items {
			in.within(outer, func() {
				in.assign(&n.target, it)
				if truth(in.eval(n.cond)) {
					kept = append(kept, it)
				}
			})
		}
		in.alloc(16 * len(kept))
		items = kept
	}
	if len(items) == 0 {
		in.within(outer, func() { in.exec(n.alt) })
		return
	}
	l := &loop{items: items, depth0: depth, node: n, scope: outer}
	for i, it := range items {
		l.i = i
		in.step(1)
		in.scope = &scope{vars: map[string]Value{"loop": l}, parent: outer}
		in.assign(&n.target, it)
		c := in.exec(n.body)
		if c == ctlBreak {
			break
		}
	}
	in.scope = outer
}

// attr returns an attribute of the loop variable.
func (l *loop) attr(in *interp, name string) (Value, bool) {
	n := len(l.items)
	switch name {
	case "index":
		return int64(l.i + 1), true
	case "index0":
		return int64(l.i), true
	case "revindex":
		return int64(n - l.i), true
	case "revindex0":
		return int64(n - l.i - 1), true
	case "first":
		return l.i == 0, true
	case "last":
		return l.i == n-1, true
	case "length":
		return int64(n), true
	case "depth":
		return int64(l.depth0 + 1), true
	case "depth0":
		return int64(l.depth0), true
	case "previtem":
		if l.i == 0 {
			return in.undefined("there is no previous item"), true
		}
		return l.items[l.i-1], true
	case "nextitem":
		if l.i == n-1 {
			return in.undefined("there is no next item"), true
		}
		return l.items[l.i+1], true
	case "cycle":
		return rawFunc("cycle", func(in *interp, _ Value, a *args) Value {
			if len(a.pos) == 0 {
				in.fail("no items for cycling given")
			}
			return a.pos[l.i%len(a.pos)]
		}), true
	case "changed":
		return rawFunc("changed", func(in *interp, _ Value, a *args) Value {
			same := l.seen && in.equalItems(l.changed, a.pos)
			l.changed, l.seen = a.pos, true
			return !same
		}), true
	}
	return nil, false
}

// recurse is loop(items) inside a loop marked recursive.
func (l *loop) recurse(in *interp, a *args) Value {
	if !l.node.recursive {
		in.fail("The loop must have the 'recursive' marker to be called recursively.")
	}
	if len(a.pos) != 1 {
		in.fail("loop() takes one argument")
	}
	old := in.scope
	in.scope = l.scope
	s := in.capture(func() { in.execFor(l.node, a.pos[0], l.depth0+1) })
	in.scope = old
	return s
}

// macro is a macro with the scope it was defined in.
type macro struct {
	def   *macroDef
	scope *scope
}

func (m *macro) attr(name string) (Value, bool) {
	switch name {
	case "name":
		return m.def.name, true
	case "arguments":
		t := &Tuple{}
		for _, p := range m.def.params {
			t.Items = append(t.Items, p)
		}
		return t, true
	case "catch_kwargs":
		return m.def.usesKwargs, true
	case "catch_varargs":
		return m.def.usesVarargs, true
	case "caller":
		return m.def.usesCaller, true
	}
	return nil, false
}

// call renders the macro's body with its arguments bound.
func (m *macro) call(in *interp, a *args) Value {
	d := m.def
	bound := make([]Value, len(d.params))
	given := make([]bool, len(d.params))
	n := copy(bound, a.pos)
	for i := range n {
		given[i] = true
	}
	kw := NewDict()
	for i, name := range a.kwNames {
		kw.Set(name, a.kwVals[i])
	}
	take := func(name string) (Value, bool) {
		i, ok := kw.index[name]
		if !ok {
			return nil, false
		}
		in.step(kw.Len())
		v := kw.vals[i]
		rest := NewDict()
		for j, k := range kw.keys {
			if j != i {
				rest.Set(k.(string), kw.vals[j])
			}
		}
		kw = rest
		return v, true
	}
	explicitCaller := false
	for i := n; i < len(d.params); i++ {
		bound[i], given[i] = take(d.params[i])
	}
	for _, p := range d.params {
		explicitCaller = explicitCaller || p == "caller"
	}
	var caller Value
	if d.usesCaller && !explicitCaller {
		v, ok := take("caller")
		if !ok || v == nil {
			v = in.undefined("No caller defined")
		}
		caller = v
	}
	if kw.Len() > 0 && !d.usesKwargs {
		if _, ok := kw.Get("caller"); ok {
			in.fail("macro '%s' was invoked with two values for the special caller argument", d.name)
		}
		in.fail("macro '%s' takes no keyword argument '%s'", d.name, kw.keys[0])
	}
	if len(a.pos) > len(d.params) && !d.usesVarargs {
		in.fail("macro '%s' takes not more than %d argument(s)", d.name, len(d.params))
	}
	in.enter()
	line := in.line
	var s string
	in.within(m.scope, func() {
		if d.usesCaller && !explicitCaller {
			in.set("caller", caller)
		}
		if d.usesKwargs {
			in.set("kwargs", kw)
		}
		if d.usesVarargs {
			in.set("varargs", &Tuple{Items: a.pos[min(n, len(a.pos)):]})
		}
		firstDefault := len(d.params) - len(d.defaults)
		for i, p := range d.params {
			switch {
			case given[i]:
				in.set(p, bound[i])
			case i >= firstDefault:
				in.set(p, in.eval(d.defaults[i-firstDefault]))
			default:
				in.set(p, in.undefined("parameter '%s' was not provided", p))
			}
		}
		s = in.capture(func() { in.exec(d.body) })
	})
	in.line = line
	in.leave()
	return s
}
