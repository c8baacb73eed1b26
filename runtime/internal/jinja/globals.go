package jinja

// globals are the functions templates find without being given them.
var globals map[string]Value

// maxRange is the sandbox's bound on range().
const maxRange = 100_000

func init() {
	globals = map[string]Value{}
	g := func(name string, f func(in *interp, a *args) Value) {
		globals[name] = rawFunc(name, func(in *interp, _ Value, a *args) Value { return f(in, a) })
	}
	g("raise_exception", func(in *interp, a *args) Value {
		msg := ""
		if len(a.pos) > 0 {
			msg = in.str(a.pos[0])
		} else if len(a.kwVals) > 0 {
			msg = in.str(a.kwVals[0])
		}
		panic(&Error{Kind: Raised, Msg: msg})
	})
	g("strftime_now", func(in *interp, a *args) Value {
		if len(a.pos) != 1 {
			in.fail("strftime_now() takes one argument")
		}
		return in.strftime(in.mustStr(a.pos[0]))
	})
	g("namespace", func(in *interp, a *args) Value { return &Namespace{in.dictOf(a)} })
	g("dict", func(in *interp, a *args) Value { return in.dictOf(a) })
	g("range", func(in *interp, a *args) Value { return in.rangeOf(a) })
	g("joiner", func(in *interp, a *args) Value {
		sep := ", "
		if len(a.pos) > 0 {
			sep = in.str(a.pos[0])
		} else if len(a.kwVals) > 0 {
			sep = in.str(a.kwVals[0])
		}
		used := false
		return rawFunc("joiner", func(*interp, Value, *args) Value {
			if !used {
				used = true
				return ""
			}
			return sep
		})
	})
	g("cycler", func(in *interp, a *args) Value {
		if len(a.pos) == 0 {
			in.fail("at least one item has to be provided")
		}
		i := 0
		next := rawFunc("next", func(*interp, Value, *args) Value {
			v := a.pos[i]
			i = (i + 1) % len(a.pos)
			return v
		})
		reset := rawFunc("reset", func(*interp, Value, *args) Value { i = 0; return nil })
		c := rawFunc("cycler", func(in *interp, _ Value, _ *args) Value {
			in.fail("'Cycler' object is not callable")
			return nil
		})
		c.attrs = func(_ *interp, name string) (Value, bool) {
			switch name {
			case "next":
				return next, true
			case "reset":
				return reset, true
			case "current":
				return a.pos[i], true
			}
			return nil, false
		}
		return c
	})
}

// dictOf is dict(mapping or pairs, **kw).
func (in *interp) dictOf(a *args) *Dict {
	d := NewDict()
	if len(a.pos) > 1 {
		in.fail("dict expected at most 1 argument, got %d", len(a.pos))
	}
	if len(a.pos) == 1 {
		if src, ok := a.pos[0].(*Dict); ok {
			in.alloc(64 * src.Len())
			for i, k := range src.keys {
				d.set(in.hashKey(k), k, src.vals[i])
			}
		} else {
			for _, it := range in.iterate(a.pos[0]) {
				in.alloc(64)
				p := in.iterate(it)
				if len(p) != 2 {
					in.fail("dictionary update sequence element has length %d; 2 is required", len(p))
				}
				d.set(in.hashKey(p[0]), p[0], p[1])
			}
		}
	}
	in.alloc(64 * len(a.kwNames))
	for i, n := range a.kwNames {
		d.Set(n, a.kwVals[i])
	}
	return d
}

func (in *interp) rangeOf(a *args) Value {
	var v [3]int64
	if len(a.pos) < 1 || len(a.pos) > 3 || len(a.kwNames) > 0 {
		in.fail("range expected 1 to 3 arguments, got %d", len(a.pos))
	}
	for i, p := range a.pos {
		v[i] = in.intArg(p, 0)
		if p == nil {
			in.fail("'NoneType' object cannot be interpreted as an integer")
		}
	}
	lo, hi, step := v[0], v[1], int64(1)
	if len(a.pos) == 1 {
		lo, hi = 0, v[0]
	}
	if len(a.pos) == 3 {
		step = v[2]
	}
	if step == 0 {
		in.fail("range() arg 3 must not be zero")
	}
	l := &List{}
	for i := lo; step > 0 && i < hi || step < 0 && i > hi; {
		if len(l.Items) >= maxRange {
			in.fail("Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).", maxRange)
		}
		in.alloc(24)
		l.Items = append(l.Items, i)
		next := i + step
		if (next > i) != (step > 0) { // past the end of the integers
			break
		}
		i = next
	}
	return l
}
