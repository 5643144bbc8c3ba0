/* relax: two lines round each activation on its pre-activation interval
   (bound.Relax, docs/theory.md, section 10.3).

   Purpose. aLo t + bLo <= sigma(t) on [lo, hi], sigma(t) <= aHi t + bHi on [upLo, upHi], and
     err = up(g1 max(|bLo|,|bHi|) + g2 max(|aLo|,|aHi|) mag),
   each product and sum rounded up.

   Decomposition. A work-item owns EW vectors: i = (t * EW + v) * VW + lane.

   Parameters. kind, slopeLo, slopeHi as in activate, all kinds; g1, g2 = bound.Charge.

   Assumptions: none; proofs in fallback/relax.go and fallback/sigmoid.go, whose
   results these are bit by bit. */

#pragma OPENCL FP_CONTRACT OFF

/* relaxLinear relaxes max(t, slope t) for a slope in [slopeLo, slopeHi]. */
INLINE void relaxLinear(vec *aLo, vec *bLo, vec *aHi, vec *bHi, vec l, vec u, real slopeLo, real slopeHi) {
    const vec zero = VEC(R(0.0)), one = VEC(R(1.0));
    vec a = (u - slopeLo * l) * recipApprox(u - l);
    a = ((a >= R(0.0)) & (a <= R(1.0))) ? a : one;
    a = a < MIN_SLOPE ? zero : a;
    const vec atL = up(up(a - slopeLo) * -l), atU = up(up(R(1.0) - a) * u);
    const vec lift = mostNaN(atL, atU); /* up never gives -0 */
    /* Like Go's cascade: the last line decides first. */
    *aLo = u > -l ? one : VEC(slopeHi);
    *aHi = a;
    *bHi = lift;
    *aLo = u <= R(0.0) ? VEC(slopeHi) : *aLo;
    *aHi = u <= R(0.0) ? VEC(slopeLo) : *aHi;
    *bHi = u <= R(0.0) ? zero : *bHi;
    const mask same = (l >= R(0.0)) | (VEC(slopeLo) == R(1.0));
    *aLo = same ? one : *aLo;
    *aHi = same ? one : *aHi;
    *bHi = same ? zero : *bHi;
    *bLo = zero;
}

/* relaxSigmoid uses sigmoid(t) = 1 - sigmoid(-t) for the lower line, and for tanh
   tanh(t) = 2 sigmoid(2t) - 1. One place for both: what they share is long. */
INLINE void relaxSigmoid(vec *aLo, vec *bLo, vec *aHi, vec *bHi, vec l, vec u, vec upL, vec upU, const int isTanh) {
    const real scale = isTanh ? R(2.0) : R(1.0);
    vec b;
    l = scale * l;
    u = scale * u;
    sigmoidUpper(aHi, bHi, scale * upL, scale * upU);
    sigmoidUpper(aLo, &b, -u, -l);
    *bLo = down(R(1.0) - b);
    if (isTanh) {
        *aLo = R(4.0) * *aLo;
        *bLo = down(R(2.0) * *bLo - R(1.0));
        *aHi = R(4.0) * *aHi;
        *bHi = up(R(2.0) * *bHi - R(1.0));
    }
}

KERNEL void relax(__global real *aLo, __global real *bLo, __global real *aHi, __global real *bHi,
                  __global real *err, const __global real *lo, const __global real *hi,
                  const __global real *upLo, const __global real *upHi, const __global real *mag, const int kind, const real slopeLo, const real slopeHi,
                  const real g1, const real g2, const int n,
                  const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int i0 = (int)t * EW * VW;
    for (int i = i0; i < min(i0 + EW * VW, n); i += VW) {
        const vec l = VLOAD(lo + i), h = VLOAD(hi + i), upL = VLOAD(upLo + i), upH = VLOAD(upHi + i);
        vec al, bl, ah, bh;
        if (kind == KIND_TANH || kind == KIND_SIGMOID) {
            relaxSigmoid(&al, &bl, &ah, &bh, l, h, upL, upH, kind == KIND_TANH);
        } else if (kind == KIND_IDENTITY || kind == KIND_RELU || kind == KIND_LEAKY_RELU) {
            relaxLinear(&al, &bl, &ah, &bh, upL, upH, slopeLo, slopeHi); /* al is the other line's */
            vec a, b;
            relaxLinear(&al, &bl, &a, &b, l, h, slopeLo, slopeHi);
        } else if (kind == KIND_SOFTPLUS || kind == KIND_ELU) {
            convexUpper(&ah, &bh, upL, upH, kind == KIND_ELU, slopeLo, slopeHi);
            convexLower(&al, &bl, l, h, kind == KIND_ELU, slopeLo, slopeHi);
        } else { /* nothing is known */
            al = ah = VEC(R(0.0));
            bl = VEC(-INFINITE);
            bh = VEC(INFINITE);
        }
        const vec b = mostNaN(fabs(bl), fabs(bh)), s = mostNaN(fabs(al), fabs(ah));
        storeUpTo(al, aLo + i, n - i);
        storeUpTo(bl, bLo + i, n - i);
        storeUpTo(ah, aHi + i, n - i);
        storeUpTo(bh, bHi + i, n - i);
        storeUpTo(up(up(g1 * b) + up(g2 * up(s * VLOAD(mag + i)))), err + i, n - i);
    }
}
