/* gather: copies by a list of places (bound.Gather).

   Purpose. out[p][first + t][r] = in[p][index[t]][r], 0 where index[t] is -1.

   Decomposition. The count * rows numbers of an item are one list, place by place; a
   work-item owns a run of EW * VW of them: task t = p * runs + run. On a GPU a run is one
   number and neighbours are rows of one place; on a CPU it is long, so that items of one
   row are no work-item each.

   Index formulas: out[(p * total + first + t) * rows + r], in[(p * n + index[t]) * rows + r].

   Assumptions: index holds whole numbers from -1 to n - 1. Go: fallback/gather.go. */

#pragma OPENCL FP_CONTRACT OFF

/* copyRow copies n numbers, or writes zeros. */
INLINE void copyRow(__global real *to, const __global real *from, int zero, int n) {
    if (n < VW) {
        for (int k = 0; k < n; k++) {
            to[k] = zero ? R(0.0) : from[k];
        }
        return;
    }
    for (int k = 0; k < n; k += VW) {
        storeUpTo(zero ? VEC(R(0.0)) : VLOAD(from + k), to + k, n - k);
    }
}

KERNEL void gather(__global real *out, const __global real *in, const __global real *index,
                   const int n, const int first, const int total, const int rows, const int numbers,
                   const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int runs = (numbers + EW * VW - 1) / (EW * VW);
    const size_t p = quotient(t, runs);
    int i = (int)modulo(t, runs) * EW * VW;
    const int end = min(i + EW * VW, numbers);
    int place = i / rows, r = i % rows;
    while (i < end) {
        const int at = (int)index[place], count = min(rows - r, end - i);
        copyRow(out + (p * total + first + place) * rows + r, in + (p * n + max(at, 0)) * rows + r, at < 0, count);
        i += count;
        place++;
        r = 0;
    }
}
