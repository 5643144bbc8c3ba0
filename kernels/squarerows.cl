/* squarerows: squares of coefficients, rounded up (bound.SquareRows).

   Purpose. square[i] = up(a[i] a[i]), and 0 where a[i] is 0.
   Decomposition. A work-item owns EW vectors: i = (t * EW + v) * VW + lane.
   Assumptions: none; a NaN stays one. Go: fallback/squarerows.go. */

#pragma OPENCL FP_CONTRACT OFF

KERNEL void squarerows(__global real *square, const __global real *a, const int n,
                       const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int i0 = (int)t * EW * VW;
    for (int i = i0; i < min(i0 + EW * VW, n); i += VW) {
        const vec x = VLOAD(a + i);
        storeUpTo(x == R(0.0) ? VEC(R(0.0)) : up(x * x), square + i, n - i);
    }
}
