/* digest: what the device holds of some arrays, in a number of 32 bits each that gpu/digest.go
   compares with that of the bytes that were read or written.

   Purpose. Of each of up to 8 arrays a_k, of n_k numbers (0 where there is none),

     sum over the 32-bit words w of the array of mix(w + SPREAD * i + FRESH * receipt),
     i the word's place in the array

   is added to what stands behind the ring of receipts at place at + k. A word that differs changes
   its term, as mix is a permutation; words that change places change theirs; and the launch's
   number in every term keeps an old digest from passing for a new one.

   Decomposition. t = k * runs + r. On GPUs work-item r has every runs-th number of a_k from r on, so
   that those beside each other read beside each other; on CPUs the run of numbers from r * run on. What
   they add commutes.

   Assumptions: none; integers modulo 2^32 only. A number's bits are as in Go: of a
   double the low word comes first. Go: gpu/digest.go. */

#pragma OPENCL FP_CONTRACT OFF

/* DIGESTS is how many places there are behind the ring. */
#define DIGESTS 8192
#define SPREAD 0x9e3779b1U
#define FRESH 0x7feb352dU

/* mix is the last step of MurmurHash3. */
INLINE uint mix(uint x) {
    x = (x ^ (x >> 16)) * 0x85ebca6bU;
    x = (x ^ (x >> 13)) * 0xc2b2ae35U;
    return x ^ (x >> 16);
}

KERNEL void digest(const __global real *a0, const __global real *a1, const __global real *a2, const __global real *a3,
                   const __global real *a4, const __global real *a5, const __global real *a6, const __global real *a7,
                   const ulong n0, const ulong n1, const ulong n2, const ulong n3,
                   const ulong n4, const ulong n5, const ulong n6, const ulong n7,
                   const uint runs, const ulong run, const uint at,
                   const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const size_t k = quotient(t, runs), r = modulo(t, runs);
    const __global real *const low = k < 2 ? (k < 1 ? a0 : a1) : (k < 3 ? a2 : a3);
    const __global real *const high = k < 6 ? (k < 5 ? a4 : a5) : (k < 7 ? a6 : a7);
    const ulong nLow = k < 2 ? (k < 1 ? n0 : n1) : (k < 3 ? n2 : n3);
    const ulong nHigh = k < 6 ? (k < 5 ? n4 : n5) : (k < 7 ? n6 : n7);
    const __global real *const a = k < 4 ? low : high;
    const ulong n = k < 4 ? nLow : nHigh;
#if VW == 1
    const ulong begin = r, end = n, step = runs;
#else
    const ulong begin = r * run, end = min(begin + run, n), step = 1;
#endif
    if (begin >= end) {
        return;
    }
    const uint fresh = FRESH * receipt;
    uint sum = 0;
    for (ulong i = begin; i < end; i += step) {
#ifdef REAL64
        const uint2 w = as_uint2(a[i]);
        sum += mix(w.x + SPREAD * (uint)(2 * i) + fresh) + mix(w.y + SPREAD * (uint)(2 * i + 1) + fresh);
#else
        sum += mix(as_uint(a[i]) + SPREAD * (uint)i + fresh);
#endif
    }
    atomic_add(&receipts[RECEIPTS + at + k], sum);
}
