package jinja

import (
	"slices"
	"strings"
)

// Filters over sequences.
func init() {
	f := func(name, sig string, fn func(in *interp, v []Value) Value) { filters[name] = fixed(sig, fn) }
	f("list", "", func(in *interp, v []Value) Value {
		items := in.iterate(v[0])
		in.alloc(16 * len(items))
		return &List{slices.Clone(items)}
	})
	f("first", "", func(in *interp, v []Value) Value {
		if g, ok := v[0].(*generator); ok && len(g.items) > 0 {
			it := g.items[0]
			g.items = g.items[1:]
			return it
		}
		if items := in.iterate(v[0]); len(items) > 0 {
			return items[0]
		}
		return in.undefined("No first item, sequence was empty.")
	})
	f("last", "", func(in *interp, v []Value) Value {
		if g, ok := v[0].(*generator); ok {
			in.fail("'%s' object is not reversible", g.kind)
		}
		if items := in.iterate(v[0]); len(items) > 0 {
			return items[len(items)-1]
		}
		return in.undefined("No last item, sequence was empty.")
	})
	f("reverse", "", func(in *interp, v []Value) Value {
		if s, ok := asStr(v[0]); ok {
			r := in.runes(s)
			slices.Reverse(r)
			return string(r)
		}
		items := in.iterate(v[0])
		in.alloc(16 * len(items))
		return &generator{"reversed", reversed(items)}
	})
	f("join", "d? attribute?", func(in *interp, v []Value) Value {
		get := in.attrPath(v[2])
		items := in.iterate(v[0])
		parts := make([]string, len(items))
		for i, it := range items {
			parts[i] = in.str(get(it))
		}
		sep := ""
		if given(v[1]) {
			sep = in.str(v[1])
		}
		return in.join(parts, sep)
	})
	f("sort", "reverse? case_sensitive? attribute?", filterSort)
	f("dictsort", "case_sensitive? by? reverse?", func(in *interp, v []Value) Value {
		d, ok := v[0].(*Dict)
		if !ok {
			in.checkDefined(v[0])
			in.fail("'%s' has no attribute 'items'", objectRepr(v[0]))
		}
		at := map[string]int{"key": 0, "value": 1}
		i, ok := at[in.strArg(v[2], "key")]
		if !ok {
			in.fail("You can only sort by either \"key\" or \"value\"")
		}
		cs := boolArg(v[1], false)
		key := func(it Value) Value { return in.fold(it.(*Tuple).Items[i], cs) }
		return &List{in.sorted(in.pairs(d), key, boolArg(v[3], false))}
	})
	f("unique", "case_sensitive? attribute?", func(in *interp, v []Value) Value {
		get, cs := in.attrPath(v[2]), boolArg(v[1], false)
		seen := map[any]bool{}
		var out []Value
		for _, it := range in.iterate(v[0]) {
			in.alloc(32)
			h := in.hashKey(in.fold(get(it), cs))
			if !seen[h] {
				seen[h] = true
				out = append(out, it)
			}
		}
		return &generator{"generator", out}
	})
	extreme := func(sign int) func(in *interp, v []Value) Value {
		return func(in *interp, v []Value) Value {
			get, cs := in.attrPath(v[2]), boolArg(v[1], false)
			items := in.iterate(v[0])
			if len(items) == 0 {
				return in.undefined("No aggregated item, sequence was empty.")
			}
			best := items[0]
			for _, it := range items[1:] {
				op := map[int]string{-1: "<", 1: ">"}[sign]
				if in.compare(in.fold(get(it), cs), in.fold(get(best), cs), op) == sign {
					best = it
				}
			}
			return best
		}
	}
	f("min", "case_sensitive? attribute?", extreme(-1))
	f("max", "case_sensitive? attribute?", extreme(1))
	f("sum", "attribute? start?", func(in *interp, v []Value) Value {
		get := in.attrPath(v[1])
		var total Value = int64(0)
		if given(v[2]) {
			total = v[2]
		}
		for _, it := range in.iterate(v[0]) {
			total = in.arith("+", total, get(it))
		}
		return total
	})
	f("batch", "linecount fill_with?", func(in *interp, v []Value) Value {
		n := in.intArg(v[1], 0)
		if n <= 0 {
			in.fail("batch needs a positive line count")
		}
		var out []Value
		for items := in.iterate(v[0]); len(items) > 0; {
			k := min(n, int64(len(items)))
			in.alloc(16*int(k) + 32)
			row := slices.Clone(items[:k])
			if given(v[2]) && v[2] != nil {
				in.reserve(n-k, 16)
				for int64(len(row)) < n {
					row = append(row, v[2])
				}
			}
			out = append(out, &List{row})
			items = items[k:]
		}
		return &generator{"generator", out}
	})
	f("slice", "slices fill_with?", filterSlice)
	f("groupby", "attribute default? case_sensitive?", filterGroupby)
	filters["map"] = rawFunc("map", filterMap)
	choose := func(name string, attr, want bool) {
		filters[name] = rawFunc(name, func(in *interp, self Value, a *args) Value {
			return in.choose(self, a, attr, want)
		})
	}
	choose("select", false, true)
	choose("reject", false, false)
	choose("selectattr", true, true)
	choose("rejectattr", true, false)
}

func filterSort(in *interp, v []Value) Value {
	cs := boolArg(v[2], false)
	key := func(it Value) Value { return in.fold(it, cs) }
	if s, ok := asStr(v[3]); ok {
		var gets []func(Value) Value
		for _, part := range strings.Split(s, ",") {
			gets = append(gets, in.attrPath(part))
		}
		key = func(it Value) Value {
			l := &List{}
			for _, get := range gets {
				in.alloc(16)
				l.Items = append(l.Items, in.fold(get(it), cs))
			}
			return l
		}
	} else if given(v[3]) && v[3] != nil {
		get := in.attrPath(v[3])
		key = func(it Value) Value { return in.fold(get(it), cs) }
	}
	return &List{in.sorted(in.iterate(v[0]), key, boolArg(v[1], false))}
}

func filterSlice(in *interp, v []Value) Value {
	items := in.iterate(v[0])
	n := in.intArg(v[1], 0)
	if n <= 0 {
		in.fail("slice needs a positive number of slices")
	}
	in.reserve(n, 48)
	in.alloc(16 * len(items))
	per, extra := int64(len(items))/n, int64(len(items))%n
	var out []Value
	for i, at := int64(0), int64(0); i < n; i++ {
		k := per
		if i < extra {
			k++
		}
		row := slices.Clone(items[at : at+k])
		at += k
		if given(v[2]) && v[2] != nil && i >= extra && extra > 0 {
			row = append(row, v[2])
		}
		out = append(out, &List{row})
	}
	return &generator{"generator", out}
}

func filterGroupby(in *interp, v []Value) Value {
	path, cs := in.attrPath(v[1]), boolArg(v[3], false)
	get := func(it Value) Value {
		x := path(it)
		if _, ok := x.(*Undefined); ok && given(v[2]) {
			return v[2]
		}
		return x
	}
	key := func(it Value) Value { return in.fold(get(it), cs) }
	var out []Value
	var last Value
	for _, it := range in.sorted(in.iterate(v[0]), key, false) {
		k := key(it)
		in.alloc(64)
		if len(out) == 0 || !in.equal(k, last) {
			out = append(out, &Tuple{[]Value{get(it), &List{}}})
			last = k
		}
		group := out[len(out)-1].(*Tuple).Items[1].(*List)
		group.Items = append(group.Items, it)
	}
	return &List{out}
}

// filterMap is map("filter", args...) or map(attribute="path", default=value).
func filterMap(in *interp, self Value, a *args) Value {
	var one func(Value) Value
	if len(a.pos) == 0 {
		var def Value
		var attr Value = missing{}
		for i, n := range a.kwNames {
			switch n {
			case "attribute":
				attr = a.kwVals[i]
			case "default":
				def = a.kwVals[i]
			default:
				in.fail("Unexpected keyword argument '%s'", n)
			}
		}
		if attr == (missing{}) {
			in.fail("map requires a filter argument")
		}
		get := in.attrPath(attr)
		one = func(it Value) Value {
			it = get(it)
			if _, ok := it.(*Undefined); ok && def != nil {
				return def
			}
			return it
		}
	} else {
		rest := &args{a.pos[1:], a.kwNames, a.kwVals}
		one = func(it Value) Value { return in.filter(in.mustStr(a.pos[0]), it, rest) }
	}
	var out []Value
	if truth(self) {
		for _, it := range in.iterate(self) {
			in.alloc(16)
			out = append(out, one(it))
		}
	}
	return &generator{"generator", out}
}

// choose is select, reject, selectattr and rejectattr.
func (in *interp) choose(self Value, a *args, attr, want bool) Value {
	pos := a.pos
	get := func(v Value) Value { return v }
	if attr {
		if len(pos) == 0 {
			in.fail("Missing parameter for attribute name")
		}
		get, pos = in.attrPath(pos[0]), pos[1:]
	}
	ok := func(v Value) bool { return truth(v) }
	if len(pos) > 0 {
		rest := &args{pos[1:], a.kwNames, a.kwVals}
		ok = func(v Value) bool { return in.test(in.mustStr(pos[0]), v, rest) }
	}
	var out []Value
	if truth(self) {
		for _, it := range in.iterate(self) {
			in.alloc(16)
			if ok(get(it)) == want {
				out = append(out, it)
			}
		}
	}
	return &generator{"generator", out}
}
