package arith

import "psafe/internal/testkit/oracle"

const oraclePrec = oracle.Prec

var (
	bigOf        = oracle.Of
	newBig       = oracle.New
	oraclePhi    = oracle.Phi
	oracleExpNeg = oracle.ExpNeg
	widen        = oracle.Widen
	isLower      = oracle.IsLower
	isUpper      = oracle.IsUpper
	relative     = oracle.Relative
	expOf        = oracle.ExpOf
	cases        = oracle.Cases
	newRand      = oracle.Rand
)
