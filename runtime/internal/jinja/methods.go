package jinja

import (
	"math"
	"math/bits"
)

// Methods of dicts, lists, tuples and numbers; the first value is the object.
var dictMethods, listMethods, tupleMethods, intMethods, floatMethods map[string]*Func

func init() {
	dictMethods = map[string]*Func{
		"get": fixed("/ key default?", func(in *interp, v []Value) Value {
			if it, ok := v[0].(*Dict).get(in.hashKey(v[1])); ok {
				return it
			}
			if given(v[2]) {
				return v[2]
			}
			return nil
		}),
		"keys":   fixed("", func(in *interp, v []Value) Value { return &view{"dict_keys", v[0].(*Dict).keys} }),
		"values": fixed("", func(in *interp, v []Value) Value { return &view{"dict_values", v[0].(*Dict).vals} }),
		"items":  fixed("", func(in *interp, v []Value) Value { return &view{"dict_items", in.pairs(v[0].(*Dict))} }),
		"copy":   fixed("", func(in *interp, v []Value) Value { return v[0] }), // nothing can change either
	}
	index := func(items func(v Value) []Value) *Func {
		return fixed("value", func(in *interp, v []Value) Value {
			for i, it := range items(v[0]) {
				if in.equal(it, v[1]) {
					return int64(i)
				}
			}
			in.fail("%s is not in %s", in.repr(v[1]), typeName(v[0]))
			return nil
		})
	}
	count := func(items func(v Value) []Value) *Func {
		return fixed("value", func(in *interp, v []Value) Value {
			n := int64(0)
			for _, it := range items(v[0]) {
				n += b2i(in.equal(it, v[1]))
			}
			return n
		})
	}
	list := func(v Value) []Value { return v.(*List).Items }
	tuple := func(v Value) []Value { return v.(*Tuple).Items }
	listMethods = map[string]*Func{
		"index": index(list),
		"count": count(list),
		"copy":  fixed("", func(in *interp, v []Value) Value { return v[0] }),
	}
	tupleMethods = map[string]*Func{"index": index(tuple), "count": count(tuple)}
	intMethods = map[string]*Func{
		"bit_length": fixed("", func(in *interp, v []Value) Value {
			i, _ := asInt(v[0])
			return int64(bits.Len64(absU(i)))
		}),
	}
	floatMethods = map[string]*Func{
		"is_integer": fixed("", func(in *interp, v []Value) Value {
			f := v[0].(float64)
			return f == math.Trunc(f) && !math.IsInf(f, 0)
		}),
	}
}

// pairs returns the (key, value) tuples of d.
func (in *interp) pairs(d *Dict) []Value {
	in.alloc(64 * d.Len())
	out := make([]Value, d.Len())
	for i, k := range d.keys {
		out[i] = &Tuple{[]Value{k, d.vals[i]}}
	}
	return out
}
