/* convtranspose: rows over the pre-activations of a layer with one matrix at several positions to
   rows over its inputs (bound.ConvTranspose).

   Purpose. For item p, place j, row r and the entries e of the list of j, q = entry[e] / taps,
   k = entry[e] % taps:
     s(e)         = sum over channels o of c * (c >= 0 ? wLo : wHi)[box][k][o],  c = a[p][q][o][r]
     out[p][j][r] = sum of s(e), added to what is there if hasOld
   both sums in blocks of 32; 0 for the sum where hasNeeded and needed[p][j] = 0.

   Decomposition. A work-item owns one vector of rows of one place: task t = (p * places + j) *
   rowTiles + tile. It reads a and w as often as the place is under taps; work-items beside
   each other read rows beside each other. On CPUs, where weights are numbers, convlive lists the
   channels that are not 0 in all rows of a vector, and a task of convplaces owns a run of places,
   of which up to CP under taps of the same positions read coefficients once: t = (p * rowTiles +
   tile) * runs + run.

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

#if VW > 1

/* CP is the most places whose coefficients a task of convplaces reads once. */
#define CP 4

/* convlive: live has for each vector of rows a word for each block of channels: those that are not 0
   in all rows. live[((p * rowTiles + tile) * positions + q) * words + word]. */
KERNEL void convlive(__global real *live, const __global real *a, const int rows, const int positions,
                     const int channels, const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int rowTiles = (rows + VW - 1) / VW, words = (channels + BLOCK - 1) / BLOCK;
    const size_t place = quotient(t, positions), p = quotient(place, rowTiles), r = modulo(place, rowTiles) * VW;
    liveRows((__global uint *)live + t * words, a + ((p * positions + modulo(t, positions)) * channels) * rows + r, rows, channels);
}

/* placeSums are the sums of n places, a constant, that are under taps of the positions q[]: entry e of place
   k is at at[k] + e. A channel that is not live adds 0, which sums that begin with +0 do not notice (round.cl,
   least). */
INLINE void placeSums(const int n, vec *sum, const __global real *a, const __global uint *live, const __global real *w,
                      const __global real *entry, const int *at, const int *q, int entries, int rows, int taps, int channels) {
    const int words = (channels + BLOCK - 1) / BLOCK;
    EACH(k, n, CP) {
        sum[k] = VEC(R(0.0));
    }
    for (int e = 0; e < entries; e++) {
        const __global real *tap[CP], *from = a + (size_t)q[e] * channels * rows;
        vec s[CP];
        EACH(k, n, CP) {
            tap[k] = w + (size_t)((int)entry[at[k] + e] - q[e] * taps) * channels;
            s[k] = VEC(R(0.0));
        }
        for (int o0 = 0; o0 < channels; o0 += BLOCK) {
            vec block[CP];
            EACH(k, n, CP) {
                block[k] = VEC(R(0.0));
            }
            for (uint left = live[(size_t)q[e] * words + o0 / BLOCK]; left != 0;) {
                const int o = clz(left);
                left ^= LIVE(o);
                const vec c = VLOAD(from + (size_t)(o0 + o) * rows);
                EACH(k, n, CP) {
                    block[k] += c * tap[k][o0 + o];
                }
            }
            EACH(k, n, CP) {
                s[k] += block[k];
            }
        }
        EACH(k, n, CP) {
            sum[k] += s[k];
        }
    }
}

/* findPositions finds those of n entries. */
INLINE void findPositions(int *q, const __global real *entry, int n, int taps) {
    for (int e = 0; e < n; e++) {
        q[e] = (int)entry[e] / taps;
    }
}

/* alike says whether the list of place j is one of taps of the positions q[] too. */
INLINE bool alike(const __global real *start, const __global real *entry, int j, const int *q, int entries, int taps) {
    const int e0 = (int)start[j];
    if ((int)start[j + 1] - e0 != entries || entries > BLOCK) {
        return false;
    }
    int other = 0;
    for (int e = 0; e < entries; e++) {
        other |= (uint)((int)entry[e0 + e] - q[e] * taps) >= (uint)taps;
    }
    return other == 0;
}

/* convplaces: convtranspose for weights that are numbers. */
KERNEL void convplaces(__global real *out, const __global real *a, const __global real *live, const __global real *wLo,
                       const __global real *start, const __global real *entry, const __global real *needed,
                       const int hasNeeded, const int hasOld, const int perBox, const int run,
                       const int rows, const int places, const int positions, const int taps, const int channels,
                       const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int rowTiles = (rows + VW - 1) / VW, runs = (places + run - 1) / run, words = (channels + BLOCK - 1) / BLOCK;
    const size_t item = quotient(t, runs), p = quotient(item, rowTiles);
    const int r = (int)modulo(item, rowTiles) * VW, end = min(((int)modulo(t, runs) + 1) * run, places);
    const __global real *rowsOf = a + p * positions * channels * rows + r;
    const __global uint *liveOf = (const __global uint *)live + item * positions * words;
    const __global real *w = wLo + quotient(p, perBox) * taps * channels;
    int q[BLOCK], entries = -1;
    for (int j = (int)modulo(t, runs) * run; j < end;) {
        int list[CP], at[CP], n = 0;
        for (; j < end && n < CP; j++) {
            if (hasNeeded && needed[p * places + j] == R(0.0)) {
                if (!hasOld) {
                    storeUpTo(VEC(R(0.0)), out + (p * places + j) * rows + r, rows - r);
                }
                continue;
            }
            const bool same = alike(start, entry, j, q, entries, taps);
            if (!same && n > 0) {
                break;
            }
            at[n] = (int)start[j];
            if (!same) {
                entries = (int)start[j + 1] - at[n];
                findPositions(q, entry + at[n], min(entries, BLOCK), taps);
            }
            list[n++] = j;
        }
        vec total[CP];
        switch (n) {
        case 1: /* whose list alone may have more than a block */
            placeSums(1, total, rowsOf, liveOf, w, entry, at, q, min(entries, BLOCK), rows, taps, channels);
            for (int e = BLOCK; e < entries; e += BLOCK) {
                vec block[CP];
                at[0] += BLOCK;
                findPositions(q, entry + at[0], min(entries - e, BLOCK), taps);
                placeSums(1, block, rowsOf, liveOf, w, entry, at, q, min(entries - e, BLOCK), rows, taps, channels);
                total[0] += block[0];
            }
            break;
        case 2:
            placeSums(2, total, rowsOf, liveOf, w, entry, at, q, entries, rows, taps, channels);
            break;
        case 3:
            placeSums(3, total, rowsOf, liveOf, w, entry, at, q, entries, rows, taps, channels);
            break;
        case 4:
            placeSums(4, total, rowsOf, liveOf, w, entry, at, q, entries, rows, taps, channels);
            break;
        }
        for (int k = 0; k < n; k++) {
            __global real *to = out + (p * places + list[k]) * rows + r;
            storeUpTo(hasOld ? loadUpTo(to, rows - r) + total[k] : total[k], to, rows - r);
        }
    }
}

#endif
