package grammar

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Errors of a text under way. That there is no token for what must follow is the schema's fault, or the vocabulary's: an ErrSchema.
var (
	ErrNoToken = fmt.Errorf("%w: no token of the vocabulary can follow", ErrSchema)
	ErrRefused = errors.New("a token that cannot follow")
)

// Vocab is the bytes of all tokens, in their order.
type Vocab struct {
	size int
	text [][]byte // sorted
	id   []int32  // of text
	ends []int32  // tokens that end a text
}

// NewVocab takes the bytes that each token adds to a text; tokens without any, such as control tokens, never follow. ends are those that end a text.
func NewVocab(pieces [][]byte, ends []int32) *Vocab {
	v := &Vocab{size: len(pieces), ends: ends}
	for id, p := range pieces {
		if len(p) > 0 && !slices.Contains(ends, int32(id)) {
			v.id = append(v.id, int32(id))
		}
	}
	slices.SortFunc(v.id, func(a, b int32) int { return cmp.Or(bytes.Compare(pieces[a], pieces[b]), cmp.Compare(a, b)) })
	for _, id := range v.id {
		v.text = append(v.text, pieces[id])
	}
	return v
}

// mostMasks is how many states' masks are kept: a mask of 150,000 tokens takes 19 KB.
const mostMasks = 512

// Mask is one text under way. It is not safe for several goroutines.
type Mask struct {
	v     *Vocab
	m     *machine
	at    int32
	masks map[int32][]uint64
	path  []int32
}

// Allow gives the set of tokens that may follow, one bit for each. It is valid until the next call. Errors wrap ErrNoToken or ErrTooLarge.
func (k *Mask) Allow() ([]uint64, error) {
	if m := k.masks[k.at]; m != nil {
		return m, nil
	}
	if len(k.masks) >= mostMasks {
		clear(k.masks)
	}
	m, some := k.compute()
	if k.m.err != nil {
		return nil, k.m.err
	}
	if !some {
		return nil, ErrNoToken
	}
	k.masks[k.at] = m
	return m, nil
}

// compute goes through the tokens in order, so that what tokens begin with in common is gone through once.
func (k *Mask) compute() (mask []uint64, some bool) {
	mask = make([]uint64, (k.v.size+63)/64)
	set := func(id int32) { mask[id>>6] |= 1 << (id & 63); some = true }
	if k.m.states[k.at].ends {
		for _, id := range k.v.ends {
			set(id)
		}
	}
	k.path = append(k.path[:0], k.at) // path[i]: the state after i bytes of the token before
	var before []byte
	for i, text := range k.v.text {
		n := 0
		for n < len(before) && n < len(text) && before[n] == text[n] {
			n++
		}
		before = text
		if n >= len(k.path) { // the token before ended dead within what they have in common
			continue
		}
		k.path = k.path[:n+1]
		at := k.path[n]
		for ; n < len(text); n++ {
			if at = k.m.step(at, text[n]); at == dead {
				break
			}
			k.path = append(k.path, at)
		}
		if at != dead {
			set(k.v.id[i])
		}
	}
	return mask, some
}

// Accept takes the bytes of a token that was chosen. Errors wrap ErrRefused.
func (k *Mask) Accept(piece []byte) error {
	at := k.at
	for _, c := range piece {
		if at = k.m.step(at, c); at == dead {
			return cmp.Or(k.m.err, ErrRefused)
		}
	}
	k.at = at
	return nil
}

// Done says that the text is whole and that nothing can follow.
func (k *Mask) Done() bool { s := &k.m.states[k.at]; return s.ends && len(s.threads) == 0 }
