package fpcontrol

const upward, downward, towardZero Word = 1 << 22, 2 << 22, 3 << 22

// Arguments alone (FIZ) are flushed by few processors.
var flushing = []mode{{fz, "flushes subnormal numbers to zero", 1, above1, 0, 0}}
