package token

//go:generate go run gen_unicode.go

// class is what Unicode 15.1 says of a code point: one general category, and whether it is white space.
type class uint16

const (
	unassigned class = 1 << iota
	number
	letter
	separator
	mark
	punct
	symbol
	control // with format, surrogate and private use
	space
)

var asciiClass = func() (t [128]class) {
	for cp := range t {
		t[cp] = searchClass(int32(cp))
	}
	return t
}()

// classOf looks a code point up. The table is our own, so that a newer Go does not change what text means to old containers.
func classOf(cp int32) class {
	if uint32(cp) < 128 {
		return asciiClass[cp]
	}
	return searchClass(cp)
}

func searchClass(cp int32) class {
	lo, hi := 0, len(classTable)
	for hi-lo > 1 {
		mid := int(uint(lo+hi) / 2)
		if int32(classTable[mid]>>8) <= cp {
			lo = mid
		} else {
			hi = mid
		}
	}
	c := class(classTable[lo] & 0xff)
	switch {
	case cp >= '\t' && cp <= '\r', cp == ' ', cp == 0x85, cp == 0xa0, cp == 0x1680, cp >= 0x2000 && cp <= 0x200a,
		cp == 0x2028, cp == 0x2029, cp == 0x202f, cp == 0x205f, cp == 0x3000:
		c |= space
	}
	return c
}

// han reports whether a code point is a Chinese character as Kimi's rule has it.
func han(cp int32) bool {
	return cp >= 0x4e00 && cp <= 0x9fff || cp >= 0x3400 && cp <= 0x4dbf || cp >= 0x20000 && cp <= 0x2a6df ||
		cp >= 0x2a700 && cp <= 0x2ebef || cp >= 0xf900 && cp <= 0xfaff || cp >= 0x2f800 && cp <= 0x2fa1f
}
