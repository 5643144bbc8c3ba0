package prove

// Numerics is the version of what records say of their bounds: it goes up by one with the first
// change since the last release after which a record of the same question may have other bits.
// Records, runs that are resumed and campaigns go together if it is the same, whatever program
// made them.
// TestNumerics fails where bits have changed and it has not.
const Numerics = 4
