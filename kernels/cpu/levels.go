package cpu

import "fmt"

// Level is a kind of core as macOS lists them: hw.perflevel0 is the fastest.
type Level struct {
	Name  string // "Performance"
	Cores int    // processors of it that are active
	L2    int    // bytes of the second-level cache, 0 if unknown
}

// levels reads the kinds of cores; number and text look a name up.
func levels(number func(string) (int, bool), text func(string) (string, bool)) []Level {
	n, ok := number("hw.nperflevels")
	if !ok {
		return nil
	}
	var all []Level
	for i := range min(n, 8) {
		at := fmt.Sprintf("hw.perflevel%d.", i)
		l := Level{}
		l.Name, _ = text(at + "name")
		l.L2, _ = number(at + "l2cachesize")
		if l.Cores, ok = number(at + "logicalcpu"); !ok || l.Cores < 1 || l.Cores > 1<<16 {
			return nil
		}
		if l.Name == "" {
			l.Name = fmt.Sprintf("level %d", i)
		}
		all = append(all, l)
	}
	return all
}
