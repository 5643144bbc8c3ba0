/* selftest: single operations on chosen numbers, which gpu compares with Go's
   results before it trusts a device.

   Purpose. For each i: a + b, a - b, a * b, a * b + c (rounded twice: a compiler
   that contracts is found here), down(a * b), and the smaller and the larger of a * b
   and a * c (of two zeros either).

   Decomposition. Task t owns the VW numbers i = t * VW + lane. */

#pragma OPENCL FP_CONTRACT OFF

KERNEL void selftest(__global real *sum, __global real *difference, __global real *product,
                     __global real *twice, __global real *below, __global real *smaller,
                     __global real *larger, const __global real *a, const __global real *b,
                     const __global real *c, const int n,
                     const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int i = (int)t * VW;
    const vec x = VLOAD(a + i), y = VLOAD(b + i), z = VLOAD(c + i);
    storeUpTo(x + y, sum + i, n - i);
    storeUpTo(x - y, difference + i, n - i);
    storeUpTo(x * y, product + i, n - i);
    storeUpTo(x * y + z, twice + i, n - i);
    storeUpTo(down(x * y), below + i, n - i);
    storeUpTo(min4(x, x, y, z), smaller + i, n - i);
    storeUpTo(max4(x, x, y, z), larger + i, n - i);
}
