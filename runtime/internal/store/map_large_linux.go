package store

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// LargePages asks for large pages where the file has to be read from disk: the system then reads and maps 2 MiB in one step, if the file system keeps pages of that size. What it holds in
// small pages already stays so. Whoever counts every page that is mapped should not ask.
func (s *File) LargePages() {
	if len(s.data) >= 2<<20 {
		unix.Madvise(s.data, unix.MADV_HUGEPAGE)
	}
}

// Mapped says how many bytes of the file are mapped now, and how many of those in large pages. It is false where the system does not tell.
func (s *File) Mapped() (resident, large uint64, ok bool) {
	f, err := os.Open("/proc/self/smaps")
	if err != nil || len(s.data) == 0 {
		return 0, 0, false
	}
	defer f.Close()
	start := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(s.data))))
	return mapped(f, start, start+uint64(len(s.data)))
}

// mapped adds up the areas of a table of mappings (proc(5), smaps) that begin between two addresses.
func mapped(r io.Reader, start, end uint64) (resident, large uint64, ok bool) {
	in := false
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		name, value, _ := strings.Cut(line, ":")
		if strings.Contains(name, "-") { // an area: 7f0000000000-7f0000200000 r--s …
			var from, to uint64
			if _, err := fmt.Sscanf(line, "%x-%x ", &from, &to); err != nil {
				return 0, 0, false
			}
			in = from >= start && from < end
			ok = ok || in
			continue
		}
		var kib uint64
		if !in || name != "Rss" && name != "FilePmdMapped" {
			continue
		}
		if _, err := fmt.Sscanf(value, "%d kB", &kib); err != nil {
			return 0, 0, false
		}
		if name == "Rss" {
			resident += kib << 10
		} else {
			large += kib << 10
		}
	}
	return resident, large, ok && lines.Err() == nil
}
