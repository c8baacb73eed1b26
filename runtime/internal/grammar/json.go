package grammar

// jsonRules are the rules of JSON (RFC 8259) that every program has.
type jsonRules struct{ value, object, array, text, char int }

// gap may stand between tokens: nothing, a space, or a line end with an indentation. More would let a model write nothing but white space.
var gap = either(literal(""), literal(" "), sequence(literal("\n"), times(ranges("  \t\t"), 0, 32)))

var (
	digit = ranges("09")
	hex   = ranges("09afAF")
	tail  = ranges("\x80\xbf") // of a UTF-8 sequence
)

// character is one character of a string: UTF-8 without surrogates and over-long forms, or an escape.
var character = either(
	ranges("\x20!#[]\x7f"),
	sequence(ranges("\xc2\xdf"), tail),
	sequence(ranges("\xe0\xe0"), ranges("\xa0\xbf"), tail),
	sequence(ranges("\xe1\xec\xee\xef"), tail, tail),
	sequence(ranges("\xed\xed"), ranges("\x80\x9f"), tail),
	sequence(ranges("\xf0\xf0"), ranges("\x90\xbf"), tail, tail),
	sequence(ranges("\xf1\xf3"), tail, tail, tail),
	sequence(ranges("\xf4\xf4"), ranges("\x80\x8f"), tail, tail),
	sequence(literal(`\`), either(ranges(`""\\//bbffnnrrtt`), sequence(literal("u"), either(
		sequence(ranges("09acACefEF"), hex, hex, hex),
		sequence(ranges("ddDD"), ranges("07"), hex, hex))))),
)

// Numbers have as many digits as a float64 can tell apart; a model could go on for ever.
var (
	integer = sequence(optional(literal("-")), either(literal("0"), sequence(ranges("19"), times(digit, 0, 17))))
	number  = sequence(integer, optional(sequence(literal("."), times(digit, 1, 17))), optional(sequence(ranges("eeEE"), optional(ranges("++--")), times(digit, 1, 2))))
	boolean = either(literal("true"), literal("false"))
	null    = literal("null")
)

func (b *builder) json() (r jsonRules) {
	r = jsonRules{b.rule(), b.rule(), b.rule(), b.rule(), b.rule()}
	b.write(r.char, character)
	b.write(r.text, sequence(literal(`"`), any0(call(r.char)), literal(`"`)))
	b.write(r.object, r.mapOf(call(r.value)))
	b.write(r.array, list(call(r.value), 0, -1))
	b.write(r.value, either(call(r.text), number, call(r.object), call(r.array), boolean, null))
	return r
}

// list is an array of least to most elements.
func list(element part, least, most int) part {
	open, end := sequence(literal("["), gap), sequence(gap, literal("]"))
	if most == 0 {
		return sequence(open, literal("]"))
	}
	rest := most - 1
	if most < 0 {
		rest = most
	}
	more := sequence(element, times(sequence(literal(","), gap, element), max(least-1, 0), rest), end)
	if least == 0 {
		more = either(more, literal("]"))
	}
	return sequence(open, more)
}

// mapOf is an object with members of any name.
func (r jsonRules) mapOf(value part) part {
	pair := sequence(call(r.text), literal(":"), gap, value)
	return sequence(literal("{"), gap, either(sequence(pair, any0(sequence(literal(","), gap, pair)), gap, literal("}")), literal("}")))
}
