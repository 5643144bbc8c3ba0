/* digest: what the device holds of an array, in numbers of 32 bits that gpu/digest.go
   compares with those of the bytes that were read or written.

   Purpose. Task t of tasks hashes the run of run = ceil(n / tasks) numbers that begins at
   t * run, and puts

     sum over the 32-bit words w of the run of mix(w + SPREAD * i + FRESH * receipt),
     i the word's place in the array

   behind the ring of receipts, at place at + t. A word that differs changes its term,
   as mix is a permutation; words that change places change theirs; and the launch's
   number in every term keeps an old digest from passing for a new one.

   Decomposition. A work-item owns a run. Most arrays that are read have one.

   Assumptions: none; integers modulo 2^32 only. A number's bits are as in Go: of a
   double the low word comes first. Go: gpu/digest.go. */

#pragma OPENCL FP_CONTRACT OFF

/* DIGESTS is how many places there are behind the ring. */
#define DIGESTS 65536
#define SPREAD 0x9e3779b1U
#define FRESH 0x7feb352dU

/* mix is the last step of MurmurHash3. */
INLINE uint mix(uint x) {
    x = (x ^ (x >> 16)) * 0x85ebca6bU;
    x = (x ^ (x >> 13)) * 0xc2b2ae35U;
    return x ^ (x >> 16);
}

KERNEL void digest(const __global real *a, const ulong n, const ulong run, const uint at,
                   const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const ulong begin = min(t * run, n), end = min(begin + run, n);
    const uint fresh = FRESH * receipt;
    uint sum = 0;
    for (ulong i = begin; i < end; i++) {
#ifdef REAL64
        const uint2 w = as_uint2(a[i]);
        sum += mix(w.x + SPREAD * (uint)(2 * i) + fresh) + mix(w.y + SPREAD * (uint)(2 * i + 1) + fresh);
#else
        sum += mix(as_uint(a[i]) + SPREAD * (uint)i + fresh);
#endif
    }
    receipts[RECEIPTS + at + t] = sum;
}
