/* gathersum: sums by lists of places (bound.GatherSum).

   Purpose. out[p][j][r] = (out[p][j][r] +) sum of in[p][entry[e]][r] over the e of
   [start[j], start[j + 1]) in blocks of 32, with hasSelect of those e with
   selected[p][entry[e]] = slot[e].

   Decomposition. As gather: the places * rows numbers of an item are one list, and a
   work-item owns a run of EW * VW of them, task t = p * runs + run. It walks over the list
   of a place once for GV vectors of rows. On a GPU that is one number: neighbours are
   rows of one place, walk over the same list and load beside each other.

   Index formulas: out[(p * places + j) * rows + r], in[(p * n + entry[e]) * rows + r],
   selected[p * n + entry[e]].

   Assumptions: start does not decrease, entry holds whole numbers from 0 to n - 1.
   Go: fallback/gathersum.go. */

#pragma OPENCL FP_CONTRACT OFF

#if VW == 1
#define GV 1
#else
#define GV 4
#endif

/* sumRows sums the entries e0 .. e1 - 1 of a list in count rows, n vectors of them. */
INLINE void sumRows(__global real *out, const __global real *in, const __global real *entry,
                    const __global real *slot, const __global real *selected, int hasSelect, int hasOld,
                    int e0, int e1, int rows, int n, int count) {
    vec total[GV], block[GV];
    EACH(k, n, GV) {
        total[k] = VEC(R(0.0));
    }
    for (int b = e0; b < e1; b += BLOCK) {
        EACH(k, n, GV) {
            block[k] = VEC(R(0.0));
        }
        for (int e = b; e < min(b + BLOCK, e1); e++) {
            const size_t at = (int)entry[e];
            if (!hasSelect || selected[at] == slot[e]) {
                EACH(k, n, GV) {
                    block[k] += VLOAD(in + at * rows + k * VW);
                }
            }
        }
        EACH(k, n, GV) {
            total[k] += block[k];
        }
    }
    EACH(k, n, GV) {
        if (hasOld) {
            total[k] = loadUpTo(out + k * VW, count - k * VW) + total[k];
        }
        storeUpTo(total[k], out + k * VW, count - k * VW);
    }
}

KERNEL void gathersum(__global real *out, const __global real *in, const __global real *start,
                      const __global real *entry, const __global real *slot, const __global real *selected,
                      const int hasSelect, const int hasOld, const int n, const int places, const int rows, const int numbers,
                      const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int runs = (numbers + EW * VW - 1) / (EW * VW);
    const size_t p = quotient(t, runs);
    int i = (int)modulo(t, runs) * EW * VW;
    const int end = min(i + EW * VW, numbers);
    int j = i / rows, r = i % rows;
    const __global real *items = in + p * n * rows, *chosen = hasSelect ? selected + p * n : selected;
    while (i < end) {
        const int e0 = (int)start[j], e1 = (int)start[j + 1], count = min(min(rows - r, end - i), GV * VW);
        sumRows(out + (p * places + j) * rows + r, items + r, entry, slot, chosen, hasSelect, hasOld,
                e0, e1, rows, (count + VW - 1) / VW, count);
        i += count;
        r += count;
        if (r == rows) {
            r = 0;
            j++;
        }
    }
}
