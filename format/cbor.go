package format

import "github.com/fxamacker/cbor/v2"

// The one encoding (JNS-3): RFC 8949 core deterministic. A nil slice is an empty array, so that there is one form of "nothing".
var encMode = func() cbor.EncMode {
	o := cbor.CoreDetEncOptions()
	o.NilContainers = cbor.NilContainerAsEmpty
	o.IndefLength = cbor.IndefLengthForbidden
	o.TagsMd = cbor.TagsForbidden
	m, err := o.EncMode()
	if err != nil {
		panic(err) // constants above are wrong
	}
	return m
}()

// The one decoding: everything that the encoding above cannot give and the library can refuse is refused; the rest is found by encoding again.
var decMode = func() cbor.DecMode {
	m, err := cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		UTF8:              cbor.UTF8RejectInvalid,
		FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
		MaxNestedLevels:   8,
		MaxArrayElements:  1 << 20,
		MaxMapPairs:       64,
	}.DecMode()
	if err != nil {
		panic(err)
	}
	return m
}()

func encodeCBOR(v any) ([]byte, error) { return encMode.Marshal(v) }

func decodeCBOR(b []byte, v any) error { return decMode.Unmarshal(b, v) }
