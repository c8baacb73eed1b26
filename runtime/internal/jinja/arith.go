package jinja

import (
	"math"
	"math/bits"
	"strings"
)

// arith is Python's a op b for + - * / // % **. Integers are 64 bits wide; beyond that it fails.
func (in *interp) arith(op string, a, b Value) Value {
	in.checkDefined(a)
	in.checkDefined(b)
	in.bigInt(a, b)
	if s, ok := asStr(a); ok && op == "%" {
		return in.percentFormat(s, b)
	}
	x, aInt := asInt(a)
	y, bInt := asInt(b)
	if aInt && bInt {
		return in.intArith(op, x, y)
	}
	f, aNum := asFloat(a)
	g, bNum := asFloat(b)
	if aNum && bNum {
		return in.floatArith(op, f, g)
	}
	switch op {
	case "+":
		return in.concat(a, b)
	case "*":
		if aInt {
			return in.repeat(b, x, a, b)
		}
		if bInt {
			return in.repeat(a, y, a, b)
		}
	}
	in.badOperands(op, a, b)
	return nil
}

func (in *interp) badOperands(op string, a, b Value) {
	if op == "**" {
		op = "** or pow()"
	}
	in.fail("unsupported operand type(s) for %s: '%s' and '%s'", op, typeName(a), typeName(b))
}

// concat is + on sequences.
func (in *interp) concat(a, b Value) Value {
	_, am := a.(Markup)
	_, bm := b.(Markup)
	if s, ok := asStr(a); ok {
		t, ok := asStr(b)
		if !ok {
			in.fail("can only concatenate str (not \"%s\") to str", typeName(b))
		}
		if am && !bm {
			t = in.escapeHTML(t)
		}
		if bm && !am {
			s = in.escapeHTML(s)
		}
		in.alloc(len(s) + len(t))
		if am || bm {
			return Markup(s + t)
		}
		return s + t
	}
	join := func(x, y []Value) []Value {
		in.alloc(16 * (len(x) + len(y)))
		return append(append(make([]Value, 0, len(x)+len(y)), x...), y...)
	}
	switch x := a.(type) {
	case *List:
		y, ok := b.(*List)
		if !ok {
			in.fail("can only concatenate list (not \"%s\") to list", typeName(b))
		}
		return &List{join(x.Items, y.Items)}
	case *Tuple:
		y, ok := b.(*Tuple)
		if !ok {
			in.fail("can only concatenate tuple (not \"%s\") to tuple", typeName(b))
		}
		return &Tuple{join(x.Items, y.Items)}
	}
	in.badOperands("+", a, b)
	return nil
}

// repeat is a sequence times n; a and b are the operands as written.
func (in *interp) repeat(v Value, n int64, a, b Value) Value {
	n = max(n, 0)
	if s, ok := asStr(v); ok {
		in.reserve(n, int64(len(s)))
		if s == "" {
			return ""
		}
		return strings.Repeat(s, int(n))
	}
	var items []Value
	l, isList := v.(*List)
	t, isTuple := v.(*Tuple)
	switch {
	case isList:
		items = l.Items
	case isTuple:
		items = t.Items
	default:
		in.badOperands("*", a, b)
	}
	in.reserve(n, int64(16*len(items)))
	var out []Value
	if len(items) > 0 {
		for range n {
			out = append(out, items...)
		}
	}
	if isList {
		return &List{out}
	}
	return &Tuple{out}
}

func (in *interp) intArith(op string, x, y int64) Value {
	overflow := func(bad bool) {
		if bad {
			in.fail("integer result of %s exceeds 64 bits", op)
		}
	}
	switch op {
	case "+":
		s := x + y
		overflow((s > x) != (y > 0) && y != 0)
		return s
	case "-":
		s := x - y
		overflow((s < x) != (y > 0) && y != 0)
		return s
	case "*":
		p, ok := mulInt(x, y)
		overflow(!ok)
		return p
	case "/":
		if y == 0 {
			in.fail("division by zero")
		}
		return float64(x) / float64(y)
	case "//", "%":
		if y == 0 {
			in.fail("integer division or modulo by zero")
		}
		overflow(x == math.MinInt64 && y == -1)
		q, r := x/y, x%y
		if r != 0 && (r < 0) != (y < 0) { // Python rounds down
			q, r = q-1, r+y
		}
		if op == "//" {
			return q
		}
		return r
	}
	if y < 0 {
		return in.floatArith(op, float64(x), float64(y))
	}
	p := int64(1)
	for base := x; ; {
		ok := true
		if y&1 == 1 {
			p, ok = mulInt(p, base)
			overflow(!ok)
		}
		if y >>= 1; y == 0 {
			return p
		}
		base, ok = mulInt(base, base)
		overflow(!ok)
	}
}

func mulInt(x, y int64) (int64, bool) {
	hi, lo := bits.Mul64(absU(x), absU(y))
	neg := (x < 0) != (y < 0)
	switch {
	case hi != 0:
		return 0, false
	case neg && lo <= 1<<63:
		return int64(-lo), true
	case !neg && lo < 1<<63:
		return int64(lo), true
	}
	return 0, false
}

func absU(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

func (in *interp) floatArith(op string, f, g float64) Value {
	switch op {
	case "+":
		return f + g
	case "-":
		return f - g
	case "*":
		return f * g
	}
	if g == 0 && op != "**" {
		in.fail("float division by zero")
	}
	switch op {
	case "/":
		return f / g
	case "//":
		return math.Floor(f / g)
	case "%":
		r := math.Mod(f, g)
		if r != 0 && (r < 0) != (g < 0) {
			r += g
		}
		return r
	}
	// A power of a whole exponent by products; roots would need a function that differs by platform.
	if g != math.Trunc(g) || math.Abs(g) > 1024 {
		in.fail("** with exponent %s is not supported", floatRepr(g))
	}
	p := 1.0
	for range int(math.Abs(g)) {
		p *= f
	}
	if g < 0 {
		if p == 0 {
			in.fail("0.0 cannot be raised to a negative power")
		}
		return 1 / p
	}
	return p
}
