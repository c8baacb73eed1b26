package jinja

import (
	"math/big"
	"strings"
	"unicode"
)

// tests are the words after "is". Their first value is the tested one.
var tests map[string]*Func

func (in *interp) test(name string, v Value, a *args) bool {
	f, ok := tests[name]
	if !ok {
		in.fail("No test named '%s' found.", name)
	}
	b := *f
	b.name = name
	b.self, b.bound = v, true
	return truth(b.invoke(in, a))
}

func init() {
	tests = map[string]*Func{}
	one := func(name string, f func(in *interp, v Value) bool) {
		tests[name] = fixed("", func(in *interp, v []Value) Value { return f(in, v[0]) })
	}
	kind := func(name string, f func(v Value) bool) { one(name, func(_ *interp, v Value) bool { return f(v) }) }
	op := func(op string, names ...string) {
		for _, n := range names {
			tests[n] = fixed("other", func(in *interp, v []Value) Value { return in.compareOp(op, v[0], v[1]) })
		}
	}
	kind("defined", func(v Value) bool { _, ok := v.(*Undefined); return !ok })
	kind("undefined", func(v Value) bool { _, ok := v.(*Undefined); return ok })
	kind("none", func(v Value) bool { return v == nil })
	kind("boolean", func(v Value) bool { _, ok := v.(bool); return ok })
	kind("true", func(v Value) bool { return v == true })
	kind("false", func(v Value) bool { return v == false })
	kind("integer", func(v Value) bool {
		_, i := v.(int64)
		_, b := v.(*big.Int)
		return i || b
	})
	kind("float", func(v Value) bool { _, ok := v.(float64); return ok })
	kind("number", func(v Value) bool { _, ok := asFloat(v); return ok })
	kind("string", func(v Value) bool { _, ok := asStr(v); return ok })
	kind("mapping", func(v Value) bool { _, ok := v.(*Dict); return ok })
	kind("escaped", func(v Value) bool { _, ok := v.(Markup); return ok })
	kind("callable", func(v Value) bool {
		switch v.(type) {
		case *Func, *macro, *loop, *Undefined:
			return true
		}
		return false
	})
	kind("sequence", func(v Value) bool {
		switch v.(type) {
		case string, Markup, *List, *Tuple, *Dict, *Undefined:
			return true
		}
		return false
	})
	kind("iterable", func(v Value) bool {
		switch v.(type) {
		case string, Markup, *List, *Tuple, *Dict, *Undefined, *view, *generator, *loop:
			return true
		}
		return false
	})
	one("odd", func(in *interp, v Value) bool { return in.equal(in.arith("%", v, int64(2)), int64(1)) })
	one("even", func(in *interp, v Value) bool { return in.equal(in.arith("%", v, int64(2)), int64(0)) })
	one("lower", func(in *interp, v Value) bool { return isCase(in.str(v), unicode.IsLower, unicode.IsUpper) })
	one("upper", func(in *interp, v Value) bool { return isCase(in.str(v), unicode.IsUpper, unicode.IsLower) })
	one("filter", func(in *interp, v Value) bool { _, ok := filters[in.str(v)]; return ok })
	one("test", func(in *interp, v Value) bool { _, ok := tests[in.str(v)]; return ok })
	tests["divisibleby"] = fixed("num", func(in *interp, v []Value) Value {
		return in.equal(in.arith("%", v[0], v[1]), int64(0))
	})
	tests["sameas"] = fixed("other", func(in *interp, v []Value) Value { return v[0] == v[1] })
	tests["in"] = fixed("seq", func(in *interp, v []Value) Value { return in.contains(v[1], v[0]) })
	op("==", "==", "eq", "equalto")
	op("!=", "!=", "ne")
	op("<", "<", "lt", "lessthan")
	op("<=", "<=", "le")
	op(">", ">", "gt", "greaterthan")
	op(">=", ">=", "ge")
}

// isCase is Python's islower or isupper: some cased letter, none of the other case.
func isCase(s string, want, other func(rune) bool) bool {
	return strings.IndexFunc(s, want) >= 0 &&
		strings.IndexFunc(s, func(r rune) bool { return other(r) || unicode.IsTitle(r) }) < 0
}
