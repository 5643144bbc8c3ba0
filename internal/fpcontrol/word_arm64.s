#include "textflag.h"

// func getFPCR() uint64
TEXT ·getFPCR(SB), NOSPLIT, $0-8
	MOVD FPCR, R0
	MOVD R0, ret+0(FP)
	RET

// func setFPCR(w uint64)
TEXT ·setFPCR(SB), NOSPLIT, $0-8
	MOVD w+0(FP), R0
	MOVD R0, FPCR
	RET
