/* vary: how far activated neurons vary over T, and how large they are
   (bound.Vary).

   Purpose. by = up(mean[i] + up(q rootUp(var[i]))), q = quantile or quantiles[i / each];
     radius[i]   = min(up(lipschitz by), up(zHi[i] - zLo[i]))
     radiusSq[i] = up(radius radius),  maxSq[i] = up(m m), m = max(-zLo[i], zHi[i])
   and 0 for the radius where zHi[i] - zLo[i] is 0, and for squares of 0.
   Decomposition. A work-item owns EW vectors: i = (t * EW + v) * VW + lane.
   Assumptions: none; what is not finite becomes +Inf. Go: fallback/vary.go. */

#pragma OPENCL FP_CONTRACT OFF

/* squareUp is at least the square of x, and 0 only of 0. */
INLINE vec squareUp(vec x) { return x == R(0.0) ? VEC(R(0.0)) : upper(up(x * x)); }

KERNEL void vary(__global real *radius, __global real *radiusSq, __global real *maxSq,
                   const __global real *zLo, const __global real *zHi, const __global real *mean,
                   const __global real *var, const __global real *quantiles, const real quantile,
                   const int hasQuantiles, const int each, const real lipschitz,
                   const int n, const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int i0 = (int)t * EW * VW;
    for (int i = i0; i < min(i0 + EW * VW, n); i += VW) {
        const vec l = VLOAD(zLo + i), h = VLOAD(zHi + i);
        const vec q = quantileOf(quantiles, hasQuantiles, each, quantile, i, n - i);
        const vec by = up(VLOAD(mean + i) + up(q * rootUp(VLOAD(var + i))));
        const vec most = upper(leastNaN(up(lipschitz * by), up(h - l))), m = mostNaN(-l, h);
        const vec r = h - l == R(0.0) ? VEC(R(0.0)) : most;
        storeUpTo(r, radius + i, n - i);
        storeUpTo(squareUp(r), radiusSq + i, n - i);
        storeUpTo(squareUp(m), maxSq + i, n - i);
    }
}
