package jinja

import (
	"math/big"
	"strings"
)

func (in *interp) eval(x expr) Value {
	in.enter()
	in.step(1)
	v := in.evalOne(x)
	in.leave()
	return v
}

func (in *interp) evalOne(x expr) Value {
	in.line = x.at()
	switch n := x.(type) {
	case *constE:
		return n.v
	case *nameE:
		return in.lookup(n.name)
	case *seqE:
		in.alloc(16 * len(n.items))
		items := make([]Value, len(n.items))
		for i, e := range n.items {
			items[i] = in.eval(e)
		}
		if n.tuple {
			return &Tuple{items}
		}
		return &List{items}
	case *dictE:
		d := NewDict()
		in.alloc(64 * len(n.keys))
		for i, k := range n.keys {
			key := in.eval(k)
			d.set(in.hashKey(key), key, in.eval(n.vals[i]))
		}
		return d
	case *attrE:
		v := in.eval(n.x)
		in.line = n.at()
		return in.getattr(v, n.name)
	case *itemE:
		v := in.eval(n.x)
		if s, ok := n.idx.(*sliceE); ok {
			return in.evalSlice(v, s)
		}
		return in.getitem(v, in.eval(n.idx))
	case *callE:
		f := in.eval(n.f)
		a := in.evalArgs(&n.args)
		in.line = n.at()
		return in.call(f, a)
	case *filterE:
		return in.evalFilterOn(n, nil)
	case *testE:
		v := in.eval(n.x)
		a := in.evalArgs(&n.args)
		in.line = n.at()
		return in.test(n.name, v, a)
	case *unaryE:
		return in.unary(n.op, in.eval(n.x))
	case *binE:
		a, b := in.eval(n.a), in.eval(n.b)
		in.line = n.at()
		return in.arith(n.op, a, b)
	case *logicE:
		if a := in.eval(n.a); truth(a) != n.and {
			return a
		}
		return in.eval(n.b)
	case *compareE:
		return in.evalCompare(n)
	case *concatE:
		parts := make([]string, len(n.parts))
		for i, p := range n.parts {
			parts[i] = in.str(in.eval(p))
			in.alloc(len(parts[i]))
		}
		return strings.Join(parts, "")
	case *condE:
		if truth(in.eval(n.test)) {
			return in.eval(n.a)
		}
		if n.b == nil {
			return in.undefined("the inline if-expression on line %d evaluated to false and no else section was defined.", n.at())
		}
		return in.eval(n.b)
	}
	in.fail("internal error: expression %T", x)
	return nil
}

// evalFilterOn applies a filter chain; where it has no expression at its start, to v.
func (in *interp) evalFilterOn(x expr, v Value) Value {
	n, ok := x.(*filterE)
	if !ok {
		return in.eval(x)
	}
	if n.x != nil {
		if inner, ok := n.x.(*filterE); ok {
			in.enter()
			v = in.evalFilterOn(inner, v)
			in.leave()
		} else {
			v = in.eval(n.x)
		}
	}
	a := in.evalArgs(&n.args)
	in.line = n.at()
	in.step(1)
	return in.filter(n.name, v, a)
}

func (in *interp) evalCompare(n *compareE) Value {
	a := in.eval(n.x)
	for i, op := range n.ops {
		b := in.eval(n.rhs[i])
		in.line = n.at()
		if !in.compareOp(op, a, b) {
			return false
		}
		a = b
	}
	return true
}

func (in *interp) compareOp(op string, a, b Value) bool {
	switch op {
	case "==":
		return in.equal(a, b)
	case "!=":
		return !in.equal(a, b)
	case "in":
		return in.contains(b, a)
	case "not in":
		return !in.contains(b, a)
	}
	c := in.compare(a, b, op)
	switch op {
	case "<":
		return c == -1
	case "<=":
		return c == -1 || c == 0
	case ">":
		return c == 1
	}
	return c == 1 || c == 0
}

// contains is Python's v in c.
func (in *interp) contains(c, v Value) bool {
	if s, ok := asStr(c); ok {
		sub, ok := asStr(v)
		if !ok {
			in.checkDefined(v)
			in.fail("'in <string>' requires string as left operand, not %s", typeName(v))
		}
		in.step(len(s) / 16)
		return strings.Contains(s, sub)
	}
	if d, ok := c.(*Dict); ok {
		_, ok := d.get(in.hashKey(v))
		return ok
	}
	items, ok := in.tryIterate(c)
	if !ok {
		in.fail("argument of type '%s' is not iterable", typeName(c))
	}
	for _, it := range items {
		if in.equal(it, v) {
			return true
		}
	}
	return false
}

// getattr is foo.name: the attribute, else the item.
func (in *interp) getattr(v Value, name string) Value {
	in.checkDefined(v)
	if a, ok := in.attribute(v, name); ok {
		return a
	}
	if d, ok := v.(*Dict); ok {
		if it, ok := d.Get(name); ok {
			return it
		}
	}
	return in.noAttr(v, name)
}

func (in *interp) noAttr(v Value, name string) Value {
	return in.undefined("'%s' has no attribute '%s'", objectRepr(v), name)
}

// getitem is foo[idx]: the item, else the attribute.
func (in *interp) getitem(v, idx Value) Value {
	in.checkDefined(v)
	switch x := v.(type) {
	case *Dict:
		switch idx.(type) {
		case *List, *Dict: // not hashable: no such item
		default:
			if it, ok := x.get(in.hashKey(idx)); ok {
				return it
			}
		}
	case *List, *Tuple, string, Markup:
		if i, ok := asInt(idx); ok {
			if it, ok := in.index(v, i); ok {
				return it
			}
		}
	}
	if name, ok := asStr(idx); ok {
		if a, ok := in.attribute(v, name); ok {
			return a
		}
		return in.noAttr(v, name)
	}
	return in.undefined("%s has no element %s", objectRepr(v), in.repr(idx))
}

// index returns element i of a sequence, from the end if negative.
func (in *interp) index(v Value, i int64) (Value, bool) {
	var items []Value
	switch x := v.(type) {
	case *List:
		items = x.Items
	case *Tuple:
		items = x.Items
	default:
		s, _ := asStr(v)
		r := in.runes(s)
		if i < 0 {
			i += int64(len(r))
		}
		if i < 0 || i >= int64(len(r)) {
			return nil, false
		}
		return string(r[i]), true
	}
	if i < 0 {
		i += int64(len(items))
	}
	if i < 0 || i >= int64(len(items)) {
		return nil, false
	}
	return items[i], true
}

// runes returns the code points of s.
func (in *interp) runes(s string) []rune {
	in.alloc(4 * len(s))
	return []rune(s)
}

func (in *interp) evalSlice(v Value, s *sliceE) Value {
	in.checkDefined(v)
	part := func(e expr) Value {
		if e == nil {
			return nil
		}
		p := in.eval(e)
		if _, ok := asInt(p); !ok && p != nil {
			in.checkDefined(p)
			return in.undefined("slice indices must be integers or None")
		}
		return p
	}
	lo, hi, step := part(s.lo), part(s.hi), part(s.step)
	for _, p := range []Value{lo, hi, step} {
		if u, ok := p.(*Undefined); ok {
			return u
		}
	}
	switch x := v.(type) {
	case *List:
		return &List{slice(in, x.Items, lo, hi, step)}
	case *Tuple:
		return &Tuple{slice(in, x.Items, lo, hi, step)}
	}
	if str, ok := asStr(v); ok {
		return string(slice(in, in.runes(str), lo, hi, step))
	}
	return in.undefined("%s has no element slice", objectRepr(v))
}

// slice is Python's extended slice; bounds are nil or integers.
func slice[T any](in *interp, s []T, lo, hi, step Value) []T {
	n := int64(len(s))
	st := int64(1)
	if step != nil {
		st, _ = asInt(step)
	}
	if st == 0 {
		in.fail("slice step cannot be zero")
	}
	clamp := func(v Value, def int64) int64 {
		if v == nil {
			return def
		}
		i, _ := asInt(v)
		if i < 0 {
			i += n
		}
		if st < 0 {
			return max(-1, min(i, n-1))
		}
		return max(0, min(i, n))
	}
	from, to := clamp(lo, 0), clamp(hi, n)
	if st < 0 {
		from, to = clamp(lo, n-1), clamp(hi, -1)
	}
	st = max(-n-1, min(st, n+1)) // beyond the length, larger steps change nothing
	var out []T
	if st == 1 && from < to {
		in.alloc(16 * int(to-from))
		return append(out, s[from:to]...)
	}
	for i := from; st > 0 && i < to || st < 0 && i > to; i += st {
		in.alloc(16)
		out = append(out, s[i])
	}
	return out
}

func (in *interp) unary(op byte, v Value) Value {
	if op == 'n' {
		return !truth(v)
	}
	in.checkDefined(v)
	if f, ok := v.(float64); ok {
		if op == '-' {
			return -f
		}
		return f
	}
	i, ok := asInt(v)
	if !ok {
		in.fail("bad operand type for unary %c: '%s'", op, typeName(v))
	}
	if op == '-' {
		return in.arith("-", int64(0), i)
	}
	return i
}

// args are evaluated arguments.
type args struct {
	pos     []Value
	kwNames []string
	kwVals  []Value
}

func (in *interp) evalArgs(c *callArgs) *args {
	a := &args{}
	for _, e := range c.pos {
		a.pos = append(a.pos, in.eval(e))
	}
	for i, e := range c.kw {
		a.addKw(in, c.names[i], in.eval(e))
	}
	if c.star != nil {
		items := in.iterate(in.eval(c.star))
		in.alloc(16 * len(items))
		a.pos = append(a.pos, items...)
	}
	if c.dstar != nil {
		d, ok := in.eval(c.dstar).(*Dict)
		if !ok {
			in.fail("argument after ** must be a mapping")
		}
		for i, k := range d.keys {
			name, ok := asStr(k)
			if !ok {
				in.fail("keywords must be strings")
			}
			a.addKw(in, name, d.vals[i])
		}
	}
	return a
}

func (a *args) addKw(in *interp, name string, v Value) {
	in.step(1 + len(a.kwNames)/8)
	for _, n := range a.kwNames {
		if n == name {
			in.fail("got multiple values for keyword argument '%s'", name)
		}
	}
	a.kwNames = append(a.kwNames, name)
	a.kwVals = append(a.kwVals, v)
}

func (in *interp) call(f Value, a *args) Value {
	switch x := f.(type) {
	case *Func:
		return x.invoke(in, a)
	case *macro:
		in.step(8)
		return x.call(in, a)
	case *loop:
		return x.recurse(in, a)
	}
	in.checkDefined(f)
	in.fail("'%s' object is not callable", typeName(f))
	return nil
}

// bigInt fails on arithmetic with integers beyond int64, which are carried but not computed with.
func (in *interp) bigInt(a, b Value) {
	_, x := a.(*big.Int)
	_, y := b.(*big.Int)
	if x || y {
		in.fail("arithmetic on integers beyond 64 bits is not supported")
	}
}
