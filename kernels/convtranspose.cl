/* convtranspose: rows over the pre-activations of a layer with one matrix at several positions to
   rows over its inputs (bound.ConvTranspose).

   Purpose. For item p, place j, row r and the entries e of the list of j, q = entry[e] / taps,
   k = entry[e] % taps:
     s(e)         = sum over channels o of c * (c >= 0 ? wLo : wHi)[box][k][o],  c = a[p][q][o][r]
     out[p][j][r] = sum of s(e), added to what is there if hasOld
   both sums in blocks of 32; 0 for the sum where hasNeeded and needed[p][j] = 0.

   Decomposition. A work-item owns one vector of rows of one place: task t = (p * places + j) *
   rowTiles + tile. It reads a and w as often as the place is under taps; work-items beside
   each other read rows beside each other.

   Index formulas: a[((p * positions + q) * channels + o) * rows + r], w[(box * taps + k) * channels
   + o], out[(p * places + j) * rows + r].

   Assumptions: start and entry hold whole numbers, entries below positions * taps. w is finite.
   Go: fallback/convtranspose.go. */

#pragma OPENCL FP_CONTRACT OFF

/* tapSum is s(e): a and w begin at channel 0 of its position and of its tap. */
INLINE vec tapSum(const __global real *a, const __global real *wLo, const __global real *wHi, int rows, int channels) {
    vec total = VEC(R(0.0));
    for (int o0 = 0; o0 < channels; o0 += BLOCK) {
        vec block = VEC(R(0.0));
        for (int o = o0; o < min(o0 + BLOCK, channels); o++) {
            const vec c = VLOAD(a + (size_t)o * rows);
            block += c * (c >= R(0.0) ? VEC(wLo[o]) : VEC(wHi[o]));
        }
        total += block;
    }
    return total;
}

KERNEL void convtranspose(__global real *out, const __global real *a, const __global real *wLo, const __global real *wHi,
                          const __global real *start, const __global real *entry, const __global real *needed,
                          const int hasNeeded, const int hasOld, const int perBox,
                          const int rows, const int places, const int positions, const int taps, const int channels,
                          const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int rowTiles = (rows + VW - 1) / VW, r = (int)modulo(t, rowTiles) * VW;
    const size_t tile = quotient(t, rowTiles), p = quotient(tile, places), size = (size_t)taps * channels;
    const int j = (int)modulo(tile, places);
    const bool is = !hasNeeded || needed[tile] != R(0.0);
    const int e1 = is ? (int)start[j + 1] : 0;
    const __global real *rowsOf = a + p * positions * channels * rows + r;
    const size_t w = quotient(p, perBox) * size;
    vec total = VEC(R(0.0));
    for (int b = (int)start[j]; b < e1; b += BLOCK) {
        vec block = VEC(R(0.0));
        for (int e = b; e < min(b + BLOCK, e1); e++) {
            const int at = (int)entry[e], q = at / taps;
            const size_t k = w + (size_t)(at % taps) * channels;
            block += tapSum(rowsOf + (size_t)q * channels * rows, wLo + k, wHi + k, rows, channels);
        }
        total += block;
    }
    __global real *to = out + tile * rows + r;
    if (hasOld) {
        const vec old = loadUpTo(to, rows - r);
        total = is ? old + total : old;
    }
    storeUpTo(total, to, rows - r);
}
