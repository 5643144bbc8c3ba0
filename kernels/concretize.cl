/* concretize: the least value of rows over the input box (bound.Concretize).

   Purpose. For item p with input x = p % inputs and row r:
     bound[p][r] = down(c[p][r] + sum_j min of the products s[p][j][r] x[x][j] - charges)
   sums over j in blocks of 32, charges from the sum of the magnitudes of the terms.

   Decomposition. A work-item owns one vector of rows of one item and walks over
   the inputs: task t = p * rowTiles + tile. On GPUs, where such tasks are few and inputs
   many, a work-item of concretizeblocks owns one block of the sums, task
   t = (p * blocks + b) * rows + r, and leaves them in sums, magnitudes [p][b][r] and size
   [p][b]; one of concretizesums adds a row's up.

   Index formulas: s[(p * in + j) * rows + r], x[x * in + j].

   Assumptions: xLo <= xHi; nonNeg promises xLo >= 0, and then sHi is not read. s is
   not a bound and may be Inf or NaN: the minimum keeps NaN, as Go's does.
   Go: fallback/concretize.go. */

#pragma OPENCL FP_CONTRACT OFF

/* leastBlock sums the least products of a row over inputs j0 .. end - 1, a block, their
   magnitudes, and the largest magnitudes of the inputs. */
INLINE void leastBlock(vec *blockSum, vec *blockMag, real *blockSize, const __global real *sLo, const __global real *sHi,
                       const __global real *xLo, const __global real *xHi, int nonNeg, int j0, int end, size_t s,
                       size_t x, int rows) {
    vec sum = VEC(R(0.0)), magnitude = VEC(R(0.0));
    real size = R(0.0);
    for (int j = j0; j < end; j++) {
        const real l = xLo[x + j], h = xHi[x + j];
        size += mostNaN1(-l, h);
        const vec v = VLOAD(sLo + s + (size_t)j * rows);
        vec term;
        if (nonNeg) {
            term = leastNaN(v * l, v * h);
        } else {
            term = min4NaN(v, VLOAD(sHi + s + (size_t)j * rows), VEC(l), VEC(h));
        }
        sum += term;
        magnitude += fabs(term);
    }
    *blockSum = sum;
    *blockMag = magnitude;
    *blockSize = size;
}

/* concretized is a row's bound, from its constant and the sums over the inputs. */
INLINE vec concretized(vec c, vec sum, vec magnitude, real size, real rel, real under, real abs_) {
    return lower(down(down(c + sum) - up(up(up(magnitude * rel) + up1(size * under)) + abs_)));
}

KERNEL void concretize(__global real *bound, const __global real *sLo, const __global real *sHi,
                       const __global real *c, const __global real *xLo, const __global real *xHi,
                       const real rel, const real under, const real abs_, const int nonNeg,
                       const int rows, const int in, const int inputs,
                       const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int rowTiles = (rows + VW - 1) / VW, r = (int)modulo(t, rowTiles) * VW;
    const size_t p = quotient(t, rowTiles), x = modulo(p, inputs) * in, s = p * in * rows + r;
    vec sum = VEC(R(0.0)), magnitude = VEC(R(0.0));
    real size = R(0.0);
    for (int j0 = 0; j0 < in; j0 += BLOCK) {
        vec blockSum, blockMag;
        real blockSize;
        leastBlock(&blockSum, &blockMag, &blockSize, sLo, sHi, xLo, xHi, nonNeg, j0, min(j0 + BLOCK, in), s, x, rows);
        sum += blockSum;
        magnitude += blockMag;
        size += blockSize;
    }
    const size_t at = p * rows + r;
    storeUpTo(concretized(VLOAD(c + at), sum, magnitude, size, rel, under, abs_), bound + at, rows - r);
}

#if VW == 1

KERNEL void concretizeblocks(__global real *sums, __global real *magnitudes, __global real *size,
                             const __global real *sLo, const __global real *sHi, const __global real *xLo,
                             const __global real *xHi, const int nonNeg, const int rows, const int in,
                             const int inputs, const int blocks,
                             const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int r = (int)modulo(t, rows);
    const size_t block = quotient(t, rows), p = quotient(block, blocks);
    const int j0 = (int)modulo(block, blocks) * BLOCK;
    vec blockSum, blockMag;
    real blockSize;
    leastBlock(&blockSum, &blockMag, &blockSize, sLo, sHi, xLo, xHi, nonNeg, j0, min(j0 + BLOCK, in),
               p * in * rows + r, modulo(p, inputs) * in, rows);
    sums[t] = blockSum;
    magnitudes[t] = blockMag;
    if (r == 0) {
        size[block] = blockSize;
    }
}

KERNEL void concretizesums(__global real *bound, const __global real *sums, const __global real *magnitudes,
                           const __global real *size, const __global real *c,
                           const real rel, const real under, const real abs_, const int rows, const int blocks,
                           const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const size_t p = quotient(t, rows), from = p * blocks * rows + modulo(t, rows);
    real sum = R(0.0), magnitude = R(0.0), total = R(0.0);
    for (int b = 0; b < blocks; b++) {
        sum += sums[from + (size_t)b * rows];
        magnitude += magnitudes[from + (size_t)b * rows];
        total += size[p * blocks + b];
    }
    bound[t] = concretized(c[t], sum, magnitude, total, rel, under, abs_);
}

#endif
