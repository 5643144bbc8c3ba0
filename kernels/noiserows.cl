/* noiserows: mean and variance of one layer's noise in rows (bound.NoiseRows,
   docs/theory.md (11) and (12)).

   Purpose. For item p with input x = p % inputs, row r and s_j = s[p][j][r] + delta:
     mean[p][r] = up(meanIn[p][r % cols] + sum_j rootUp(s_j) radius[x][j], inflated)
     var[p][r]  = up(varIn[p][r % cols] + sum_j s_j maxSq[x][j] + c[p][r], inflated)
   sums over j, but those with radius and maxSq 0, in blocks of 32.

   Decomposition. A work-item owns one vector of rows of one item and walks over
   the inputs: task t = p * rowTiles + tile. On GPUs, where such tasks are few and inputs
   many, a work-item of noiseblocks owns one block of the sums, task
   t = (p * blocks + b) * rows + r, and leaves them in means, variances [p][b][r]; one of
   noisesums adds a row's up.

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

/* noiseBlock is what inputs j0 .. end - 1, a block, add to a row's mean and variance. */
INLINE void noiseBlock(vec *blockMean, vec *blockVar, const __global real *s, const __global real *radius,
                       const __global real *maxSq, real delta, int j0, int end, size_t from, size_t x, int rows) {
    vec m = VEC(R(0.0)), v = VEC(R(0.0));
    for (int j = j0; j < end; j++) {
        if (radius[x + j] == R(0.0) && maxSq[x + j] == R(0.0)) {
            continue;
        }
        const vec sj = VLOAD(s + from + (size_t)j * rows) + delta;
        m += rootUp(sj) * radius[x + j];
        v += sj * maxSq[x + j];
    }
    *blockMean = m;
    *blockVar = v;
}

/* noisier is what was there before and a sum over the inputs, inflated. */
INLINE vec noisier(vec before, vec sum, real rel, real abs_) { return upper(up(before + up(up(sum * rel) + abs_))); }

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
        vec blockMean, blockVar;
        noiseBlock(&blockMean, &blockVar, s, radius, maxSq, delta, j0, min(j0 + BLOCK, in), from, x, rows);
        m += blockMean;
        v += blockVar;
    }
    vec mIn = VEC(R(0.0)), vIn = VEC(R(0.0));
    if (hasIn) {
        mIn = wrapped(meanIn + p * cols, r, cols, rows - r);
        vIn = wrapped(varIn + p * cols, r, cols, rows - r);
    }
    const size_t at = p * rows + r;
    storeUpTo(noisier(mIn, m, meanRel, abs_), mean + at, rows - r);
    storeUpTo(noisier(vIn, v + VLOAD(c + at), varRel, abs_), var + at, rows - r);
}

#if VW == 1

KERNEL void noiseblocks(__global real *means, __global real *variances, const __global real *s,
                        const __global real *radius, const __global real *maxSq, const real delta,
                        const int rows, const int in, const int inputs, const int blocks,
                        const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const size_t block = quotient(t, rows), p = quotient(block, blocks);
    const int r = (int)modulo(t, rows), j0 = (int)modulo(block, blocks) * BLOCK;
    vec blockMean, blockVar;
    noiseBlock(&blockMean, &blockVar, s, radius, maxSq, delta, j0, min(j0 + BLOCK, in), p * in * rows + r,
               modulo(p, inputs) * in, rows);
    means[t] = blockMean;
    variances[t] = blockVar;
}

KERNEL void noisesums(__global real *mean, __global real *var, const __global real *means,
                      const __global real *variances, const __global real *meanIn, const __global real *varIn,
                      const __global real *c, const int hasIn, const real meanRel, const real varRel,
                      const real abs_, const int rows, const int cols, const int blocks,
                      const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const size_t p = quotient(t, rows), r = modulo(t, rows), from = p * blocks * rows + r;
    real m = R(0.0), v = R(0.0);
    for (int b = 0; b < blocks; b++) {
        m += means[from + (size_t)b * rows];
        v += variances[from + (size_t)b * rows];
    }
    const size_t in = p * cols + modulo(r, cols);
    mean[t] = noisier(hasIn ? meanIn[in] : R(0.0), m, meanRel, abs_);
    var[t] = noisier(hasIn ? varIn[in] : R(0.0), v + c[t], varRel, abs_);
}

#endif
