package fpcontrol

const downward, upward, towardZero Word = 1 << 13, 2 << 13, 3 << 13

var flushing = []mode{
	{ftz, "flushes subnormal numbers to zero", 1, above1, 0, 0x1p-74},
	{daz, "takes subnormal arguments as zero", 1, above1, 0x1p-1023, 0},
}
