package token

// Byte-pair text is cut into words by a list of rules. Every rule goes over every word that the rules before it left and cuts
// it further; a rule never looks beyond the word it is in. The rules are those that published tokenizers state as regular
// expressions with backtracking; here each is written out as a scanner that reads every code point a bounded number of times.

// rule cuts the word [lo,hi) of a text: it appends the ends of the parts, ascending, the last being hi.
type rule func(t *text, lo, hi int, ends []int32) []int32

// matcher gives the end of what matches at position i of the word that ends at hi, or i if nothing does.
type matcher func(t *text, i, hi int) int

// cut applies rules one after the other and gives the ends of the words, in code points. The slice is valid until the
// next call.
func (t *text) cut(rules []rule) []int32 {
	t.end = append(t.end[:0], int32(len(t.cps)))
	for _, r := range rules {
		next := t.tmp[:0]
		lo := int32(0)
		for _, hi := range t.end {
			if lo < hi {
				next = r(t, int(lo), int(hi), next)
			}
			lo = hi
		}
		t.end, t.tmp = next, t.end
	}
	return t.end
}

// search makes a rule of matchers that are tried in order at every position. What lies between two matches is a word too.
func search(ms ...matcher) rule {
	return func(t *text, lo, hi int, ends []int32) []int32 {
		gap := lo
	next:
		for i := lo; i < hi; {
			for _, m := range ms {
				if e := m(t, i, hi); e > i {
					if i > gap {
						ends = append(ends, int32(i))
					}
					ends = append(ends, int32(e))
					i, gap = e, e
					continue next
				}
			}
			i++
		}
		if gap < hi {
			ends = append(ends, int32(hi))
		}
		return ends
	}
}

// is reports whether position i lies in the word and has one of the classes.
func (t *text) is(i, hi int, c class) bool { return i < hi && t.cls[i]&c != 0 }

// at is the code point at position i, -1 behind the end of the word.
func (t *text) at(i, hi int) int32 {
	if i < hi {
		return t.cps[i]
	}
	return -1
}

// run gives the end of the run of classes that begins at i.
func (t *text) run(i, hi int, c class) int {
	for i < hi && t.cls[i]&c != 0 {
		i++
	}
	return i
}

func newline(cp int32) bool { return cp == '\r' || cp == '\n' }

// Matchers of whole alternatives. The comments give the expression each stands for, L N P S M being Unicode's categories.

// contraction: 's 't 'm 'd 're 've 'll, in any case if fold is set.
func contraction(fold bool) matcher {
	lower := func(cp int32) int32 {
		if fold && cp >= 'A' && cp <= 'Z' {
			return cp + 32
		}
		return cp
	}
	return func(t *text, i, hi int) int {
		if t.cps[i] != '\'' {
			return i
		}
		switch a, b := lower(t.at(i+1, hi)), lower(t.at(i+2, hi)); {
		case a == 's' || a == 't' || a == 'm' || a == 'd':
			return i + 2
		case a == 'r' && b == 'e' || a == 'v' && b == 'e' || a == 'l' && b == 'l':
			return i + 3
		}
		return i
	}
}

// spaced: " ?[c]+"
func spaced(c class) matcher {
	return func(t *text, i, hi int) int {
		from := i
		if t.cps[i] == ' ' {
			from++
		}
		if e := t.run(from, hi, c); e > from {
			return e
		}
		return t.run(i, hi, c)
	}
}

// others: " ?[^\s not]+" and then any of the code points of tail, at most max of them.
func others(not class, tail string, max int) matcher {
	stop := not | space
	return func(t *text, i, hi int) int {
		e := i
		if t.cps[i] == ' ' {
			e++
		}
		from := e
		for e < hi && t.cls[e]&stop == 0 {
			e++
		}
		if e == from {
			return i
		}
		return tailOf(t, e, hi, tail, max)
	}
}

// punctuation: " ?[PS]+" and then any of the code points of tail.
func punctuation(tail string) matcher {
	words := spaced(punct | symbol)
	return func(t *text, i, hi int) int {
		if e := words(t, i, hi); e > i {
			return tailOf(t, e, hi, tail, -1)
		}
		return i
	}
}

// tailOf goes on over code points of tail, at most max of them, any number if max is negative.
func tailOf(t *text, e, hi int, tail string, max int) int {
	for ; e < hi && max != 0; max-- {
		found := false
		for _, c := range tail {
			found = found || t.cps[e] == c
		}
		if !found {
			break
		}
		e++
	}
	return e
}

// led: "[^\r\n not]?[c]+"
func led(not, c class) matcher {
	return func(t *text, i, hi int) int {
		if !newline(t.cps[i]) && t.cls[i]&not == 0 && t.is(i+1, hi, c) {
			return t.run(i+1, hi, c)
		}
		return t.run(i, hi, c)
	}
}

// then: first, and then second if it matches there.
func then(first, second matcher) matcher {
	return func(t *text, i, hi int) int {
		e := first(t, i, hi)
		if e > i && e < hi {
			return second(t, e, hi)
		}
		return e
	}
}

// numbers: "N{1,max}", any number if max is 0.
func numbers(max int) matcher {
	return func(t *text, i, hi int) int {
		if max > 0 {
			hi = min(hi, i+max)
		}
		return t.run(i, hi, number)
	}
}

// newlines: "\s*[\r\n]+", which ends with the last newline of the white space.
func newlines(t *text, i, hi int) int {
	end := i
	for ; i < hi && t.cls[i]&space != 0; i++ {
		if newline(t.cps[i]) {
			end = i + 1
		}
	}
	return end
}

// oneNewline: "[\r\n]"
func oneNewline(t *text, i, hi int) int {
	if newline(t.cps[i]) {
		return i + 1
	}
	return i
}

// spaces: "\s+(?!\S)|\s+": white space, the last of it left to the word that follows, unless it is alone.
func spaces(t *text, i, hi int) int {
	e := t.run(i, hi, space)
	if e < hi && e-i > 1 {
		return e - 1
	}
	return e
}

// spacePowers is spaces in lengths of 512, 256, 128, 64, 32, 16, 8, 4, 2, 1.
func spacePowers(t *text, i, hi int) int {
	n := t.run(i, min(hi, i+513), space) - i
	if n == 0 {
		return i
	}
	if i+n < hi && t.cls[i+n]&space == 0 {
		n-- // the last is followed by a word
	}
	for p := 512; p > 1; p /= 2 {
		if n >= p {
			return i + p
		}
	}
	return i + 1
}

// asciiPunct: "[!-/:-@[-`{-~][A-Za-z]+"
func asciiPunct(t *text, i, hi int) int {
	c := t.cps[i]
	if c > 0x7e || c < 0x21 || t.cls[i]&(letter|number) != 0 {
		return i
	}
	e := i + 1
	for e < hi && asciiLetter(t.cps[e]) {
		e++
	}
	if e == i+1 {
		return i
	}
	return e
}

func asciiLetter(c int32) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// cased: "[^\r\n L N]?U*V+|[^\r\n L N]?U+V*" where U are the code points of classes c that are not a-z, V those that are not
// A-Z: words end where lower case is followed by upper case. Letters beyond ASCII are both.
func cased(c class) matcher {
	upper := func(t *text, i int) bool { return t.cls[i]&c != 0 && !(t.cps[i] >= 'a' && t.cps[i] <= 'z') }
	lower := func(t *text, i int) bool { return t.cls[i]&c != 0 && !(t.cps[i] >= 'A' && t.cps[i] <= 'Z') }
	first := func(t *text, i, hi int) int {
		u := i
		for u < hi && upper(t, u) {
			u++
		}
		e := u
		for e < hi && lower(t, e) {
			e++
		}
		for e == u && u > i { // no V follows: give back U until one of them is V too
			if u--; lower(t, u) {
				return u + 1
			}
			e = u
		}
		return e
	}
	second := func(t *text, i, hi int) int {
		e := i
		for e < hi && upper(t, e) {
			e++
		}
		return e // had a V followed, the first form would have matched
	}
	return func(t *text, i, hi int) int {
		lead := !newline(t.cps[i]) && t.cls[i]&(letter|number) == 0 && i+1 < hi
		for _, form := range []matcher{first, second} {
			if lead {
				if e := form(t, i+1, hi); e > i+1 {
					return e
				}
			}
			if e := form(t, i, hi); e > i {
				return e
			}
		}
		return i
	}
}

// phrase: "[^\r\n L N]?(?:LM*(?: LM*)*)+": words that single spaces join.
func phrase(t *text, i, hi int) int {
	e := i
	if !newline(t.cps[i]) && t.cls[i]&(letter|number) == 0 {
		e++
	}
	if !t.is(e, hi, letter) {
		return i
	}
	for {
		e = t.run(e, hi, letter|mark)
		if t.at(e, hi) != ' ' || !t.is(e+1, hi, letter) {
			return e
		}
		e++
	}
}
