/* noiserows: mean and variance of one layer's noise in rows (bound.NoiseRows,
   docs/concentration.md (11) and (12)).

   Purpose. For item p with input x = p % inputs, row r and s_j = s[p][j][r] + delta:
     mean[p][r] = up(meanIn[p][r % cols] + sum_j rootUp(s_j) radius[x][j], inflated)
     var[p][r]  = up(varIn[p][r % cols] + sum_j s_j maxSq[x][j] + c[p][r], inflated)
   sums over j in blocks of 32.

   Decomposition. A work-item owns one vector of rows of one item and walks over
   the inputs: task t = p * rowTiles + tile.

   Index formulas: s[(p * in + j) * rows + r], radius[x * in + j].

   Assumptions: all numbers are >= 0 or not finite, and then so is the result.
   hasIn says that meanIn and varIn are there. Go: fallback/noiserows.go. */

#pragma OPENCL FP_CONTRACT OFF

/* wrapped loads n of the numbers at from[(r + lane) % cols]. */
INLINE vec wrapped(const __global real *from, int r, int cols, int n) {
#if VW == 1
    return from[r % cols];
#else
    real lane[VW];
    for (int k = 0; k < VW; k++) {
        lane[k] = k < n ? from[(r + k) % cols] : R(0.0);
    }
    return JOIN(vload, VW)(0, lane);
#endif
}

KERNEL void noiserows(__global real *mean, __global real *var, const __global real *meanIn,
                      const __global real *varIn, const __global real *s, const __global real *c,
                      const __global real *radius, const __global real *maxSq, const int hasIn,
                      const real delta, const real meanRel, const real varRel, const real abs_,
                      const int rows, const int cols, const int in, const int inputs,
                      const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int rowTiles = (rows + VW - 1) / VW, r = (int)modulo(t, rowTiles) * VW;
    const size_t p = quotient(t, rowTiles), x = modulo(p, inputs) * in, from = p * in * rows + r;
    vec m = VEC(R(0.0)), v = VEC(R(0.0));
    for (int j0 = 0; j0 < in; j0 += BLOCK) {
        vec blockMean = VEC(R(0.0)), blockVar = VEC(R(0.0));
        for (int j = j0; j < min(j0 + BLOCK, in); j++) {
            const vec sj = VLOAD(s + from + (size_t)j * rows) + delta;
            blockMean += rootUp(sj) * radius[x + j];
            blockVar += sj * maxSq[x + j];
        }
        m += blockMean;
        v += blockVar;
    }
    vec mIn = VEC(R(0.0)), vIn = VEC(R(0.0));
    if (hasIn) {
        mIn = wrapped(meanIn + p * cols, r, cols, rows - r);
        vIn = wrapped(varIn + p * cols, r, cols, rows - r);
    }
    const size_t at = p * rows + r;
    storeUpTo(upper(up(mIn + up(up(m * meanRel) + abs_))), mean + at, rows - r);
    storeUpTo(upper(up(vIn + up(up((v + VLOAD(c + at)) * varRel) + abs_))), var + at, rows - r);
}
