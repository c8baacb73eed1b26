package scalar

const (
	goldenTranscendentals = 0xf69d7d5ae6627aec
	goldenQuantizeFine    = 0x67454ef089e49b80
)
