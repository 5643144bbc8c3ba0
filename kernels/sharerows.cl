/* sharerows: rows over the pre-activations of a layer with shared weights to rows over what
   lies under its taps, with a matrix for each row (bound.ShareRows).

   Purpose. s[p][q][k][r] = sum_o a[p][q][o][r] w[p][k][o][r], sums over channels o in blocks
   of 32, rounded to nearest.

   Decomposition. A work-item owns SP positions, SK taps and one vector of rows of an item, all
   sums in registers: a coefficient is used SK times, a weight SP times.
     task t = ((p * pTiles + pTile) * kTiles + kTile) * rowTiles + rowTile
   Work-items beside each other own rows beside each other, then taps: coefficients stay
   in the cache.

   Index formulas: a[((p * positions + q) * channels + o) * rows + r],
   w[((p * size + k) * channels + o) * rows + r], s[((p * positions + q) * size + k) * rows + r].

   Assumptions: w is finite. Inf and NaN of a go the way they go in Go. Go: fallback/sharerows.go. */

#pragma OPENCL FP_CONTRACT OFF

#define SP 2
#define SK 4

KERNEL void sharerows(__global real *s, const __global real *a, const __global real *w,
                      const int rows, const int positions, const int size, const int channels,
                      const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int rowTiles = (rows + VW - 1) / VW, kTiles = (size + SK - 1) / SK, pTiles = (positions + SP - 1) / SP;
    const int r = (int)modulo(t, rowTiles) * VW;
    const size_t tile = quotient(t, rowTiles), rest = quotient(tile, kTiles), p = quotient(rest, pTiles);
    const int k0 = (int)modulo(tile, kTiles) * SK, q0 = (int)modulo(rest, pTiles) * SP;
    const size_t step = (size_t)channels * rows;
    const __global real *from[SP], *with[SK];
    UNROLL
    for (int i = 0; i < SP; i++) {
        from[i] = a + (p * positions + min(q0 + i, positions - 1)) * step + r;
    }
    UNROLL
    for (int j = 0; j < SK; j++) {
        with[j] = w + (p * size + min(k0 + j, size - 1)) * step + r;
    }
    vec total[SP * SK];
    UNROLL
    for (int i = 0; i < SP * SK; i++) {
        total[i] = VEC(R(0.0));
    }
    for (int o0 = 0; o0 < channels; o0 += BLOCK) {
        vec sum[SP * SK];
        UNROLL
        for (int i = 0; i < SP * SK; i++) {
            sum[i] = VEC(R(0.0));
        }
        for (int o = o0; o < min(o0 + BLOCK, channels); o++) {
            const size_t at = (size_t)o * rows;
            vec weight[SK];
            UNROLL
            for (int j = 0; j < SK; j++) {
                weight[j] = VLOAD(with[j] + at);
            }
            UNROLL
            for (int i = 0; i < SP; i++) {
                const vec v = VLOAD(from[i] + at);
                UNROLL
                for (int j = 0; j < SK; j++) {
                    sum[i * SK + j] += v * weight[j];
                }
            }
        }
        UNROLL
        for (int i = 0; i < SP * SK; i++) {
            total[i] += sum[i];
        }
    }
    UNROLL
    for (int i = 0; i < SP; i++) {
        UNROLL
        for (int j = 0; j < SK; j++) {
            if (q0 + i < positions && k0 + j < size) {
                storeUpTo(total[i * SK + j], s + ((p * positions + q0 + i) * size + k0 + j) * rows + r, rows - r);
            }
        }
    }
}
