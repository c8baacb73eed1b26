package scalar

const (
	goldenTranscendentals = 0xc8311049ad09e78b
	goldenQuantizeFine    = 0x67454ef089e49b80
)
