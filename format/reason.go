package format

import "fmt"

// Why a tensor has the layout it has (JNS-34). The codes are informative: a reader shows one that it does not know as a number.
const (
	ReasonTiled         uint16 = 1
	ReasonVector        uint16 = 2
	ReasonRowLookup     uint16 = 3
	ReasonTypeHasNoTile uint16 = 4
	ReasonColumns       uint16 = 5
	ReasonRows          uint16 = 6
	ReasonTarget        uint16 = 7
	ReasonPattern       uint16 = 8
	ReasonNotUsed       uint16 = 9
	ReasonUnknown       uint16 = 10
	ReasonConvolution   uint16 = 11
)

var reasons = [...]string{
	ReasonTiled:         "tiled for the target",
	ReasonVector:        "a vector: kept as it is",
	ReasonRowLookup:     "read row by row: kept as it is",
	ReasonTypeHasNoTile: "its type has no tile for the target: portable layout, computed by the scalar path",
	ReasonColumns:       "its number of columns does not suit the tile: portable layout, computed by the scalar path",
	ReasonRows:          "it has too few rows for a tile: portable layout, computed by the scalar path",
	ReasonTarget:        "the target asks for portable layouts",
	ReasonPattern:       "its bytes do not fit the resolved form of the tile: index layout",
	ReasonNotUsed:       "the program does not use it: kept aside so that restore is complete",
	ReasonUnknown:       "not known to the compiler: kept aside as asked",
	ReasonConvolution:   "convolution filter: kept as it is",
}

// ReasonText says a reason in words.
func ReasonText(code uint16) string {
	if code == 0 || int(code) >= len(reasons) {
		return fmt.Sprintf("reason %d", code)
	}
	return reasons[code]
}
