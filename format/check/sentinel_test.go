package check_test

import (
	"errors"

	"jns/format"
)

// sentinel reports whether an error says what kind of error it is.
func sentinel(err error) bool {
	return errors.Is(err, format.ErrCorrupt) || errors.Is(err, format.ErrUnsupported)
}
