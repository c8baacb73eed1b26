package jinja

import "strings"

// Func is a function, method, filter or test with a signature.
type Func struct {
	name     string
	params   []string // parameter names
	required int      // how many of them must be given
	noKw     bool     // they cannot be given by name
	raw      func(in *interp, self Value, a *args) Value
	fn       func(in *interp, v []Value) Value
	self     Value // first element of fn's v, if bound
	bound    bool
	attrs    func(in *interp, name string) (Value, bool) // of function-like objects
}

// missing marks an optional parameter that was not given.
type missing struct{}

// fixed makes a Func from a signature such as "sep? maxsplit?"; a parameter with ? is optional and
// arrives as missing{}; a leading / forbids to give parameters by name. fn gets the bound self (if any), then one value per parameter.
func fixed(sig string, fn func(in *interp, v []Value) Value) *Func {
	f := &Func{fn: fn}
	for _, p := range strings.Fields(sig) {
		if p == "/" {
			f.noKw = true
		} else if q, ok := strings.CutSuffix(p, "?"); ok {
			f.params = append(f.params, q)
		} else {
			f.params = append(f.params, p)
			f.required = len(f.params)
		}
	}
	return f
}

// rawFunc makes a Func that binds its own arguments.
func rawFunc(name string, fn func(in *interp, self Value, a *args) Value) *Func {
	return &Func{name: name, raw: fn}
}

// bind returns f as a method of self.
func (f *Func) bind(name string, self Value) *Func {
	g := *f
	g.name, g.self, g.bound = name, self, true
	return &g
}

func (f *Func) invoke(in *interp, a *args) Value {
	in.step(1)
	in.stepText(f.self)
	for _, v := range a.pos {
		in.stepText(v)
	}
	if f.raw != nil {
		return f.raw(in, f.self, a)
	}
	off := 0
	if f.bound {
		off = 1
	}
	v := make([]Value, off+len(f.params))
	if f.bound {
		v[0] = f.self
	}
	if len(a.pos) > len(f.params) {
		in.fail("%s() takes at most %d arguments (%d given)", f.name, len(f.params), len(a.pos))
	}
	for i := range f.params {
		v[off+i] = missing{}
	}
	copy(v[off:], a.pos)
	if f.noKw && len(a.kwNames) > 0 {
		in.fail("%s.%s() takes no keyword arguments", typeName(f.self), f.name)
	}
next:
	for i, name := range a.kwNames {
		for j, p := range f.params {
			if p == name {
				if v[off+j] != (missing{}) {
					in.fail("%s() got multiple values for argument '%s'", f.name, name)
				}
				v[off+j] = a.kwVals[i]
				continue next
			}
		}
		in.fail("%s() got an unexpected keyword argument '%s'", f.name, name)
	}
	for i := range f.required {
		if v[off+i] == (missing{}) {
			in.fail("%s() missing required argument '%s'", f.name, f.params[i])
		}
	}
	return f.fn(in, v)
}

// stepText charges for text that a function is given, as most functions read all of it.
func (in *interp) stepText(v Value) {
	if s, ok := asStr(v); ok {
		in.step(len(s) / 16)
	}
}

// strArg returns a string argument, or def if it was not given; None counts as not given.
func (in *interp) strArg(v Value, def string) string {
	switch v.(type) {
	case missing, nil:
		return def
	}
	return in.mustStr(v)
}

func (in *interp) mustStr(v Value) string {
	s, ok := asStr(v)
	if !ok {
		in.checkDefined(v)
		in.fail("expected str, got %s", typeName(v))
	}
	return s
}

func (in *interp) intArg(v Value, def int64) int64 {
	switch v.(type) {
	case missing, nil:
		return def
	}
	i, ok := asInt(v)
	if !ok {
		in.checkDefined(v)
		in.fail("'%s' object cannot be interpreted as an integer", typeName(v))
	}
	return i
}

func boolArg(v Value, def bool) bool {
	if v == (missing{}) {
		return def
	}
	return truth(v)
}

func given(v Value) bool { return v != (missing{}) }

// attribute returns Python's getattr(v, name) for the types templates meet.
func (in *interp) attribute(v Value, name string) (Value, bool) {
	var table map[string]*Func
	switch x := v.(type) {
	case string, Markup:
		table = strMethods
	case *Dict:
		table = dictMethods
	case *List:
		table = listMethods
	case *Tuple:
		table = tupleMethods
	case *Namespace:
		return x.attrs.Get(name)
	case *loop:
		return x.attr(in, name)
	case *macro:
		return x.attr(name)
	case *Func:
		if name == "name" || name == "__name__" {
			return x.name, true
		}
		if x.attrs != nil {
			return x.attrs(in, name)
		}
	case int64, bool:
		table = intMethods
	case float64:
		table = floatMethods
	}
	if f, ok := table[name]; ok {
		return f.bind(name, v), true
	}
	if mutators[typeName(v)+"."+name] {
		return in.undefined("access to attribute '%s' of '%s' object is unsafe.", name, typeName(v)), true
	}
	return nil, false
}

// mutators are the methods the immutable sandbox refuses.
var mutators = func() map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields("append clear pop reverse insert sort extend remove") {
		m["list."+n] = true
	}
	for _, n := range strings.Fields("clear pop popitem setdefault update") {
		m["dict."+n] = true
	}
	return m
}()
