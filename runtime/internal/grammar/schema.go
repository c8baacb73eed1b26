package grammar

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// ErrSchema: the schema is none, or asks for what cannot be promised. Every error about a schema wraps it.
var ErrSchema = errors.New("schema")

// mostCount bounds the lengths that a schema can ask for.
const mostCount = 1024

// Schema is a compiled shape, for any number of texts.
type Schema struct {
	code  []inst
	start int32
}

// Text begins a text of the shape with the tokens of v.
func (s *Schema) Text(v *Vocab) *Mask {
	return &Mask{v: v, m: newMachine(s.code, s.start), masks: map[int32][]uint64{}}
}

// Object is any JSON object.
func Object() *Schema {
	s, err := compile(func(c *compiler) (part, error) { return call(c.json.object), nil })
	if err != nil { // it is the same each time
		panic(err)
	}
	return s
}

// Compile compiles a JSON schema of draft 2020-12, as far as it uses type, properties, required, additionalProperties, items, minItems, maxItems, minLength, maxLength,
// enum, const, anyOf, oneOf, allOf of one, $ref within the document, and annotations. Any other keyword is an error, and not ignored. Errors wrap ErrSchema.
func Compile(schema json.RawMessage) (*Schema, error) {
	root, err := parse(schema)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	return compile(func(c *compiler) (part, error) { c.root = root; return c.schema(root, "#") })
}

func compile(top func(c *compiler) (part, error)) (*Schema, error) {
	b := newBuilder()
	c := &compiler{b: b, json: b.json(), refs: map[string]int{}}
	p, err := top(c)
	if err != nil {
		return nil, err
	}
	start := p(b, b.put(inst{op: opMatch}))
	b.link()
	if b.err != nil {
		return nil, b.err
	}
	if m := newMachine(b.code, start); len(m.states) == 0 {
		return nil, cmp.Or(m.err, refuse("#", "no text can be of it"))
	}
	return &Schema{b.code, start}, nil
}

// compiler turns a schema into parts. at is the JSON pointer of what is compiled, for errors.
type compiler struct {
	b    *builder
	json jsonRules
	root any
	refs map[string]int // rules of what $ref names
	deep int            // what is compiled was named by so many $ref, one within the other
}

func refuse(at, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrSchema, at, fmt.Sprintf(format, args...))
}

// annotations say nothing about the shape.
var annotations = []string{"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$schema", "$id", "$comment", "$anchor", "$defs", "definitions", "format",
	"contentEncoding", "contentMediaType"}

// keywords are those of each type that are understood.
var keywords = map[string][]string{
	"object": {"properties", "required", "additionalProperties"},
	"array":  {"items", "minItems", "maxItems"},
	"string": {"minLength", "maxLength"},
}

func (c *compiler) schema(s any, at string) (part, error) {
	if c.b.err != nil { // it is too large already
		return nil, c.b.err
	}
	if s == true {
		return call(c.json.value), nil
	}
	o, ok := s.(*members)
	if !ok {
		return nil, refuse(at, "neither an object nor true")
	}
	if err := o.known(at); err != nil {
		return nil, err
	}
	for _, name := range []string{"$ref", "anyOf", "oneOf", "allOf"} {
		v, ok := o.get(name)
		if !ok {
			continue
		}
		for _, other := range o.keys {
			if other != name && !slices.Contains(annotations, other) {
				return nil, refuse(at, "%s beside %s cannot be promised", other, name)
			}
		}
		if name == "$ref" {
			return c.ref(v, at)
		}
		return c.choice(v, at+"/"+name, name == "allOf")
	}
	types, err := o.types(at)
	if err != nil {
		return nil, err
	}
	if values, ok := o.get("enum"); ok {
		list, ok := values.([]any)
		if !ok {
			return nil, refuse(at, "enum is no list")
		}
		return c.values(list, types, at)
	}
	if v, ok := o.get("const"); ok {
		return c.values([]any{v}, types, at)
	}
	if types == nil {
		for t, words := range keywords { // a type that is only implied
			if slices.ContainsFunc(words, o.has) {
				types = append(types, t)
			}
		}
		switch len(types) {
		case 0:
			return call(c.json.value), nil
		case 1:
		default:
			return nil, refuse(at, "keywords of several types; say which with type")
		}
	}
	var parts []part
	for _, t := range types {
		p, err := c.typed(o, t, at)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return either(parts...), nil
}

func (c *compiler) choice(v any, at string, one bool) (part, error) {
	list, ok := v.([]any)
	switch {
	case !ok || len(list) == 0:
		return nil, refuse(at, "no list of schemas")
	case one && len(list) > 1:
		return nil, refuse(at, "more than one cannot be promised")
	}
	var parts []part
	for i, s := range list {
		p, err := c.schema(s, fmt.Sprintf("%s/%d", at, i))
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return either(parts...), nil
}

// ref is a call of the rule of what a pointer names; it is written when it is first named.
func (c *compiler) ref(v any, at string) (part, error) {
	name, _ := v.(string)
	if rule, ok := c.refs[name]; ok {
		return call(rule), nil
	}
	target, err := c.named(name, at)
	if err != nil {
		return nil, err
	}
	if c.deep++; c.deep > mostRefs {
		return nil, refuse(at, "$ref leads to $ref more than %d times", mostRefs)
	}
	rule := c.b.rule()
	c.refs[name] = rule
	p, err := c.schema(target, name)
	if err != nil {
		return nil, err
	}
	c.deep--
	c.b.write(rule, p)
	return call(rule), nil
}

// named follows a JSON pointer (RFC 6901), written as the fragment of a URI.
func (c *compiler) named(name, at string) (any, error) {
	fragment, ok := strings.CutPrefix(name, "#")
	if !ok {
		return nil, refuse(at, "$ref %q leads out of the document", name)
	}
	pointer, err := url.PathUnescape(fragment)
	if err != nil || pointer != "" && pointer[0] != '/' {
		return nil, refuse(at, "$ref %q is no pointer into the document, such as #/$defs/name", name)
	}
	target := c.root
	if pointer == "" {
		return target, nil
	}
	for word := range strings.SplitSeq(pointer[1:], "/") {
		word = strings.NewReplacer("~1", "/", "~0", "~").Replace(word)
		found := false
		switch t := target.(type) {
		case *members:
			target, found = t.get(word)
		case []any:
			if i, err := strconv.Atoi(word); err == nil && i >= 0 && i < len(t) && strconv.Itoa(i) == word {
				target, found = t[i], true
			}
		}
		if !found {
			return nil, refuse(at, "$ref %q names nothing", name)
		}
	}
	return target, nil
}

func (c *compiler) typed(o *members, t, at string) (part, error) {
	switch t {
	case "object":
		return c.object(o, at)
	case "array":
		return c.array(o, at)
	case "string":
		least, most, err := o.counts("minLength", "maxLength", at)
		if err != nil {
			return nil, err
		}
		return sequence(literal(`"`), times(call(c.json.char), least, most), literal(`"`)), nil
	case "integer":
		return integer, nil
	case "number":
		return number, nil
	case "boolean":
		return boolean, nil
	case "null":
		return null, nil
	}
	return nil, refuse(at, "type %q is none", t)
}

func (c *compiler) array(o *members, at string) (part, error) {
	least, most, err := o.counts("minItems", "maxItems", at)
	if err != nil {
		return nil, err
	}
	element := call(c.json.value)
	if s, ok := o.get("items"); ok {
		p, err := c.schema(s, at+"/items")
		if err != nil {
			return nil, err
		}
		rule := c.b.rule() // it is written once, however often it occurs
		c.b.write(rule, p)
		element = call(rule)
	}
	return list(element, least, most), nil
}

// object is an object with the listed members in their order; without any, one with members of any name.
func (c *compiler) object(o *members, at string) (part, error) {
	listed, _ := o.get("properties")
	props, _ := listed.(*members)
	if listed != nil && props == nil {
		return nil, refuse(at, "properties is no object")
	}
	required := map[string]bool{}
	if v, ok := o.get("required"); ok {
		names, ok := v.([]any)
		if !ok {
			return nil, refuse(at, "required is no list of names")
		}
		for _, n := range names {
			name, ok := n.(string)
			switch {
			case !ok:
				return nil, refuse(at, "required is no list of names")
			case props == nil || !props.has(name):
				return nil, refuse(at, "%q is required, but not among the properties", name)
			}
			required[name] = true
		}
	}
	if props == nil || len(props.keys) == 0 {
		more, ok := o.get("additionalProperties")
		switch {
		case !ok || more == true:
			return call(c.json.object), nil
		case more == false:
			return sequence(literal("{"), gap, literal("}")), nil
		}
		p, err := c.schema(more, at+"/additionalProperties")
		if err != nil {
			return nil, err
		}
		return c.json.mapOf(p), nil
	}
	if more, ok := o.get("additionalProperties"); ok && more != true && more != false {
		return nil, refuse(at, "a schema of additionalProperties beside properties cannot be promised")
	}
	var pairs []part
	for _, name := range props.keys {
		s, _ := props.get(name)
		p, err := c.schema(s, at+"/properties/"+name)
		if err != nil {
			return nil, err
		}
		rule := c.b.rule()
		c.b.write(rule, p)
		pairs = append(pairs, sequence(literal(quoted(name)), literal(":"), gap, call(rule)))
	}
	return func(b *builder, next int32) int32 {
		// From the last member to the first: what follows when members were written before, and when none was.
		end := literal("}")(b, next)
		after, first := gap(b, end), end
		for i := len(pairs) - 1; i >= 0; i-- {
			a := sequence(literal(","), gap, pairs[i])(b, after)
			f := pairs[i](b, after)
			if !required[props.keys[i]] {
				a = b.put(inst{op: opSplit, next: a, alt: after})
				f = b.put(inst{op: opSplit, next: f, alt: first})
			}
			after, first = a, f
		}
		return sequence(literal("{"), gap)(b, first)
	}, nil
}

// values is one of the values, spelled as encoding/json does.
func (c *compiler) values(list []any, types []string, at string) (part, error) {
	var parts []part
	for _, v := range list {
		if types != nil && !slices.ContainsFunc(types, func(t string) bool { return isOf(v, t) }) {
			continue
		}
		text, err := spelled(v)
		if err != nil {
			return nil, err
		}
		parts = append(parts, literal(text))
	}
	if len(parts) == 0 {
		return nil, refuse(at, "there is no value that it allows")
	}
	return either(parts...), nil
}

func isOf(v any, t string) bool {
	switch x := v.(type) {
	case nil:
		return t == "null"
	case bool:
		return t == "boolean"
	case string:
		return t == "string"
	case json.Number:
		return t == "number" || t == "integer" && !strings.ContainsAny(x.String(), ".eE")
	case []any:
		return t == "array"
	}
	return t == "object"
}

func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // strings always encode
	return strings.TrimSuffix(b.String(), "\n")
}

func spelled(v any) (string, error) {
	switch x := v.(type) {
	case nil:
		return "null", nil
	case bool:
		return fmt.Sprint(x), nil
	case string:
		return quoted(x), nil
	case json.Number:
		return x.String(), nil
	case []any:
		var all []string
		for _, e := range x {
			s, err := spelled(e)
			if err != nil {
				return "", err
			}
			all = append(all, s)
		}
		return "[" + strings.Join(all, ",") + "]", nil
	case *members:
		var all []string
		for i, k := range x.keys {
			s, err := spelled(x.values[i])
			if err != nil {
				return "", err
			}
			all = append(all, quoted(k)+":"+s)
		}
		return "{" + strings.Join(all, ",") + "}", nil
	}
	return "", fmt.Errorf("%w: a value of type %T", ErrSchema, v)
}

// members is a JSON object whose keys keep their order.
type members struct {
	keys   []string
	values []any
	index  map[string]int // of keys
}

func (o *members) has(key string) bool { _, ok := o.index[key]; return ok }

func (o *members) get(key string) (any, bool) {
	i, ok := o.index[key]
	if !ok {
		return nil, false
	}
	return o.values[i], true
}

// add takes a member; false: the key is there already.
func (o *members) add(key string, v any) bool {
	if o.has(key) {
		return false
	}
	if o.index == nil {
		o.index = map[string]int{}
	}
	o.index[key] = len(o.keys)
	o.keys, o.values = append(o.keys, key), append(o.values, v)
	return true
}

// known refuses keywords that would be ignored.
func (o *members) known(at string) error {
	for _, k := range o.keys {
		switch k {
		case "type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf":
			continue
		}
		if !slices.Contains(annotations, k) && !slices.ContainsFunc([]string{"object", "array", "string"}, func(t string) bool { return slices.Contains(keywords[t], k) }) {
			return refuse(at, "the keyword %q is not supported", k)
		}
	}
	return nil
}

// types gives the types that the schema names; nil: any.
func (o *members) types(at string) ([]string, error) {
	v, ok := o.get("type")
	if !ok {
		return nil, nil
	}
	if s, ok := v.(string); ok {
		return []string{s}, nil
	}
	var out []string
	list, _ := v.([]any)
	for _, t := range list {
		s, ok := t.(string)
		if !ok {
			return nil, refuse(at, "type is neither a name nor a list of names")
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, refuse(at, "type is neither a name nor a list of names")
	}
	return out, nil
}

// counts reads the bounds of a length; most is -1 without one.
func (o *members) counts(low, high, at string) (least, most int, err error) {
	most = -1
	for _, x := range []struct {
		name string
		to   *int
	}{{low, &least}, {high, &most}} {
		v, ok := o.get(x.name)
		if !ok {
			continue
		}
		n, _ := v.(json.Number)
		i, err := n.Int64()
		if err != nil || i < 0 || i > mostCount {
			return 0, 0, refuse(at, "%s must be a number from 0 to %d", x.name, mostCount)
		}
		*x.to = int(i)
	}
	if most >= 0 && least > most {
		return 0, 0, refuse(at, "%s is more than %s", low, high)
	}
	return least, most, nil
}

// Bounds of schemas: how deep they nest, and how many $ref lead from one to the other.
const (
	mostNesting = 64
	mostRefs    = 256
)

// parse reads one JSON value; objects become members.
func parse(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	v, err := value(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the schema")
	}
	return v, nil
}

func value(d *json.Decoder, depth int) (any, error) {
	if depth > mostNesting {
		return nil, fmt.Errorf("nested more than %d times", mostNesting)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := value(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, err
	case json.Delim('{'):
		o := &members{}
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := value(d, depth+1)
			if err != nil {
				return nil, err
			}
			if !o.add(k.(string), v) { // keys of objects are strings
				return nil, fmt.Errorf("the key %q comes twice", k)
			}
		}
		_, err := d.Token()
		return o, err
	}
	return t, nil
}

// Tool is a function that a text may call, and the schema of its arguments; empty: any object.
type Tool struct {
	Name   string
	Schema json.RawMessage
}

// Call is one call of one of the tools: {"name": …, "arguments": …}, with the arguments under key. Errors wrap ErrSchema.
func Call(tools []Tool, key string) (*Schema, error) {
	return compile(func(c *compiler) (part, error) {
		var parts []part
		for _, t := range tools {
			arguments := call(c.json.object)
			if len(t.Schema) > 0 {
				var err error
				if c.root, err = parse(t.Schema); err != nil {
					return nil, fmt.Errorf("%w: %s: %w", ErrSchema, t.Name, err)
				}
				clear(c.refs) // each schema is a document of its own
				if arguments, err = c.schema(c.root, t.Name+"#"); err != nil {
					return nil, err
				}
			}
			parts = append(parts, sequence(literal(`{"name": `+quoted(t.Name)+`, `+quoted(key)+`: `), arguments, literal("}")))
		}
		if len(parts) == 0 {
			return nil, refuse("#", "there is no tool")
		}
		return either(parts...), nil
	})
}
