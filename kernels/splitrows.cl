/* splitrows: rows over z = max(zeta, 0) to rows over zeta, each with lower slopes, phases and
   multipliers of its own (bound.SplitRows, docs/theory.md, SplitRows).

   Purpose. For item p, row r, neuron j, with s = s[p][j][r]:
     outA[p][j][r] = x + term
     outC[p][r]    = down(constant + sum_j (s * intercept) - charges)
   phase 0 and s >= 0: x = s * slope; phase 0 and s < 0: x = s * aHi, intercept bHi;
   term = beta; phase > 0: x = s, term = -beta; phase < 0: x = 0, term = beta. A slope outside of
   [0, 1] counts as 0, and so does a beta that is not >= 0 where there is a phase.

   Decomposition. A work-item owns one vector of rows of one item and walks over the neurons:
   task t = p * rowTiles + tile.
   On GPUs, where such tasks are few and neurons many, a work-item of splitblocks owns one block
   of the sums, task t = (p * blocks + b) * rows + row, and leaves them in sumC, sumCharge
   [p][b][rows] and size [p][b]; relaxsums adds a row's up.

   Index formulas: s, slope, phase, beta, a [(p * neurons + j) * rows + r]; z, line, mag
   [p * neurons + j].

   Assumptions: zLo <= zHi.
   Go: fallback/splitrows.go. */

#pragma OPENCL FP_CONTRACT OFF

/* splitBlock is what neurons j0 .. end - 1, a block, add to a row's constant and to its charges,
   and to the sum of max|z| and mag, for products that underflow. */
INLINE void splitBlock(vec *sumC, vec *sumCharge, real *sumSize, __global real *outA, const __global real *s,
                       const __global real *slope, const __global real *phase, const __global real *beta,
                       const __global real *zLo, const __global real *zHi, const __global real *aHi,
                       const __global real *bHi, const __global real *mag, real g1, real g2, int j0, int end,
                       size_t first, int rows, int row, int n) {
    const vec zero = VEC(R(0.0));
    vec blockC = zero, blockCharge = zero;
    real blockSize = R(0.0);
    for (int j = j0; j < end; j++) {
        const size_t i = first + j, at = i * rows + row;
        blockSize += mostNaN1(-zLo[i], zHi[i]) + mag[i];
        const real icptErr = up1(g1 * fabs(bHi[i])), coefErr = up1(g2 * mag[i]);
        const vec v = VLOAD(s + at), l = VLOAD(slope + at), f = VLOAD(phase + at), given = VLOAD(beta + at);
        const vec by = given >= zero ? given : zero;
        const vec below = l >= zero ? (l <= VEC(R(1.0)) ? v * l : zero) : zero;
        const vec open = v >= zero ? below : v * aHi[i];
        const vec x = f > zero ? v : (f < zero ? zero : open);
        const vec term = f > zero ? -by : (f < zero ? by : given);
        const vec upper = f > zero ? zero : (f < zero ? zero : (v >= zero ? zero : VEC(R(1.0))));
        const vec b = upper > zero ? VEC(bHi[i]) : zero, e = upper > zero ? VEC(icptErr) : zero;
        storeUpTo(x + term, outA + at, n);
        blockC += v * b;
        blockCharge += (fabs(x) + fabs(term)) * coefErr + fabs(v) * e;
    }
    *sumC = blockC;
    *sumCharge = blockCharge;
    *sumSize = blockSize;
}

KERNEL void splitrows(__global real *outA, __global real *outC, const __global real *s, const __global real *cIn,
                      const __global real *slope, const __global real *phase, const __global real *beta,
                      const __global real *zLo, const __global real *zHi, const __global real *aHi,
                      const __global real *bHi, const __global real *mag, const real g1, const real g2,
                      const real rel, const real under, const real abs_, const int neurons, const int rows,
                      const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int rowTiles = (rows + VW - 1) / VW;
    const size_t p = quotient(t, rowTiles);
    const int row = (int)modulo(t, rowTiles) * VW, n = rows - row;
    vec c = VEC(R(0.0)), charge = VEC(R(0.0));
    real size = R(0.0);
    for (int j0 = 0; j0 < neurons; j0 += BLOCK) {
        vec blockC, blockCharge;
        real blockSize;
        splitBlock(&blockC, &blockCharge, &blockSize, outA, s, slope, phase, beta, zLo, zHi, aHi, bHi, mag, g1, g2,
                   j0, min(j0 + BLOCK, neurons), p * neurons, rows, row, n);
        c += blockC;
        charge += blockCharge;
        size += blockSize;
    }
    const vec charged = up(up(up(charge * rel) + up1(size * under)) + abs_);
    storeUpTo(down(down(VLOAD(cIn + p * rows + row) + c) - charged), outC + p * rows + row, n);
}

#if VW == 1

KERNEL void splitblocks(__global real *outA, __global real *sumC, __global real *sumCharge, __global real *size,
                        const __global real *s, const __global real *slope, const __global real *phase,
                        const __global real *beta, const __global real *zLo, const __global real *zHi,
                        const __global real *aHi, const __global real *bHi, const __global real *mag,
                        const real g1, const real g2, const int neurons, const int rows, const int blocks,
                        const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int row = (int)modulo(t, rows);
    const size_t block = quotient(t, rows), p = quotient(block, blocks);
    const int j0 = (int)modulo(block, blocks) * BLOCK;
    vec blockC, blockCharge;
    real blockSize;
    splitBlock(&blockC, &blockCharge, &blockSize, outA, s, slope, phase, beta, zLo, zHi, aHi, bHi, mag, g1, g2,
               j0, min(j0 + BLOCK, neurons), p * neurons, rows, row, 1);
    sumC[t] = blockC;
    sumCharge[t] = blockCharge;
    if (row == 0) {
        size[block] = blockSize;
    }
}

#endif
