package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Value is what an expression evaluates to, one of: nil (None), bool, int64, *big.Int (integers
// beyond int64, which only pass through), float64, string (valid UTF-8), Markup, *List, *Tuple,
// *Dict, *Undefined, *Namespace, *view, *generator, *loop, *Func, *macro.
type Value any

// Markup is a string that the safe and escape filters marked as HTML.
type Markup string

// List is Python's list. Templates cannot change one.
type List struct{ Items []Value }

// Tuple is Python's tuple.
type Tuple struct{ Items []Value }

// Dict is Python's dict: keys in order of insertion. Templates cannot change one.
type Dict struct {
	keys, vals []Value
	index      map[any]int // hashKey of the key → place
}

// NewDict returns an empty dict.
func NewDict() *Dict { return &Dict{index: map[any]int{}} }

// Set sets a string key; a known key keeps its place.
func (d *Dict) Set(key string, v Value) { d.set(key, key, v) }

func (d *Dict) set(hash any, key, v Value) {
	if i, ok := d.index[hash]; ok {
		d.vals[i] = v
		return
	}
	d.index[hash] = len(d.keys)
	d.keys = append(d.keys, key)
	d.vals = append(d.vals, v)
}

// Get returns the value of a string key.
func (d *Dict) Get(key string) (Value, bool) { return d.get(key) }

func (d *Dict) get(hash any) (Value, bool) {
	if i, ok := d.index[hash]; ok {
		return d.vals[i], true
	}
	return nil, false
}

// Len returns the number of keys.
func (d *Dict) Len() int { return len(d.keys) }

// Namespace is the object of namespace(...), the one thing a template can assign into.
type Namespace struct{ attrs *Dict }

// Undefined stands for a missing value. Most uses of it fail with its message.
type Undefined struct{ msg string }

// view is what a dict's keys, values and items methods return.
type view struct {
	kind  string
	items []Value
}

// generator is a Python iterator: it yields its items once.
type generator struct {
	kind  string
	items []Value
}

// hashKey returns the map key that equal hashable values share.
func (in *interp) hashKey(v Value) any {
	switch x := v.(type) {
	case nil, *Namespace, *Func, *macro, *generator, *loop:
		return x
	case string:
		in.step(len(x) / 64)
		return x
	case Markup:
		return in.hashKey(string(x))
	case bool:
		return b2i(x)
	case int64:
		return x
	case float64:
		if x == math.Trunc(x) && math.Abs(x) < 1<<62 {
			return int64(x)
		}
		return x
	case *big.Int:
		return bigKey(x.String())
	case *Undefined:
		return Undefined{}
	case *Tuple:
		var b strings.Builder
		in.enter()
		for _, it := range x.Items {
			in.step(1)
			k := in.hashKey(it)
			s := ""
			switch k := k.(type) {
			case string:
				s = strconv.Quote(k)
			case int64:
				s = strconv.FormatInt(k, 10)
			case float64:
				s = strconv.FormatFloat(k, 'g', -1, 64)
			case tupleKey:
				s = "(" + string(k) + ")"
			case bigKey:
				s = string(k)
			case nil:
				s = "None"
			default:
				in.fail("this tuple cannot be a dict key here")
			}
			in.alloc(len(s) + 1)
			b.WriteString(s)
			b.WriteByte(',')
		}
		in.leave()
		return tupleKey(b.String())
	}
	in.fail("unhashable type: '%s'", typeName(v))
	return nil
}

// tupleKey is the hashKey of a tuple, bigKey that of an integer beyond int64.
type (
	tupleKey string
	bigKey   string
)

func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// asStr returns the text of a string or Markup.
func asStr(v Value) (string, bool) {
	switch x := v.(type) {
	case string:
		return x, true
	case Markup:
		return string(x), true
	}
	return "", false
}

// asInt returns the integer of an int or bool.
func asInt(v Value) (int64, bool) {
	switch x := v.(type) {
	case int64:
		return x, true
	case bool:
		return b2i(x), true
	}
	return 0, false
}

// asFloat returns the number of an int, bool or float.
func asFloat(v Value) (float64, bool) {
	if f, ok := v.(float64); ok {
		return f, true
	}
	if b, ok := v.(*big.Int); ok {
		f, _ := new(big.Float).SetInt(b).Float64()
		return f, true
	}
	i, ok := asInt(v)
	return float64(i), ok
}

// typeName is Python's type(v).__name__.
func typeName(v Value) string {
	switch x := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, *big.Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case Markup:
		return "Markup"
	case *List:
		return "list"
	case *Tuple:
		return "tuple"
	case *Dict:
		return "dict"
	case *Undefined:
		return "Undefined"
	case *Namespace:
		return "Namespace"
	case *generator:
		return x.kind
	case *view:
		return x.kind
	case *loop:
		return "LoopContext"
	case *macro:
		return "Macro"
	}
	return "builtin_function_or_method"
}

// objectRepr names a value in messages about missing attributes.
func objectRepr(v Value) string {
	switch v.(type) {
	case nil:
		return "None"
	case *Namespace:
		return "jinja2.utils.Namespace object"
	case *loop:
		return "jinja2.runtime.LoopContext object"
	case *macro:
		return "jinja2.runtime.Macro object"
	}
	return typeName(v) + " object"
}

// truth is Python's bool(v).
func truth(v Value) bool {
	switch x := v.(type) {
	case nil:
		return false
	case bool:
		return x
	case int64:
		return x != 0
	case float64:
		return x != 0
	case string:
		return x != ""
	case Markup:
		return x != ""
	case *List:
		return len(x.Items) > 0
	case *Tuple:
		return len(x.Items) > 0
	case *Dict:
		return x.Len() > 0
	case *view:
		return len(x.items) > 0
	case *Undefined:
		return false
	}
	return true
}

// str is Python's str(v), the text {{ v }} prints.
func (in *interp) str(v Value) string {
	switch x := v.(type) {
	case string:
		return x
	case Markup:
		return string(x)
	case *Undefined:
		return ""
	}
	return in.repr(v)
}

// repr is Python's repr(v).
func (in *interp) repr(v Value) string {
	w := &textWriter{in: in}
	w.repr(v)
	return w.b.String()
}

// textWriter builds text and charges for it as it grows, because nested shared values can have a
// text exponentially longer than the template.
type textWriter struct {
	in *interp
	b  strings.Builder
}

func (w *textWriter) put(s string) {
	w.in.alloc(len(s))
	w.b.WriteString(s)
}

func (w *textWriter) repr(v Value) {
	w.in.enter()
	w.in.step(1)
	switch x := v.(type) {
	case nil:
		w.put("None")
	case bool:
		if x {
			w.put("True")
		} else {
			w.put("False")
		}
	case int64:
		w.put(strconv.FormatInt(x, 10))
	case *big.Int:
		w.put(x.String())
	case float64:
		w.put(floatRepr(x))
	case string:
		w.quoted(x)
	case Markup:
		w.put("Markup(")
		w.quoted(string(x))
		w.put(")")
	case *List:
		w.put("[")
		w.items(x.Items)
		w.put("]")
	case *Tuple:
		w.put("(")
		w.items(x.Items)
		if len(x.Items) == 1 {
			w.put(",")
		}
		w.put(")")
	case *Dict:
		w.dict(x)
	case *view:
		w.put(x.kind + "([")
		w.items(x.items)
		w.put("])")
	case *Undefined:
		w.put("Undefined")
	case *Namespace:
		w.put("<Namespace ")
		w.dict(x.attrs)
		w.put(">")
	case *macro:
		w.put("<Macro ")
		w.quoted(x.def.name)
		w.put(">")
	default:
		// Python prints an address here; no template means that.
		w.in.fail("a %s has no text; use the list filter or call it", typeName(v))
	}
	w.in.leave()
}

func (w *textWriter) items(items []Value) {
	for i, it := range items {
		if i > 0 {
			w.put(", ")
		}
		w.repr(it)
	}
}

func (w *textWriter) dict(d *Dict) {
	w.put("{")
	for i, k := range d.keys {
		if i > 0 {
			w.put(", ")
		}
		w.repr(k)
		w.put(": ")
		w.repr(d.vals[i])
	}
	w.put("}")
}

// quoted writes repr of a string: single quotes unless only those occur inside.
func (w *textWriter) quoted(s string) {
	q := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, "\"") {
		q = '"'
	}
	w.in.alloc(len(s) + 2)
	b := &w.b
	b.WriteByte(q)
	for _, r := range s {
		switch {
		case r == rune(q) || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString("\\n")
		case r == '\r':
			b.WriteString("\\r")
		case r == '\t':
			b.WriteString("\\t")
		case isPrintable(r):
			b.WriteRune(r)
		case r < 0x100:
			b.WriteString("\\x" + hex(r, 2))
		case r < 0x10000:
			b.WriteString("\\u" + hex(r, 4))
		default:
			b.WriteString("\\U" + hex(r, 8))
		}
	}
	b.WriteByte(q)
}

// isPrintable is Python's str.isprintable for one code point: as Go's, and no space but ' '.
func isPrintable(r rune) bool { return r == ' ' || strconv.IsPrint(r) }

func hex(r rune, width int) string {
	s := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", max(0, width-len(s))) + s
}

// floatRepr is Python's repr of a float: shortest digits, exponent form from 1e16 and below 1e-4.
func floatRepr(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	}
	e := strconv.FormatFloat(f, 'e', -1, 64)
	exp, _ := strconv.Atoi(e[strings.IndexByte(e, 'e')+1:])
	if exp < -4 || exp >= 16 {
		return e
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// equal is Python's a == b.
func (in *interp) equal(a, b Value) bool {
	in.step(1)
	if x, ok := asStr(a); ok {
		y, ok := asStr(b)
		if !ok || len(x) != len(y) {
			return false
		}
		in.step(len(x) / 64)
		return x == y
	}
	if x, ok := asInt(a); ok {
		if y, ok := asInt(b); ok {
			return x == y
		}
	}
	if x, ok := asFloat(a); ok {
		y, ok := asFloat(b)
		if p, isBig := a.(*big.Int); isBig {
			if q, isBig := b.(*big.Int); isBig {
				return p.Cmp(q) == 0
			}
		}
		return ok && x == y
	}
	switch x := a.(type) {
	case nil:
		return b == nil
	case *Undefined:
		_, ok := b.(*Undefined)
		return ok
	case *List:
		y, ok := b.(*List)
		return ok && (x == y || in.equalItems(x.Items, y.Items))
	case *Tuple:
		y, ok := b.(*Tuple)
		return ok && (x == y || in.equalItems(x.Items, y.Items))
	case *Dict:
		y, ok := b.(*Dict)
		return ok && (x == y || in.equalDicts(x, y))
	}
	return a == b
}

func (in *interp) equalItems(a, b []Value) bool {
	if len(a) != len(b) {
		return false
	}
	in.enter()
	defer in.leave()
	for i := range a {
		if !in.equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func (in *interp) equalDicts(a, b *Dict) bool {
	if a.Len() != b.Len() {
		return false
	}
	in.enter()
	defer in.leave()
	for hash, i := range a.index {
		v, ok := b.get(hash)
		if !ok || !in.equal(a.vals[i], v) {
			return false
		}
	}
	return true
}

// compare orders a and b as Python's < and > do: -1, 0, 1, or 2 when a NaN is neither; op is for the message.
func (in *interp) compare(a, b Value, op string) int {
	in.step(1)
	if x, ok := asStr(a); ok {
		if y, ok := asStr(b); ok {
			in.step((min(len(x), len(y))) / 64)
			return strings.Compare(x, y) // UTF-8 sorts as its code points do
		}
	}
	if x, ok := asInt(a); ok {
		if y, ok := asInt(b); ok {
			return cmp(x, y)
		}
	}
	if x, ok := asFloat(a); ok {
		if y, ok := asFloat(b); ok {
			if x != x || y != y {
				return 2 // NaN: neither
			}
			return cmp(x, y)
		}
	}
	switch p := a.(type) {
	case *List:
		if q, ok := b.(*List); ok {
			return in.compareItems(p.Items, q.Items, op)
		}
	case *Tuple:
		if q, ok := b.(*Tuple); ok {
			return in.compareItems(p.Items, q.Items, op)
		}
	}
	in.checkDefined(a)
	in.checkDefined(b)
	in.fail("'%s' not supported between instances of '%s' and '%s'", op, typeName(a), typeName(b))
	return 0
}

func (in *interp) compareItems(x, y []Value, op string) int {
	in.enter()
	defer in.leave()
	for i := range min(len(x), len(y)) {
		if !in.equal(x[i], y[i]) {
			return in.compare(x[i], y[i], op)
		}
	}
	return cmp(len(x), len(y))
}

func cmp[T int | int64 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// length is Python's len(v).
func (in *interp) length(v Value) int64 {
	if n, ok := in.hasLen(v); ok {
		return n
	}
	in.fail("object of type '%s' has no len()", typeName(v))
	return 0
}

func (in *interp) hasLen(v Value) (int64, bool) {
	switch x := v.(type) {
	case string:
		in.step(len(x) / 64)
		return int64(utf8.RuneCountInString(x)), true
	case Markup:
		return in.hasLen(string(x))
	case *List:
		return int64(len(x.Items)), true
	case *Tuple:
		return int64(len(x.Items)), true
	case *Dict:
		return int64(x.Len()), true
	case *view:
		return int64(len(x.items)), true
	case *Undefined:
		return 0, true
	case *loop:
		return int64(len(x.items)), true
	}
	return 0, false
}

// iterate is Python's list(iter(v)). The result may share v's memory: do not change it.
func (in *interp) iterate(v Value) []Value {
	items, ok := in.tryIterate(v)
	if !ok {
		in.fail("'%s' object is not iterable", typeName(v))
	}
	in.step(len(items))
	return items
}

func (in *interp) tryIterate(v Value) ([]Value, bool) {
	switch x := v.(type) {
	case *List:
		return x.Items, true
	case *Tuple:
		return x.Items, true
	case *Dict:
		return x.keys[:len(x.keys):len(x.keys)], true
	case *generator:
		items := x.items
		x.items = nil
		return items, true
	case *view:
		return x.items, true
	case *Undefined:
		return nil, true
	}
	if s, ok := asStr(v); ok {
		in.alloc(len(s) * 24)
		items := make([]Value, 0, len(s))
		for _, r := range s {
			items = append(items, string(r))
		}
		return items, true
	}
	return nil, false
}
