package jinja

// expr is an expression, stmt a statement; both know their line.
type expr interface{ at() int }
type stmt interface{ at() int }

type pos int

func (p pos) at() int { return int(p) }

// callArgs are the arguments of a call, filter or test.
type callArgs struct {
	pos   []expr
	names []string // keyword names
	kw    []expr   // and their values
	star  expr     // *args
	dstar expr     // **kwargs
}

type (
	constE struct {
		pos
		v Value
	}
	nameE struct {
		pos
		name string
	}
	seqE struct { // list or tuple display
		pos
		items []expr
		tuple bool
	}
	dictE struct {
		pos
		keys, vals []expr
	}
	attrE struct {
		pos
		x    expr
		name string
	}
	itemE struct {
		pos
		x, idx expr
	}
	sliceE struct { // only as the index of itemE; absent parts are nil
		pos
		lo, hi, step expr
	}
	callE struct {
		pos
		f    expr
		args callArgs
	}
	filterE struct {
		pos
		x    expr // nil: the text of a filter or set block
		name string
		args callArgs
	}
	testE struct {
		pos
		x    expr
		name string
		args callArgs
	}
	unaryE struct { // op is one of + - n(ot)
		pos
		op byte
		x  expr
	}
	binE struct { // arithmetic
		pos
		op   string
		a, b expr
	}
	logicE struct { // and, or
		pos
		and  bool
		a, b expr
	}
	compareE struct {
		pos
		x   expr
		ops []string
		rhs []expr
	}
	concatE struct {
		pos
		parts []expr
	}
	condE struct { // b is nil without an else
		pos
		test, a, b expr
	}
)

// target is where an assignment goes: exactly one of name, name with attr, or tuple.
type target struct {
	pos
	name  string
	attr  string // of a namespace
	tuple []target
}

type (
	dataS struct {
		pos
		text string
	}
	outS struct {
		pos
		x expr
	}
	printS struct {
		pos
		items []expr
	}
	ifS struct {
		pos
		tests  []expr
		bodies [][]stmt // one more than tests when there is an else
	}
	forS struct {
		pos
		target    target
		iter      expr
		cond      expr
		recursive bool
		body, alt []stmt
	}
	setS struct {
		pos
		target target
		x      expr
	}
	setBlockS struct {
		pos
		target target
		filter expr // applied to the text; nil: none
		body   []stmt
	}
	macroS struct {
		pos
		m *macroDef
	}
	callS struct { // call block
		pos
		m    *macroDef // the caller
		call *callE
	}
	filterS struct {
		pos
		filter expr
		body   []stmt
	}
	withS struct {
		pos
		targets []target
		vals    []expr
		body    []stmt
	}
	scopeS struct { // generation and block: a body in a scope of its own
		pos
		body []stmt
	}
	loopCtlS struct {
		pos
		ctl ctl
	}
)

// macroDef is a macro's source.
type macroDef struct {
	name     string
	params   []string
	defaults []expr // for the last len(defaults) params
	body     []stmt
	// Whether the body mentions these names; a macro takes extra arguments only if it does.
	usesVarargs, usesKwargs, usesCaller bool
}

// ctl is how a statement list ended.
type ctl uint8

const (
	ctlNext ctl = iota
	ctlBreak
	ctlContinue
)
