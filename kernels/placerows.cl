/* placerows: rows over the inputs of a lowered linear map (bound.PlaceRows).

   Purpose. Row r of item p is pre-activation u = unit[r], or with each unit[p][r], less v =
   other[p][r] if there is one; with channel o = u % channels at position u / channels:
     s[p][j][r] = sum of w[box][k][o of u] over the k with taps[pos u][k] = j, less the same for v
     c[p][r]    = b[box][o of u] - b[box][o of v]
   as intervals rounded outward. Where u and v have one channel, k with one tap in both
   cancel, and c is 0. With squares both sums of upper ends add up, rounded up, to sLo and cLo.

   Decomposition. A work-item owns one vector of rows of one item and span inputs, which it
   fills with zeros and then puts the weights of its rows in, one after the other: task
   t = (p * spans + part) * rowTiles + tile. It looks at all taps, so span should
   be a few times their number.

   Index formulas: s[(p * in + j) * rows + r], w[(box * taps + k) * channels + o],
   tap[pos * taps + k], other[p * rows + r].

   Assumptions: tap holds whole numbers from -1 to in - 1, unit and other pre-activations.
   No work-item reads or writes what another one writes. Go: fallback/placerows.go. */

#pragma OPENCL FP_CONTRACT OFF

/* meet is sum + x rounded outward, but exact where there was nothing. */
INLINE real meet(real sum, real x, int upward) {
    const real s = sum + x;
    if (sum == R(0.0)) {
        return s;
    }
    return upward ? upper1(up1(s)) : lower1(down1(s));
}

/* part is what a number in [lo, hi] adds to an end: negated in the second sum. */
INLINE real part(real lo, real hi, int upward, int squares, int second) {
    return squares ? hi : second ? (upward ? -lo : -hi) : (upward ? hi : lo);
}

/* putWeights adds the weights wLo[k * channels] of taps in [j0, j1) to s[j * rows], but for
   those that meet the same input in other. */
INLINE void putWeights(__global real *sLo, __global real *sHi, const __global real *wLo,
                       const __global real *wHi, const __global real *tap, const __global real *other,
                       int taps, int channels, int rows, int j0, int j1,
                       int hasHi, int cancels, int squares, int second) {
    for (int k = 0; k < taps; k++) {
        const int j = (int)tap[k];
        if (j < j0 || j >= j1 || (cancels && tap[k] == other[k])) {
            continue;
        }
        const real lo = wLo[(size_t)k * channels], hi = wHi[(size_t)k * channels];
        const size_t at = (size_t)j * rows;
        sLo[at] = meet(sLo[at], part(lo, hi, squares, squares, second), squares);
        if (hasHi) {
            sHi[at] = meet(sHi[at], part(lo, hi, 1, squares, second), 1);
        }
    }
}

KERNEL void placerows(__global real *sLo, __global real *sHi, __global real *cLo, __global real *cHi,
                      const __global real *wLo, const __global real *wHi, const __global real *bLo,
                      const __global real *bHi, const __global real *tap, const __global real *unit,
                      const __global real *other, const int hasHi, const int hasCHi, const int hasOther,
                      const int each, const int squares, const int perBox, const int rows, const int in, const int taps,
                      const int channels, const int span,
                      const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int rowTiles = (rows + VW - 1) / VW, spans = (in + span - 1) / span;
    const size_t tile = quotient(t, rowTiles), p = quotient(tile, spans), box = quotient(p, perBox);
    const int r0 = (int)modulo(t, rowTiles) * VW, part0 = (int)modulo(tile, spans);
    const int j0 = part0 * span, j1 = min(j0 + span, in);
    for (int j = j0; j < j1; j++) {
        const size_t at = (p * in + j) * rows + r0;
        storeUpTo(VEC(R(0.0)), sLo + at, rows - r0);
        if (hasHi) {
            storeUpTo(VEC(R(0.0)), sHi + at, rows - r0);
        }
    }
    for (int r = r0; r < min(r0 + VW, rows); r++) {
        const size_t s = p * in * rows + r, c = p * rows + r, w = box * taps * channels, b = box * channels;
        const int u = (int)unit[each ? c : r], v = hasOther ? (int)other[c] : u;
        const int uo = u % channels, vo = v % channels, cancels = hasOther && uo == vo;
        const __global real *uTap = tap + (size_t)(u / channels) * taps, *vTap = tap + (size_t)(v / channels) * taps;
        __global real *hi = hasHi ? sHi + s : sHi;
        putWeights(sLo + s, hi, wLo + w + uo, wHi + w + uo, uTap, vTap, taps, channels, rows, j0, j1, hasHi, cancels, squares, 0);
        if (hasOther) {
            putWeights(sLo + s, hi, wLo + w + vo, wHi + w + vo, vTap, uTap, taps, channels, rows, j0, j1, hasHi, cancels, squares, 1);
        }
        if (part0 > 0) {
            continue;
        }
        real l = part(bLo[b + uo], bHi[b + uo], squares, squares, 0), h = bHi[b + uo];
        if (cancels) {
            l = h = R(0.0);
        } else if (hasOther) {
            l = meet(l, part(bLo[b + vo], bHi[b + vo], squares, squares, 1), squares);
            h = meet(h, part(bLo[b + vo], bHi[b + vo], 1, squares, 1), 1);
        }
        cLo[c] = l;
        if (hasCHi) {
            cHi[c] = h;
        }
    }
}
