package manifests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	// maxValues bounds what a document is made of: the chunks of a container and of its source, each of 2⁴⁰ bytes, and room for everything else. A value takes a byte or two of a
	// document and fifty of memory.
	maxValues = 5 << 19
	maxDepth  = 8
)

// distinct goes through a document before anything of it is kept: it must be one value of a manifest's size, and no object may have a key twice. Of two values of one key some
// readers take the last, others one of each part: what was checked would not be what is used.
func distinct(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var open []map[string]bool // keys so far of the objects that are open; nil: an array
	value := false             // a key was read, whose value follows
	for n := 0; ; n++ {
		t, err := d.Token()
		switch {
		case errors.Is(err, io.EOF) && len(open) == 0:
			return nil
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		case n == maxValues:
			return fmt.Errorf("more than %d values", maxValues)
		}
		keys := map[string]bool(nil)
		if len(open) > 0 {
			keys = open[len(open)-1]
		}
		if key, ok := t.(string); ok && keys != nil && !value {
			if keys[key] {
				return fmt.Errorf("key %q twice", key[:min(len(key), 80)])
			}
			keys[key] = true
			value = true
			continue
		}
		value = false
		switch t {
		case json.Delim('{'), json.Delim('['):
			if len(open) == maxDepth {
				return fmt.Errorf("more than %d levels", maxDepth)
			}
			keys = nil
			if t == json.Delim('{') {
				keys = map[string]bool{}
			}
			open = append(open, keys)
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
	}
}
