//go:build !unix

package output

import "os"

// lock does nothing where there is no such thing: two processes that write one file are then not noticed.
func lock(*os.File) error { return nil }
