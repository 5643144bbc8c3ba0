/* benchfma: the yardstick for arithmetic: FMA_CHAINS * VW * rounds fused
   multiplications and additions per work-item, 2 operations each, in FMA_CHAINS
   chains that do not wait for each other. The one place where fma may be used:
   its result bounds nothing.

   Decomposition. Task t writes the sum of its chains to to[t * VW + lane]. */

#pragma OPENCL FP_CONTRACT OFF

#define FMA_CHAINS 16

KERNEL void benchfma(__global real *to, const real a, const real b, const int rounds,
                     const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    vec x[FMA_CHAINS];
    UNROLL
    for (int k = 0; k < FMA_CHAINS; k++) {
        x[k] = VEC((real)(t + k));
    }
    for (int i = 0; i < rounds; i++) {
        UNROLL
        for (int k = 0; k < FMA_CHAINS; k++) {
            x[k] = fma(x[k], VEC(a), VEC(b));
        }
    }
    vec sum = x[0];
    UNROLL
    for (int k = 1; k < FMA_CHAINS; k++) {
        sum += x[k];
    }
    VSTORE(sum, to + t * VW);
}
