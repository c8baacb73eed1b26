package format

import "github.com/zeebo/blake3"

// Check proves the bytes of a slot (JNS-4: BLAKE3), as they were read, against its digest; number is the slot's, for the message. The error is ErrDigest.
func (s *Slot) Check(number uint32, b []byte) error {
	if uint64(len(b)) < s.Length || blake3.Sum256(b[:s.Length]) != s.Digest {
		return fault(s.Class.Section().String(), int64(s.Offset), ErrDigest, "slot %d (layer %d, expert %d) does not have the BLAKE3 that the slot table says: it has been changed or damaged",
			number, int32(s.Layer), int32(s.Expert))
	}
	return nil
}
