package routing

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// A run that is longer than a trace can be is recorded as far as that goes, and what is there can be read.
func TestALongRunIsRecordedAsFarAsATraceGoes(t *testing.T) {
	slots := []Slot{{Layer: 0, Expert: 0, Length: 1}}
	for _, limit := range []func(w *Writer){func(w *Writer) { w.most = 1001 }, func(w *Writer) { w.size = MaxFile - 32 - 1 - 2000 }} {
		var b bytes.Buffer
		w := NewWriter(&b, [32]byte{}, slots)
		limit(w)
		for range 3000 {
			w.Pass(1)
		}
		require.True(t, w.Full())
		require.NoError(t, w.Close())
		tr, err := Read(&b)
		require.NoError(t, err)
		require.Len(t, tr.Turns, 1000)
	}
}
