//go:build !linux

package store

// LargePages does nothing here: no such advice for files is known.
func (s *File) LargePages() {}

// Mapped says how many bytes of the file are mapped now, and how many of those in large pages. It is false where the system does not tell.
func (s *File) Mapped() (resident, large uint64, ok bool) { return 0, 0, false }
