package gauss

import "psafe/internal/testkit/oracle"

var (
	bigOf        = oracle.Of
	newBig       = oracle.New
	oraclePhi    = oracle.Phi
	oracleExpNeg = oracle.ExpNeg
	oracleTail   = oracle.Tail
	widen        = oracle.Widen
	isLower      = oracle.IsLower
	isUpper      = oracle.IsUpper
	relative     = oracle.Relative
	cases        = oracle.Cases
	newRand      = oracle.Rand
	oracleMills  = oracle.Mills
	oracleExp    = oracle.Exp
)
