package jinja

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// maxJSONDepth bounds the nesting of FromJSON's input.
const maxJSONDepth = 200

// FromJSON decodes one JSON document into a Value as Python's json.loads does: keys in the order of
// the text (a repeated key keeps its first place and its last value), integers apart from floats.
func FromJSON(data []byte) (Value, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := decodeJSON(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the JSON value")
	}
	return v, nil
}

func decodeJSON(d *json.Decoder, depth int) (Value, error) {
	if depth > maxJSONDepth {
		return nil, fmt.Errorf("JSON nested deeper than %d", maxJSONDepth)
	}
	tok, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := tok.(type) {
	case json.Delim:
		if t == '[' {
			l := &List{}
			for d.More() {
				v, err := decodeJSON(d, depth+1)
				if err != nil {
					return nil, err
				}
				l.Items = append(l.Items, v)
			}
			_, err = d.Token()
			return l, err
		}
		dict := NewDict()
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := decodeJSON(d, depth+1)
			if err != nil {
				return nil, err
			}
			dict.Set(key.(string), v)
		}
		_, err = d.Token()
		return dict, err
	case json.Number:
		return jsonNumber(string(t))
	}
	return tok, nil // nil, bool, string
}

func jsonNumber(s string) (Value, error) {
	if !strings.ContainsAny(s, ".eE") {
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return i, nil
		}
		if len(s) > 4300 { // Python's limit too; conversion takes quadratic time
			return nil, errors.New("JSON integer with more than 4300 digits")
		}
		b, _ := new(big.Int).SetString(s, 10)
		return b, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, err
	}
	return f, nil
}

// FromGo converts Go data: nil, bools, numbers, strings, json.RawMessage, Values, and slices and
// string-keyed maps of these. The keys of Go maps are sorted, as they have no order of their own.
func FromGo(v any) (Value, error) { return fromGo(v, 0) }

func fromGo(v any, depth int) (Value, error) {
	if depth > maxJSONDepth {
		return nil, fmt.Errorf("value nested deeper than %d", maxJSONDepth)
	}
	switch x := v.(type) {
	case nil, bool, int64, float64, *List, *Tuple, *Dict, *Undefined:
		return x, nil
	case string:
		return strings.ToValidUTF8(x, "\uFFFD"), nil
	case json.RawMessage:
		return FromJSON(x)
	case json.Number:
		return jsonNumber(string(x))
	}
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return rv.Int(), nil
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return int64(rv.Uint()), nil
	case reflect.Float32:
		return rv.Float(), nil
	case reflect.String:
		return fromGo(rv.String(), depth)
	case reflect.Slice:
		l := &List{Items: make([]Value, rv.Len())}
		for i := range l.Items {
			it, err := fromGo(rv.Index(i).Interface(), depth+1)
			if err != nil {
				return nil, err
			}
			l.Items[i] = it
		}
		return l, nil
	case reflect.Map:
		if rv.Type().Key().Kind() != reflect.String {
			break
		}
		keys := rv.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		d := NewDict()
		for _, k := range keys {
			it, err := fromGo(rv.MapIndex(k).Interface(), depth+1)
			if err != nil {
				return nil, err
			}
			d.Set(k.String(), it)
		}
		return d, nil
	}
	return nil, fmt.Errorf("a %T cannot be given to a template", v)
}
