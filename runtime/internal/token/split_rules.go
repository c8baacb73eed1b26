package token

import "jns/format"

// Rules that several lists use.
var (
	plainContraction = contraction(false)
	anyContraction   = contraction(true)

	gpt2 = search(plainContraction, spaced(letter), spaced(number), others(letter|number, "", 0), spaces)
	qwen = search(anyContraction, led(letter|number, letter), numbers(1), others(letter|number, "\r\n", -1), newlines, spaces)

	digits      = search(numbers(1))
	digitTriple = search(asciiTriple)
	numberRuns  = search(numbers(0))
	upToThree   = search(numbers(3))
	eachNewline = search(oneNewline)

	cjkKana = search(inSet(cjkKanaSet, false))
)

// ruleWords has the list of rules of each format.PreRule.
var ruleWords = [format.NumPreRules][]rule{
	format.PreNone:    {},
	format.PreDefault: {search(inClassOr("$+<=>^~|")), gpt2, numberRuns, digitTriple},
	format.PreGPT2:    {gpt2},
	format.PreLlama3: {search(anyContraction, led(letter|number, letter), numbers(3), others(letter|number, "\r\n", -1), newlines,
		spaces)},
	format.PreQwen2: {qwen},
	format.PreQwen35: {search(anyContraction, led(letter|number, letter|mark), numbers(1), others(letter|number|mark, "\r\n", -1),
		newlines, spaces)},
	format.PreDigitsGPT2: {digits, gpt2},
	format.PreFalcon:     {search(inClassOr("$+<=>^~|`")), gpt2, digitTriple},
	format.PreDeepSeekLLM: {eachNewline, search(inSet(deepSeekLetters, true)), search(inSet(deepSeekPunct, true)), trailingSpace,
		search(inSet(deepSeekCJK, false)), numberRuns},
	format.PreDeepSeekCoder: {eachNewline, search(spaceThen(letter)), search(spaceThen(punct)), search(inSet(deepSeekCJK, false)),
		digits},
	format.PreDeepSeekV3: {upToThree, cjkKana, punctuated},
	format.PreSpark: {upToThree, cjkKana, search(asciiPunct, led(letter|punct|symbol, letter|mark), punctuation(""), oneNewline,
		spaces), digits},
	format.PreYoutu: {search(inSet(hangul, false), inSet(cjkPunct, false), inSet(bopomofo, false), inSet(cjkKanaSet, false)),
		search(then(led(letter|number, letter|mark), anyContraction), numbers(1), others(letter|number, "\r\n/", -1), newlines,
			spaces)},
	format.PreJais2: {search(anyContraction, led(letter|number, letter), numbers(3), others(letter|number, "\r\n", -1), newlines,
		spacePowers)},
	format.PreBloom:     {search(sentencePart)},
	format.PreViking:    {search(sentencePart), digits},
	format.PreTekken:    {search(cased(letter), numbers(1), others(letter|number, "\r\n/", -1), newlines, spaces)},
	format.PreChameleon: {search(sentinel), search(imageToken), search(tabOrPair), digits, search(isolatedPunct), gpt2},
	format.PreGPT4o: {search(then(cased(letter), anyContraction), numbers(3), others(letter|number, "\r\n/", -1), newlines,
		spaces)},
	format.PreGraniteEmbed: {search(then(cased(letter|mark), anyContraction), numbers(3), others(letter|number, "\r\n/", -1),
		newlines, spaces)},
	format.PreTinyAya: {numbersFromRight, search(then(led(letter|number, letter|mark), anyContraction), numbers(3),
		others(letter|number, "\r\n/", -1), newlines, spaces)},
	format.PreKimiK2: {search(hanRun, then(kimiWord, anyContraction), numbers(3), others(letter|number, "\r\n", -1), newlines,
		spaces)},
	format.PreSuperBPE: {numberRuns, digitsFromRight},
	format.PreSeedCoder: {search(anyContraction, led(letter|number, letter), numbers(1), others(letter|number, "", 0), newlines,
		spaces)},
	format.PreUfakzeka:  {search(led(letter|number, letter), numbers(1), others(letter|number, "\r\n", -1), newlines, spaces)},
	format.PreAFMoE:     {numbersFromRight, search(inSet(asianScripts, false)), punctuated},
	format.PreLaguna:    {newlineRuns, qwen},
	format.PreExaoneMoE: {search(anyContraction, phrase, numbers(1), others(letter|number, "\r\n/", 1), newlines, spaces)},
	format.PreNewlines:  {newlineRuns},
	format.PreMiniCPM5: {upToThree, search(anyContraction, led(letter|number, letter), numbers(0),
		others(letter|number, "\r\n", -1), newlines, spaces)},
	format.PreWhitespace: {search(notSpace)},
}

// punctuated is the last rule of DeepSeek V3 and its like.
var punctuated = search(asciiPunct, led(letter|punct|symbol, letter|mark), punctuation("\r\n"), newlines, spaces)

// inClassOr: "[P more]+"
func inClassOr(more string) matcher {
	return func(t *text, i, hi int) int {
		for ; i < hi; i++ {
			if t.cls[i]&punct == 0 && tailOf(t, i, hi, more, 1) == i {
				break
			}
		}
		return i
	}
}

// asciiTriple: "[0-9][0-9][0-9]"
func asciiTriple(t *text, i, hi int) int {
	if i+3 > hi {
		return i
	}
	for _, c := range t.cps[i : i+3] {
		if c < '0' || c > '9' {
			return i
		}
	}
	return i + 3
}

// spaceThen: "\s?[c]+"
func spaceThen(c class) matcher {
	return func(t *text, i, hi int) int {
		if t.cls[i]&space != 0 && t.is(i+1, hi, c) {
			return t.run(i+1, hi, c)
		}
		return t.run(i, hi, c)
	}
}

// inSet: "[set]+", with "\s?" before it if spaced is set.
func inSet(set codeSet, spaced bool) matcher {
	return func(t *text, i, hi int) int {
		from := i
		if spaced && t.cls[i]&space != 0 {
			from++
		}
		e := from
		for e < hi && set.has(t.wide(e)) {
			e++
		}
		if e == from {
			return i
		}
		return e
	}
}

// trailingSpace: "\s+$"
func trailingSpace(t *text, lo, hi int, ends []int32) []int32 {
	from := hi
	for from > lo && t.cls[from-1]&space != 0 {
		from--
	}
	if from > lo && from < hi {
		ends = append(ends, int32(from))
	}
	return append(ends, int32(hi))
}

// newlineRuns: "[^\n]+|[\n]+"
func newlineRuns(t *text, lo, hi int, ends []int32) []int32 {
	for i := lo + 1; i < hi; i++ {
		if (t.cps[i] == '\n') != (t.cps[i-1] == '\n') {
			ends = append(ends, int32(i))
		}
	}
	return append(ends, int32(hi))
}

// numbersFromRight cuts runs of numbers into threes from their right end. There is no cut before a run: its first group stays
// with what precedes it, for the rules that follow to cut.
func numbersFromRight(t *text, lo, hi int, ends []int32) []int32 {
	gap := lo
	for i := lo; i < hi; {
		e := t.run(i, hi, number)
		if e == i {
			i++
			continue
		}
		for c := i + (e-i+2)%3 + 1; c <= e; c += 3 {
			ends = append(ends, int32(c))
		}
		i, gap = e, e
	}
	if gap < hi {
		ends = append(ends, int32(hi))
	}
	return ends
}

// digitsFromRight: "(?=(\d{3})+(?!\d))": cuts before every ASCII digit from which the digits left are a multiple of three.
func digitsFromRight(t *text, lo, hi int, ends []int32) []int32 {
	digit := func(i int) bool { return t.cps[i] >= '0' && t.cps[i] <= '9' }
	for i := lo; i < hi; {
		e := i
		for e < hi && digit(e) {
			e++
		}
		for c := i + (e-i)%3; c < e; c += 3 {
			if c > lo {
				ends = append(ends, int32(c))
			}
		}
		i = max(e, i+1)
	}
	return append(ends, int32(hi))
}

// sentencePart: " ?[^(\s|.,!?…。，、।۔،)]+"
func sentencePart(t *text, i, hi int) int {
	from := i
	if t.cps[i] == ' ' {
		from++
	}
	e := from
	for e < hi && t.cls[e]&space == 0 && !sentenceMarks.has(t.cps[e]) {
		e++
	}
	if e == from {
		return i
	}
	return e
}

// sentinel: "<sentinel:[0-9]+>"
func sentinel(t *text, i, hi int) int {
	e := literal(t, i, hi, "<sentinel:")
	if e == i { // at once: from every digit of a long number to its end would take the square of its length
		return i
	}
	from := e
	for e < hi && t.cps[e] >= '0' && t.cps[e] <= '9' {
		e++
	}
	if e == from || t.at(e, hi) != '>' {
		return i
	}
	return e + 1
}

// imageToken: "IMGIMG[A-I]{1,4}Z"
func imageToken(t *text, i, hi int) int {
	e := literal(t, i, hi, "IMGIMG")
	from := e
	for e < min(hi, from+4) && t.cps[e] >= 'A' && t.cps[e] <= 'I' {
		e++
	}
	if from == i || e == from || t.at(e, hi) != 'Z' {
		return i
	}
	return e + 1
}

func literal(t *text, i, hi int, s string) int {
	for k := range len(s) {
		if t.at(i+k, hi) != int32(s[k]) {
			return i
		}
	}
	return i + len(s)
}

// tabOrPair: a tab, a newline, four spaces or two.
func tabOrPair(t *text, i, hi int) int {
	if t.cps[i] == '\t' || t.cps[i] == '\n' {
		return i + 1
	}
	if e := literal(t, i, hi, "    "); e > i {
		return e
	}
	return literal(t, i, hi, "  ")
}

// isolatedPunct: "[P!-/:-@[-`{-~]"
func isolatedPunct(t *text, i, hi int) int {
	c := t.cps[i]
	if t.cls[i]&punct != 0 || c > ' ' && c < 0x7f && t.cls[i]&(letter|number) == 0 {
		return i + 1
	}
	return i
}

// hanRun: "[Han]+"
func hanRun(t *text, i, hi int) int {
	for i < hi && han(t.cps[i]) {
		i++
	}
	return i
}

// kimiWord: "[^\r\n L N]?[L but Han]+"
func kimiWord(t *text, i, hi int) int {
	e := i
	if !newline(t.cps[i]) && t.cls[i]&(letter|number) == 0 {
		e++
	}
	from := e
	for e < hi && t.cls[e]&letter != 0 && !han(t.cps[e]) {
		e++
	}
	if e == from {
		return i
	}
	return e
}

// notSpace: "\S+"
func notSpace(t *text, i, hi int) int {
	for i < hi && t.cls[i]&space == 0 {
		i++
	}
	return i
}
