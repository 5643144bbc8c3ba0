/* intersect: pre-activation intervals tightened in place by the bounds of
   mirrored rows (bound.Intersect).

   Purpose.  lo[p][i] = max(lo, bound[p][i]),  hi[p][i] = min(hi, -bound[p][n + i]),
   and (-Inf, Inf) where that is empty: one of the two was wrong.

   Decomposition. A work-item owns EW vectors of one item:
     task t = p * tiles + tile, i = (tile * EW + v) * VW + lane.

   Assumptions: none. Both zeros and NaN go as Go's min and max take them.
   Go: fallback/intersect.go. */

#pragma OPENCL FP_CONTRACT OFF

KERNEL void intersect(__global real *lo, __global real *hi, const __global real *bound, const int n,
                      const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int tiles = (n + EW * VW - 1) / (EW * VW), i0 = (int)modulo(t, tiles) * EW * VW;
    const size_t p = quotient(t, tiles);
    for (int i = i0; i < min(i0 + EW * VW, n); i += VW) {
        const __global real *b = bound + p * 2 * n + i;
        const vec l = goMax(loadUpTo(lo + p * n + i, n - i), VLOAD(b));
        const vec h = goMin(loadUpTo(hi + p * n + i, n - i), -VLOAD(b + n));
        const mask ok = l <= h;
        storeUpTo(ok ? l : VEC(-INFINITE), lo + p * n + i, n - i);
        storeUpTo(ok ? h : VEC(INFINITE), hi + p * n + i, n - i);
    }
}
