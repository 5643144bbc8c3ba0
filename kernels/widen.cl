/* widen: bounds moved outward by what the noise adds (bound.Widen).

   Purpose. by = up(mean[i] + up(q rootUp(var[i]))), q = quantile or quantiles[i / each];
     lo[i] = down(lo[i] - by),  hi[i] = up(hi[i] + by),  mag[i] = up(mag[i] + by)
   in place; hi and mag only where hasHi and hasMag say that they are there.
   Decomposition. A work-item owns EW vectors: i = (t * EW + v) * VW + lane.
   Assumptions: none; what is not finite becomes infinite. Go: fallback/widen.go. */

#pragma OPENCL FP_CONTRACT OFF

KERNEL void widen(__global real *lo, __global real *hi, __global real *mag, const __global real *mean,
                  const __global real *var, const __global real *quantiles, const real quantile,
                  const int hasQuantiles, const int each, const int hasHi, const int hasMag,
                  const int n, const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int i0 = (int)t * EW * VW;
    for (int i = i0; i < min(i0 + EW * VW, n); i += VW) {
        const vec q = quantileOf(quantiles, hasQuantiles, each, quantile, i, n - i);
        const vec by = up(VLOAD(mean + i) + up(q * rootUp(VLOAD(var + i))));
        storeUpTo(lower(down(loadUpTo(lo + i, n - i) - by)), lo + i, n - i);
        if (hasHi) {
            storeUpTo(upper(up(loadUpTo(hi + i, n - i) + by)), hi + i, n - i);
        }
        if (hasMag) {
            storeUpTo(upper(up(loadUpTo(mag + i, n - i) + by)), mag + i, n - i);
        }
    }
}
