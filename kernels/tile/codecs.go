package tile

import "slices"

// The source types, numbered as in GGUF. Numbers missing here are types that no model file carries as weights, or that were withdrawn.
const (
	F32     Type = 0
	F16     Type = 1
	Q4_0    Type = 2
	Q4_1    Type = 3
	Q5_0    Type = 6
	Q5_1    Type = 7
	Q8_0    Type = 8
	Q2_K    Type = 10
	Q3_K    Type = 11
	Q4_K    Type = 12
	Q5_K    Type = 13
	Q6_K    Type = 14
	IQ2_XXS Type = 16
	IQ2_XS  Type = 17
	IQ3_XXS Type = 18
	IQ1_S   Type = 19
	IQ4_NL  Type = 20
	IQ3_S   Type = 21
	IQ2_S   Type = 22
	IQ4_XS  Type = 23
	IQ1_M   Type = 29
	BF16    Type = 30
	TQ1_0   Type = 34
	TQ2_0   Type = 35
	MXFP4   Type = 39
	NVFP4   Type = 40
	Q1_0    Type = 41
	Q2_0    Type = 42
)

// String gives the name as ggml spells it, "type N" for a number without a codec.
func (t Type) String() string {
	if c, ok := CodecFor(t); ok {
		return c.Name
	}
	return "type " + itoa(uint32(t))
}

func itoa(n uint32) string {
	var b [10]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return string(b[i:])
		}
	}
}

// codecs holds every codec in order of type number.
var codecs = collect(floatCodecs, legacyCodecs, kCodecs, iqCodecs, tqCodecs, fp4Codecs, q1q2Codecs)

func collect(families ...[]Codec) []*Codec {
	var all []*Codec
	for _, f := range families {
		for i := range f {
			all = append(all, &f[i])
		}
	}
	slices.SortFunc(all, func(a, b *Codec) int { return int(a.Type) - int(b.Type) })
	return all
}

// Codecs lists every codec in order of type number. The slice is the caller's, the codecs are not to be changed.
func Codecs() []*Codec { return slices.Clone(codecs) }

// CodecFor finds the codec of a source type.
func CodecFor(t Type) (*Codec, bool) {
	i, ok := slices.BinarySearchFunc(codecs, t, func(c *Codec, t Type) int { return int(c.Type) - int(t) })
	if !ok {
		return nil, false
	}
	return codecs[i], true
}
