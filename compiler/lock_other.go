//go:build !unix

package compiler

import "os"

// lock does nothing where there is no such thing: two compilations of one output at once are then not noticed.
func lock(*os.File) error { return nil }
