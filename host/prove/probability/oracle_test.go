package probability

import "psafe/internal/testkit/oracle"

var (
	bigOf          = oracle.Of
	newBig         = oracle.New
	oraclePhi      = oracle.Phi
	oracleExpNeg   = oracle.ExpNeg
	oracleTail     = oracle.Tail
	oracleInterval = oracle.Interval
	oracleMass     = oracle.Mass
	isLower        = oracle.IsLower
	isUpper        = oracle.IsUpper
	relative       = oracle.Relative
	expOf          = oracle.ExpOf
	cases          = oracle.Cases
	newRand        = oracle.Rand
)
