/* benchcopy: to[i] = from[i], the yardstick for memory: 2 n numbers moved.

   Decomposition. A work-item owns CW vectors that lie together:
   i = (t * CW + v) * VW + lane; n is a multiple of CW * VW. */

#pragma OPENCL FP_CONTRACT OFF

#if VW == 1
#define CW 1
#else
#define CW 64
#endif

KERNEL void benchcopy(__global real *to, const __global real *from,
                      const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    for (size_t i = t * CW * VW; i < (t + 1) * CW * VW; i += VW) {
        VSTORE(VLOAD(from + i), to + i);
    }
}
