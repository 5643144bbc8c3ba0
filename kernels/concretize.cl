/* concretize: the least value of rows over the input box (bound.Concretize).

   Purpose. For item p with input x = p % inputs and row r:
     bound[p][r] = down(c[p][r] + sum_j min of the products s[p][j][r] x[x][j] - charges)
   sums over j in blocks of 32, charges from the sum of the magnitudes of the terms.

   Decomposition. A work-item owns one vector of rows of one item and walks over
   the inputs: task t = p * rowTiles + tile.

   Index formulas: s[(p * in + j) * rows + r], x[x * in + j].

   Assumptions: xLo <= xHi; nonNeg promises xLo >= 0, and then sHi is not read. s is
   not a bound and may be Inf or NaN: the minimum keeps NaN, as Go's does.
   Go: fallback/concretize.go. */

#pragma OPENCL FP_CONTRACT OFF

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
        vec blockSum = VEC(R(0.0)), blockMag = VEC(R(0.0));
        for (int j = j0; j < min(j0 + BLOCK, in); j++) {
            const real l = xLo[x + j], h = xHi[x + j];
            size += mostNaN1(-l, h);
            const vec v = VLOAD(sLo + s + (size_t)j * rows);
            vec term;
            if (nonNeg) {
                term = leastNaN(v * l, v * h);
            } else {
                term = min4NaN(v, VLOAD(sHi + s + (size_t)j * rows), VEC(l), VEC(h));
            }
            blockSum += term;
            blockMag += fabs(term);
        }
        sum += blockSum;
        magnitude += blockMag;
    }
    const vec charged = up(up(up(magnitude * rel) + up1(size * under)) + abs_);
    const size_t at = p * rows + r;
    storeUpTo(lower(down(down(VLOAD(c + at) + sum) - charged)), bound + at, rows - r);
}
