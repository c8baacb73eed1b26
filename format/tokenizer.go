package format

import (
	"encoding/binary"
	"fmt"
	"math"
)

// The tokenizer section is a set of tables that are used where they lie: parsing it checks the directory, allocates one
// struct and walks nothing. All numbers are little-endian.
//
//	offset  size  field
//	     0     8  magic "JNSTOK01"
//	     8     4  kind            TokKind
//	    12     4  rule            PreRule, how byte-pair text is cut into words
//	    16     4  flags           TokFlags
//	    20     4  tokens          size of the vocabulary
//	    24     4  pieces          tokens + strings that occur in merges only
//	    28     4  unknown score   float32, Unigram: score of a code point that no token covers
//	    32    64  special ids     16 × int32 in the order of TokSpecial, -1 = none
//	    96   8·T  directory       T = 20 tables × (offset uint32, count uint32), in the order of tokTable
//	   256        the tables in directory order, each at a multiple of 8, padding zero, nothing after the last
//
// Offsets follow from the counts; a directory that says anything else is refused. The contents of the tables are untrusted:
// every accessor of Tokenizer checks what it reads and answers "none" instead of reaching outside.

// tokMagic marks a tokenizer section and its version.
const tokMagic = "JNSTOK01"

// tokHeader is the size of everything before the first table.
const tokHeader = 96 + 8*int(numTokTables)

// TokMaxProbe bounds how far from its home slot a hash entry may lie, so that a look-up in an untrusted table ends.
const TokMaxProbe = 128

// TokMaxText bounds the text of a token in bytes, so that no walk over untrusted tables is long.
const TokMaxText = 2048

// TokKind says which algorithm a vocabulary is made for.
type TokKind uint32

const (
	TokNone     TokKind = 0 // no vocabulary: the model is driven by token ids
	TokSPM      TokKind = 1 // SentencePiece byte-pair: merges by score
	TokBPE      TokKind = 2 // byte-pair encoding: merges by rank
	TokWordPc   TokKind = 3 // WordPiece: greedy longest match in normalised words
	TokUnigram  TokKind = 4 // SentencePiece Unigram: best path by score
	TokRWKV     TokKind = 5 // greedy longest match over bytes
	TokPlamo    TokKind = 6 // PLaMo 2: best path over code points
	TokHash     TokKind = 7 // fixed-size chunks hashed to ids, for tests of other programs
	maxTokKind          = TokHash
	maxTokCount         = 1 << 28 // bound on any count, far above any vocabulary
)

// String names the kind as explain prints it.
func (k TokKind) String() string {
	names := [...]string{"none", "SentencePiece", "BPE", "WordPiece", "Unigram", "RWKV", "PLaMo 2", "hash"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("tokenizer kind %d", uint32(k))
}

// TokFlags are the switches of a tokenizer.
type TokFlags uint32

const (
	TokAddBOS       TokFlags = 1 << iota // begin with BOS when special tokens are asked for
	TokAddEOS                            // end with EOS then
	TokAddSEP                            // SEP stands between two texts
	TokSpacePrefix                       // a space before the first word
	TokMergeSpaces                       // Unigram: runs of spaces count as one
	TokEscapeSpaces                      // a space is written U+2581 in token texts
	TokByteAlphabet                      // BPE: bytes are written as printable code points in token texts
	TokIgnoreMerges                      // BPE: a word that is a token stays whole
	TokNewlineRuns                       // BPE: a run of newlines that is a token stays whole
	TokCleanSpaces                       // decoding drops spaces before punctuation
	TokLowercase                         // normalise to lower case
	TokStripAccents                      // normalise by dropping marks
	TokDropSpaces                        // BPE: white space separates and vanishes
	TokDNA                               // BPE: text between <dna> tags is cut into 6-mers
	TokSpaceSuffix                       // Unigram: the space goes behind the word
	allTokFlags     = 1<<15 - 1
)

// TokAttr are the attributes of one token.
type TokAttr uint16

const (
	AttrUnknown TokAttr = 1 << iota
	AttrUnused
	AttrNormal
	AttrControl
	AttrUser
	AttrByte
	AttrLStrip // swallows white space to its left
	AttrRStrip // swallows white space to its right
)

// TokSpecial indexes the special ids.
type TokSpecial int

const (
	SpecialBOS TokSpecial = iota
	SpecialEOS
	SpecialEOT
	SpecialEOM
	SpecialUNK
	SpecialSEP
	SpecialPAD
	SpecialMASK
	SpecialFIMPre
	SpecialFIMSuf
	SpecialFIMMid
	SpecialFIMPad
	SpecialFIMRep
	SpecialFIMSep
	NumSpecials TokSpecial = 16 // two are spare and hold -1
)

// tokTable numbers the tables of a section.
type tokTable int

const (
	tabTextOffset    tokTable = iota // uint32 × (pieces+1): where each text begins
	tabText                          // bytes of all texts
	tabAttr                          // uint16 × tokens
	tabScore                         // float32 × tokens, or empty (all 0)
	tabHash                          // text → piece: (tag uint32, piece+1 uint32) × power of two, open addressing
	tabMergeOffset                   // uint32 × (pieces+1), or empty: merges by their left piece
	tabMerge                         // (right, rank, result) uint32 × merges, ascending by right within one left
	tabByte                          // int32 × 256: token that stands for a byte when nothing else does, -1 none
	tabByteSymbol                    // int32 × 256: BPE with a byte alphabet: piece that a byte begins as, -1 none
	tabSpecial                       // uint32: tokens that are found in text before anything else, longest first
	tabEOG                           // uint32, ascending: tokens that end generation
	tabSuppress                      // uint32, ascending: tokens never to be generated
	tabCharsMap                      // bytes: SentencePiece's precompiled normalisation
	tabNames                         // bytes: model name, 0, name of the pre-tokenizer
	tabTokenTrie                     // tries: uint32 first child × (nodes+1)
	tabTokenTrieEdge                 //   (byte | value+1 << 8) uint64 × nodes
	tabUserTrie                      // the same for user-defined tokens (Unigram)
	tabUserTrieEdge
	tabSpecialTrie // the same for tabSpecial, values are indices into it
	tabSpecialTrieEdge
	numTokTables
)

// tokElem is the size of one element of each table.
var tokElem = [numTokTables]uint64{4, 1, 2, 4, 8, 4, 12, 4, 4, 4, 4, 4, 1, 1, 4, 8, 4, 8, 4, 8}

// Tokenizer is a view of a tokenizer section. It keeps the bytes it was parsed from and copies nothing.
type Tokenizer struct {
	Kind         TokKind
	Rule         PreRule
	Flags        TokFlags
	Tokens       int
	Pieces       int
	UnknownScore float32
	special      [NumSpecials]int32
	tab          [numTokTables][]byte
}

// ParseTokenizer makes a view of a section. It takes constant time and proves that every table lies inside and has the
// size the header implies; the entries themselves are checked when they are read. Errors wrap ErrCorrupt or ErrVersion.
func ParseTokenizer(b []byte) (*Tokenizer, error) {
	if len(b) < tokHeader {
		return nil, tokCorrupt("%d bytes are less than its header of %d", len(b), tokHeader)
	}
	if string(b[:8]) != tokMagic {
		if string(b[:6]) == tokMagic[:6] {
			return nil, fmt.Errorf("tokenizer section: version %q, this build reads %q: %w", b[6:8], tokMagic[6:], ErrVersion)
		}
		return nil, tokCorrupt("begins with % x instead of %q", b[:8], tokMagic)
	}
	le := binary.LittleEndian
	t := &Tokenizer{
		Kind: TokKind(le.Uint32(b[8:])), Rule: PreRule(le.Uint32(b[12:])), Flags: TokFlags(le.Uint32(b[16:])),
		UnknownScore: math.Float32frombits(le.Uint32(b[28:])),
	}
	tokens, pieces := le.Uint32(b[20:]), le.Uint32(b[24:])
	switch {
	case t.Kind > maxTokKind:
		return nil, tokCorrupt("kind %d is not defined", t.Kind)
	case t.Rule >= NumPreRules:
		return nil, tokCorrupt("pre-tokenizer rule %d is not defined", t.Rule)
	case t.Flags&^allTokFlags != 0:
		return nil, tokCorrupt("flags %#x are not defined", t.Flags&^allTokFlags)
	case tokens > pieces || pieces > maxTokCount:
		return nil, tokCorrupt("%d tokens of %d pieces", tokens, pieces)
	}
	t.Tokens, t.Pieces = int(tokens), int(pieces)
	for i := range t.special {
		t.special[i] = int32(le.Uint32(b[32+4*i:]))
		if t.special[i] < -1 || t.special[i] >= int32(tokens) {
			return nil, tokCorrupt("special id %d is %d of %d tokens", i, t.special[i], tokens)
		}
	}
	if err := t.cut(b); err != nil {
		return nil, err
	}
	return t, t.checkCounts()
}

// cut takes the tables out of the section, holding the directory against the one layout its counts allow.
func (t *Tokenizer) cut(b []byte) error {
	at := uint64(tokHeader)
	for i := range t.tab {
		off := uint64(binary.LittleEndian.Uint32(b[96+8*i:]))
		count := uint64(binary.LittleEndian.Uint32(b[100+8*i:]))
		end := at + count*tokElem[i]
		if off != at || end > uint64(len(b)) {
			return tokCorrupt("table %d of %d elements at %d: expected at %d, section ends at %d", i, count, off, at, len(b))
		}
		t.tab[i] = b[at:end:end]
		at = end
		for ; at%8 != 0; at++ {
			if at >= uint64(len(b)) || b[at] != 0 {
				return tokCorrupt("padding of table %d is not zero", i)
			}
		}
	}
	if at != uint64(len(b)) {
		return tokCorrupt("%d bytes follow the last table", uint64(len(b))-at)
	}
	return nil
}

// count is the number of elements of a table.
func (t *Tokenizer) count(i tokTable) int { return len(t.tab[i]) / int(tokElem[i]) }

// checkCounts holds the counts of the tables against the header and each other.
func (t *Tokenizer) checkCounts() error {
	is := func(i tokTable, allowed ...int) error {
		for _, n := range allowed {
			if t.count(i) == n {
				return nil
			}
		}
		return tokCorrupt("table %d has %d elements, not %v", i, t.count(i), allowed)
	}
	texts, attrs, hash := t.Pieces+1, t.Tokens, t.count(tabHash)
	if t.Kind == TokNone {
		texts, attrs = 0, 0
	}
	merges := 0
	if t.Kind == TokBPE {
		merges = t.Pieces + 1
	}
	for _, err := range []error{
		is(tabTextOffset, texts), is(tabAttr, attrs), is(tabScore, 0, attrs), is(tabMergeOffset, 0, merges),
		is(tabByte, 0, 256), is(tabByteSymbol, 0, 256),
		is(tabTokenTrie, 0, t.count(tabTokenTrieEdge)+1), is(tabUserTrie, 0, t.count(tabUserTrieEdge)+1),
		is(tabSpecialTrie, 0, t.count(tabSpecialTrieEdge)+1),
	} {
		if err != nil {
			return err
		}
	}
	if hash&(hash-1) != 0 {
		return tokCorrupt("hash table of %d slots is no power of two", hash)
	}
	return nil
}

func tokCorrupt(f string, args ...any) error {
	return fmt.Errorf("tokenizer section: "+f+": %w", append(args, ErrCorrupt)...)
}

// Special gives a special id, -1 if the vocabulary has none.
func (t *Tokenizer) Special(s TokSpecial) int32 {
	if s < 0 || s >= NumSpecials {
		return -1
	}
	return t.special[s]
}

// Has reports whether all of the given flags are set.
func (t *Tokenizer) Has(f TokFlags) bool { return t.Flags&f == f }

// u32 reads element i of a table of 4-byte elements.
func u32(tab []byte, i int) (uint32, bool) {
	if uint64(i) >= uint64(len(tab))/4 {
		return 0, false
	}
	return binary.LittleEndian.Uint32(tab[4*i:]), true
}

// Text gives the text of a piece as the vocabulary writes it, at most TokMaxText bytes; nil if there is no such piece or its
// place is nonsense.
func (t *Tokenizer) Text(piece int32) []byte {
	if piece < 0 || int(piece) >= t.Pieces {
		return nil
	}
	from, ok1 := u32(t.tab[tabTextOffset], int(piece))
	to, ok2 := u32(t.tab[tabTextOffset], int(piece)+1)
	text := t.tab[tabText]
	if !ok1 || !ok2 || from > to || uint64(to) > uint64(len(text)) || to-from > TokMaxText {
		return nil
	}
	return text[from:to:to]
}

// Attr gives the attributes of a token, 0 for an id outside the vocabulary.
func (t *Tokenizer) Attr(id int32) TokAttr {
	if id < 0 || int(id) >= len(t.tab[tabAttr])/2 {
		return 0
	}
	return TokAttr(binary.LittleEndian.Uint16(t.tab[tabAttr][2*id:]))
}

// Score gives the score of a token, 0 where the vocabulary has none.
func (t *Tokenizer) Score(id int32) float32 {
	v, _ := u32(t.tab[tabScore], int(id))
	return math.Float32frombits(v)
}

// tokHash is 64-bit FNV-1a, folded so that the low bits depend on all of the text. The high half is the tag of a slot.
func tokHash[T string | []byte](s T) (slot, tag uint32) {
	h := uint64(14695981039346656037)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return uint32(h) ^ uint32(h>>32), uint32(h >> 32)
}

// Piece finds the piece whose text is s, -1 if there is none. Pieces at or above Tokens are no tokens.
func (t *Tokenizer) Piece(s []byte) int32 {
	tab := t.tab[tabHash]
	slots := uint32(len(tab) / 8)
	if slots == 0 {
		return -1
	}
	slot, tag := tokHash(s)
	for n := uint32(0); n < TokMaxProbe; n++ {
		e := tab[8*((slot+n)&(slots-1)):]
		ref := binary.LittleEndian.Uint32(e[4:8])
		if ref == 0 {
			return -1
		}
		if binary.LittleEndian.Uint32(e) == tag && ref <= uint32(t.Pieces) {
			if id := int32(ref - 1); string(t.Text(id)) == string(s) {
				return id
			}
		}
	}
	return -1
}

// Token finds the token whose text is s, -1 if there is none.
func (t *Tokenizer) Token(s []byte) int32 {
	if id := t.Piece(s); id < int32(t.Tokens) {
		return id
	}
	return -1
}

// Merge gives the rank of the merge of two pieces (lower goes first) and the piece that comes of it.
func (t *Tokenizer) Merge(left, right int32) (rank uint32, result int32, ok bool) {
	if left < 0 || right < 0 || int(left) >= t.Pieces {
		return 0, -1, false
	}
	lo, ok1 := u32(t.tab[tabMergeOffset], int(left))
	hi, ok2 := u32(t.tab[tabMergeOffset], int(left)+1)
	tab := t.tab[tabMerge]
	if !ok1 || !ok2 || uint64(hi) > uint64(len(tab)/12) {
		return 0, -1, false
	}
	for lo < hi {
		mid := lo + (hi-lo)/2
		e := tab[12*uint64(mid):][:12]
		switch r := binary.LittleEndian.Uint32(e); {
		case r < uint32(right):
			lo = mid + 1
		case r > uint32(right):
			hi = mid
		default:
			res := binary.LittleEndian.Uint32(e[8:])
			if uint64(res) >= uint64(t.Pieces) {
				return 0, -1, false
			}
			return binary.LittleEndian.Uint32(e[4:]), int32(res), true
		}
	}
	return 0, -1, false
}

// id reads an element of a table of ids, -1 where it holds none or nonsense.
func (t *Tokenizer) id(tab tokTable, i, limit int) int32 {
	v, ok := u32(t.tab[tab], i)
	if !ok || uint64(v) >= uint64(limit) {
		return -1
	}
	return int32(v)
}

// ByteToken gives the token that stands for a byte which no other token covers, -1 if there is none.
func (t *Tokenizer) ByteToken(b byte) int32 { return t.id(tabByte, int(b), t.Tokens) }

// ByteSymbol gives the piece that a byte begins as in byte-level BPE, -1 if no text or merge has it.
func (t *Tokenizer) ByteSymbol(b byte) int32 { return t.id(tabByteSymbol, int(b), t.Pieces) }

// Specials is the number of tokens that are looked for in text before anything else.
func (t *Tokenizer) Specials() int { return t.count(tabSpecial) }

// SpecialToken gives the i-th of them, longest text first, -1 for nonsense.
func (t *Tokenizer) SpecialToken(i int) int32 { return t.id(tabSpecial, i, t.Tokens) }

// EOG reports whether a token ends generation.
func (t *Tokenizer) EOG(id int32) bool { return id >= 0 && t.search(tabEOG, uint32(id)) }

// Suppressed reports whether a token is never to be generated.
func (t *Tokenizer) Suppressed(id int32) bool { return id >= 0 && t.search(tabSuppress, uint32(id)) }

// list gives the ids of an ascending table.
func (t *Tokenizer) list(tab tokTable) []int32 {
	var out []int32
	for i := range t.count(tab) {
		if id := t.id(tab, i, t.Tokens); id >= 0 {
			out = append(out, id)
		}
	}
	return out
}

// EOGs lists the tokens that end generation, ascending.
func (t *Tokenizer) EOGs() []int32 { return t.list(tabEOG) }

// Suppress lists the tokens that are never to be generated, ascending.
func (t *Tokenizer) Suppress() []int32 { return t.list(tabSuppress) }

func (t *Tokenizer) search(tab tokTable, id uint32) bool {
	lo, hi := 0, t.count(tab)
	for lo < hi {
		mid := (lo + hi) / 2
		switch v, _ := u32(t.tab[tab], mid); {
		case v < id:
			lo = mid + 1
		case v > id:
			hi = mid
		default:
			return true
		}
	}
	return false
}

// CharsMap is SentencePiece's precompiled normalisation, empty if the vocabulary has none.
func (t *Tokenizer) CharsMap() []byte { return t.tab[tabCharsMap] }

// Names gives the model and pre-tokenizer names of the source, for people to read.
func (t *Tokenizer) Names() (model, pre string) {
	b := t.tab[tabNames]
	for i, c := range b {
		if c == 0 {
			return string(b[:i]), string(b[i+1:])
		}
	}
	return string(b), ""
}
