/* poison: buffers that are to be handed out again are filled with a NaN that no operation makes
   (gpu/poison.go), so that what a launch left unwritten is never taken for a number.

   Purpose. a_k[i] = poison for i < n_k, of up to 8 buffers; n_k is 0 where there is none.
   Decomposition. A work-item owns EW vectors of one buffer: t = k * runs + run. Buffers begin at
   aligned addresses and have whole vectors.
   Assumptions: bits of a NaN are stored as they are. Read finds every other (gpu/array.go). */

#pragma OPENCL FP_CONTRACT OFF

#ifdef REAL64
#define POISON as_double(0x7ff8c5afe55afe5cUL)
#else
#define POISON as_float(0x7fc5afe5U)
#endif

KERNEL void poison(__global real *a0, __global real *a1, __global real *a2, __global real *a3,
                   __global real *a4, __global real *a5, __global real *a6, __global real *a7,
                   const int n0, const int n1, const int n2, const int n3,
                   const int n4, const int n5, const int n6, const int n7, const int runs,
                   const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int k = (int)quotient(t, runs), i0 = (int)modulo(t, runs) * EW * VW;
    __global real *const low = k < 2 ? (k < 1 ? a0 : a1) : (k < 3 ? a2 : a3);
    __global real *const high = k < 6 ? (k < 5 ? a4 : a5) : (k < 7 ? a6 : a7);
    const int nLow = k < 2 ? (k < 1 ? n0 : n1) : (k < 3 ? n2 : n3);
    const int nHigh = k < 6 ? (k < 5 ? n4 : n5) : (k < 7 ? n6 : n7);
    __global real *const to = k < 4 ? low : high;
    const int n = k < 4 ? nLow : nHigh;
    for (int i = i0; i < min(i0 + EW * VW, n); i += VW) {
        VSTORE(VEC(POISON), to + i);
    }
}
