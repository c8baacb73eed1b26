package grammar

import "fmt"

// ErrTooLarge: a schema, or a text under it, that needs more than the bounds of this package. It is an ErrSchema.
var ErrTooLarge = fmt.Errorf("%w: it is too large", ErrSchema)

// Bounds. Real schemas stay far below them.
const (
	mostInsts   = 1 << 17
	mostDepth   = 128     // calls in calls: what nests deeper is not generated
	mostThreads = 1 << 12 // ways to go on at once
	mostStates  = 1 << 14
	mostWork    = 1 << 22 // instructions looked at to make the states of one text, about half a second: the engine waits meanwhile
)

// bits is a set of bytes.
type bits [4]uint64

func (s *bits) add(lo, hi byte) {
	for c := int(lo); c <= int(hi); c++ {
		s[c>>6] |= 1 << (c & 63)
	}
}

func (s *bits) has(c byte) bool { return s[c>>6]>>(c&63)&1 != 0 }

type op uint8

const (
	opByte  op = iota // one byte of set, then next
	opSplit           // next or alt
	opCall            // the rule that begins at alt, then next
	opRet             // a rule's end
	opMatch           // the text's end
	opFail            // nothing can follow
)

type inst struct {
	op        op
	next, alt int32
	set       *bits
}

// builder writes a program from its end to its beginning: every part is given the instruction that follows it.
type builder struct {
	code  []inst
	rules []int32 // by rule: where it begins; -1: not written yet
	ret   int32
	err   error
}

func newBuilder() *builder {
	b := &builder{}
	b.ret = b.put(inst{op: opRet})
	return b
}

func (b *builder) put(i inst) int32 {
	if len(b.code) >= mostInsts {
		b.err = ErrTooLarge
		return 0
	}
	b.code = append(b.code, i)
	return int32(len(b.code) - 1)
}

// part is a part of a grammar: it writes itself before instruction next, and gives where it begins.
type part func(b *builder, next int32) int32

func oneOf(s *bits) part {
	return func(b *builder, next int32) int32 { return b.put(inst{op: opByte, set: s, next: next}) }
}

// ranges is a byte of one of the ranges, given as pairs.
func ranges(pairs string) part {
	var s bits
	for i := 0; i < len(pairs); i += 2 {
		s.add(pairs[i], pairs[i+1])
	}
	return oneOf(&s)
}

func literal(text string) part {
	return func(b *builder, next int32) int32 {
		for i := len(text) - 1; i >= 0; i-- {
			next = ranges(text[i:i+1]+text[i:i+1])(b, next)
		}
		return next
	}
}

func sequence(parts ...part) part {
	return func(b *builder, next int32) int32 {
		for i := len(parts) - 1; i >= 0; i-- {
			next = parts[i](b, next)
		}
		return next
	}
}

func either(parts ...part) part {
	return func(b *builder, next int32) int32 {
		at := parts[len(parts)-1](b, next)
		for i := len(parts) - 2; i >= 0; i-- {
			at = b.put(inst{op: opSplit, next: parts[i](b, next), alt: at})
		}
		return at
	}
}

func optional(p part) part {
	return func(b *builder, next int32) int32 { return b.put(inst{op: opSplit, next: p(b, next), alt: next}) }
}

func any0(p part) part {
	return func(b *builder, next int32) int32 {
		loop := b.put(inst{op: opSplit, alt: next})
		if at := p(b, loop); b.err == nil {
			b.code[loop].next = at
		}
		return loop
	}
}

// times is p from least to most times; most < 0: without a bound.
func times(p part, least, most int) part {
	return func(b *builder, next int32) int32 {
		if most < 0 {
			next = any0(p)(b, next)
		}
		end := next
		for i := least; i < most && b.err == nil; i++ {
			next = b.put(inst{op: opSplit, next: p(b, next), alt: end})
		}
		for i := 0; i < least && b.err == nil; i++ {
			next = p(b, next)
		}
		return next
	}
}

// rule reserves a rule, so that it can be called before it is written.
func (b *builder) rule() int {
	b.rules = append(b.rules, -1)
	return len(b.rules) - 1
}

// write writes a rule.
func (b *builder) write(rule int, p part) { b.rules[rule] = p(b, b.ret) }

// call is a rule; calls are linked when all rules are written.
func call(rule int) part {
	return func(b *builder, next int32) int32 { return b.put(inst{op: opCall, next: next, alt: int32(rule)}) }
}

// link replaces the numbers of rules by where they begin.
func (b *builder) link() {
	for i := range b.code {
		if c := &b.code[i]; c.op == opCall {
			if c.alt = b.rules[c.alt]; c.alt < 0 {
				c.op = opFail
			}
		}
	}
}
