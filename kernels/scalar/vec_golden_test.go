package scalar

const goldenTranscendentals = 0xc8311049ad09e78b
