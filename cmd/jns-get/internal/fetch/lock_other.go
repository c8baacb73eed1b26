//go:build !unix

package fetch

import "os"

// lock does nothing: this system has no advisory locks that end with the process. The journal is hashed again before it is believed, so two processes waste work
// but cannot make a wrong file.
func lock(*os.File) error { return nil }

// freeSpace is not known.
func freeSpace(string) (uint64, bool) { return 0, false }
