package gguf

import (
	"fmt"
)

// Meta is a list of key-values with typed look-up. In every getter the bool says whether the key is there, and an error
// means that it is there with a kind or value that does not do; the error names key, kind found and kinds accepted.
type Meta struct {
	KVs   []KV
	index map[string]int
}

// Get gives the value of a key as it stands.
func (m *Meta) Get(key string) (Value, bool) {
	if i, ok := m.index[key]; ok {
		return m.KVs[i].Value, true
	}
	return nil, false
}

func wrongKind(key string, v Value, accepted string) error {
	kind, _ := KindOf(v)
	found := kind.String()
	if a, ok := v.(Array); ok {
		found = "array of " + a.Elem.String()
	}
	return &Error{Key: key, Offset: -1, Err: fmt.Errorf("%w: value is %s, accepted are: %s", ErrCorrupt, found, accepted)}
}

// Str gives a string.
func (m *Meta) Str(key string) (string, bool, error) {
	v, ok := m.Get(key)
	if !ok {
		return "", false, nil
	}
	s, ok := v.(string)
	if !ok {
		return "", true, wrongKind(key, v, "string")
	}
	return s, true, nil
}

// Int gives a value of any integer kind that fits int64.
func (m *Meta) Int(key string) (int64, bool, error) {
	v, ok := m.Get(key)
	if !ok {
		return 0, false, nil
	}
	switch n := v.(type) {
	case uint8:
		return int64(n), true, nil
	case int8:
		return int64(n), true, nil
	case uint16:
		return int64(n), true, nil
	case int16:
		return int64(n), true, nil
	case uint32:
		return int64(n), true, nil
	case int32:
		return int64(n), true, nil
	case int64:
		return n, true, nil
	case uint64:
		if n>>63 != 0 {
			return 0, true, &Error{Key: key, Offset: -1, Err: fmt.Errorf("%w: value %d does not fit int64", ErrCorrupt, n)}
		}
		return int64(n), true, nil
	}
	return 0, true, wrongKind(key, v, "any integer kind")
}

// Uint gives a value of any integer kind; a negative one is an error.
func (m *Meta) Uint(key string) (uint64, bool, error) {
	if v, ok := m.Get(key); ok {
		if n, ok := v.(uint64); ok {
			return n, true, nil
		}
	}
	n, ok, err := m.Int(key)
	if err == nil && n < 0 {
		err = &Error{Key: key, Offset: -1, Err: fmt.Errorf("%w: value %d must not be negative", ErrCorrupt, n)}
	}
	if err != nil {
		return 0, ok, err
	}
	return uint64(n), ok, nil
}

// Float gives a float32 or float64.
func (m *Meta) Float(key string) (float64, bool, error) {
	v, ok := m.Get(key)
	if !ok {
		return 0, false, nil
	}
	switch f := v.(type) {
	case float32:
		return float64(f), true, nil
	case float64:
		return f, true, nil
	}
	return 0, true, wrongKind(key, v, "float32, float64")
}

// Bool gives a bool.
func (m *Meta) Bool(key string) (bool, bool, error) {
	v, ok := m.Get(key)
	if !ok {
		return false, false, nil
	}
	b, ok := v.(bool)
	if !ok {
		return false, true, wrongKind(key, v, "bool")
	}
	return b, true, nil
}

// Array gives an array of any kind of elements.
func (m *Meta) Array(key string) (Array, bool, error) {
	v, ok := m.Get(key)
	if !ok {
		return Array{}, false, nil
	}
	a, ok := v.(Array)
	if !ok {
		return Array{}, true, wrongKind(key, v, "array")
	}
	return a, true, nil
}
