package gauss

import "psafe/host/arith"

// unit and tiny, up and down are those of arith, where proofs and formulas are dense with them.
const unit, tiny = arith.Unit, arith.Eta

func up(x float64) float64   { return arith.Up(x) }
func down(x float64) float64 { return arith.Down(x) }
