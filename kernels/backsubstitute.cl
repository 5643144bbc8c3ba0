/* backsubstitute: rows over a layer's pre-activations to rows over its inputs
   (bound.BackSubstitute, docs/theory.md (3)).

   Purpose. For item p with weight box b = p / perBox, row r, input j:
     sLo[p][j][r] = sum_i (a[p][i][r] >= 0 ? a wLo[b][j][i] : a wHi[b][j][i])
     sHi[p][j][r] = the same with wLo and wHi exchanged, if wantHi
     c[p][r]      = down(cIn[p][r] + sum_i (a >= 0 ? a bLo[b][i] : a bHi[b][i]))
   with sums over i in blocks of 32, rounded to nearest.

   Decomposition. The rows of all items of a box are cut into vectors of VW (a
   vector holds rows of one item); a work-item owns TR vectors of rows and TJ
   inputs, all sums in registers: a coefficient vector, and the mask of its
   signs, is used TJ times, a weight TR * VW times.
     task t = (box * chunks + chunk) * (jTiles + 1) + jTile        on CPUs
     task t = (box * (jTiles + 1) + jTile) * chunks + chunk        on GPUs
     vectors  q = chunk * TR + v of the box: item box * perBox + q / rowTiles,
              rows q % rowTiles * VW + lane
     inputs   j = jTile * TJ + k; the last jTile is the bias: c instead of s
   Where results are few and neurons many on a GPU, a work-item of backblocks owns one block
   of the sums, task t = ((p * blocks + b) * (in + 1) + j) * rows + r, j = in being the bias,
   and leaves them in sumLo, sumHi [p][b][in + 1][rows]; one of backsums adds them up.
   On GPUs (VW 1) work-items beside each other own rows beside each other: loads
   of a coalesce and a weight is one for all; where a box has many rows and inputs
   they run backtiles (backtiles.cl) instead. On a CPU core tasks that follow each
   other share the rows, which stay in the first-level cache.

   Index formulas: a[(p * out + i) * rows + r], w[(b * in + j) * out + i],
   s[(p * in + j) * rows + r].

   Assumptions: weight boxes are finite. Then a coefficient 0 adds a zero, which
   no sum that starts at +0 notices (round.cl, least); so an i whose coefficients
   are 0 in all rows of the tile is skipped, as dead neurons are. Go skips every
   zero. NaN and Inf in a go the way they go in Go: NaN >= 0 is false.
   Go: fallback/backsubstitute.go. */

#pragma OPENCL FP_CONTRACT OFF

#if VW == 1
#define TR 1
#define TJ 4
#else
#define TR 2
#define TJ 6
#endif

#define BACK_ARGS                                                                        \
    __global real *sLo, __global real *sHi, __global real *c, const __global real *a,    \
    const __global real *cIn, const __global real *wLo, const __global real *wHi,        \
    const __global real *bLo, const __global real *bHi, const int wantHi,                \
    const int items, const int perBox, const int rows, const int in, const int out

#if VW > 1

/* LIVE is bit i of a block in a word: the first is the highest. */
#define LIVE(i) (0x80000000u >> (i))

/* liveRows writes a word for each block of n coefficients, which are `rows` apart: those that are not 0 in all
   rows of a vector. It returns a vector that is 0 where all are numbers, else NaN. */
INLINE vec liveRows(__global uint *live, const __global real *a, int rows, int n) {
    vec none = VEC(R(0.0));
    for (int i0 = 0; i0 < n; i0 += BLOCK) {
        uint word = 0;
        for (int i = i0; i < min(i0 + BLOCK, n); i++) {
            const vec v = VLOAD(a + (size_t)i * rows);
            word |= ANY(v != R(0.0)) ? LIVE(i - i0) : 0;
            none += v - v;
        }
        live[i0 / BLOCK] = word;
    }
    return none;
}

#endif

/* backBias: c of one vector of rows. */
INLINE void backBias(__global real *c, const __global real *a, const __global real *cIn,
                     const __global real *bLo, const __global real *bHi, int rows, int out, int n) {
    vec total = VEC(R(0.0));
    for (int i0 = 0; i0 < out; i0 += BLOCK) {
        vec sum = VEC(R(0.0));
        for (int i = i0; i < min(i0 + BLOCK, out); i++) {
            const vec v = VLOAD(a + (size_t)i * rows);
            sum += v * (v >= R(0.0) ? VEC(bLo[i]) : VEC(bHi[i]));
        }
        total += sum;
    }
    storeUpTo(down(VLOAD(cIn) + total), c, n);
}

/* backTile: s of TR vectors of rows and TJ inputs; HI says whether sHi too. */
INLINE void backTile(const int HI, __global real *const *sLo, __global real *const *sHi,
                     const __global real *const *a, const int *n, const __global real *wLo,
                     const __global real *wHi, int j0, int rows, int in, int out) {
    size_t at[TJ];
    UNROLL
    for (int k = 0; k < TJ; k++) {
        at[k] = (size_t)min(j0 + k, in - 1) * out;
    }
    vec lo[TR * TJ], hi[TR * TJ];
    UNROLL
    for (int k = 0; k < TR * TJ; k++) {
        lo[k] = hi[k] = VEC(R(0.0));
    }
    for (int i0 = 0; i0 < out; i0 += BLOCK) {
        vec l[TR * TJ], h[TR * TJ];
        UNROLL
        for (int k = 0; k < TR * TJ; k++) {
            l[k] = h[k] = VEC(R(0.0));
        }
        const int iEnd = min(i0 + BLOCK, out);
        for (int i = i0; i < iEnd; i++) {
            vec v[TR];
            mask live = (mask)0;
            UNROLL
            for (int u = 0; u < TR; u++) {
                v[u] = VLOAD(a[u] + (size_t)i * rows);
                live |= v[u] != R(0.0);
            }
            if (!ANY(live)) {
                continue;
            }
            UNROLL
            for (int k = 0; k < TJ; k++) {
                const vec wl = VEC(wLo[at[k] + i]), wh = VEC(wHi[at[k] + i]);
                UNROLL
                for (int u = 0; u < TR; u++) {
                    l[k * TR + u] += v[u] * (v[u] >= R(0.0) ? wl : wh);
                    if (HI) {
                        h[k * TR + u] += v[u] * (v[u] >= R(0.0) ? wh : wl);
                    }
                }
            }
        }
        UNROLL
        for (int k = 0; k < TR * TJ; k++) {
            lo[k] += l[k];
            hi[k] += h[k];
        }
    }
    for (int k = 0; k < TJ && j0 + k < in; k++) {
        UNROLL
        for (int u = 0; u < TR; u++) {
            storeUpTo(lo[k * TR + u], sLo[u] + (size_t)(j0 + k) * rows, n[u]);
            if (HI) {
                storeUpTo(hi[k * TR + u], sHi[u] + (size_t)(j0 + k) * rows, n[u]);
            }
        }
    }
}

KERNEL void backsubstitute(BACK_ARGS, const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int rowTiles = (rows + VW - 1) / VW;
    const size_t vectors = (size_t)perBox * rowTiles, chunks = (vectors + TR - 1) / TR;
    const int jTiles = (in + TJ - 1) / TJ;
#if VW == 1
    const size_t box = quotient(t, chunks * (jTiles + 1)), rest = modulo(t, chunks * (jTiles + 1));
    const size_t chunk = modulo(rest, chunks);
    const int jTile = (int)quotient(rest, chunks);
#else
    const int jTile = (int)modulo(t, jTiles + 1);
    const size_t vector = quotient(t, jTiles + 1), box = quotient(vector, chunks), chunk = modulo(vector, chunks);
#endif
    const size_t pEnd = min((size_t)items, (box + 1) * perBox);
    __global real *outLo[TR], *outHi[TR];
    const __global real *from[TR];
    int n[TR];
    UNROLL
    for (int u = 0; u < TR; u++) {
        const size_t q = chunk * TR + u, p = box * perBox + quotient(q, rowTiles), item = min(p, pEnd - 1);
        const int r = (int)modulo(q, rowTiles) * VW;
        n[u] = p < pEnd ? rows - r : 0;
        from[u] = a + item * out * rows + r;
        outLo[u] = sLo + item * in * rows + r;
        outHi[u] = sHi + (wantHi ? item * in * rows + r : 0);
        if (jTile == jTiles && n[u] > 0) {
            backBias(c + p * rows + r, from[u], cIn + p * rows + r, bLo + box * out, bHi + box * out, rows, out, n[u]);
        }
    }
    if (jTile == jTiles) {
        return;
    }
    const size_t w = box * in * out;
    if (wantHi) {
        backTile(1, outLo, outHi, from, n, wLo + w, wHi + w, jTile * TJ, rows, in, out);
    } else {
        backTile(0, outLo, outHi, from, n, wLo + w, wHi + w, jTile * TJ, rows, in, out);
    }
}

#if VW > 1

/* backlive: live has words + 1 words for each input of each box, of the outputs whose weight is not [0, 0], and
   then for each vector of rows, of the outputs that are not 0 in all rows. The last is 0 where all are numbers. */
KERNEL void backlive(__global real *live, const __global real *a, const __global real *wLo, const __global real *wHi,
                     const int weights, const int rows, const int out,
                     const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int words = (out + BLOCK - 1) / BLOCK, rowTiles = (rows + VW - 1) / VW;
    __global uint *to = (__global uint *)live + t * (words + 1);
    to[words] = 0;
    if (t >= (size_t)weights) {
        const size_t vector = t - weights;
        const vec none = liveRows(to, a + quotient(vector, rowTiles) * out * rows + modulo(vector, rowTiles) * VW, rows, out);
        to[words] = ANY(none != R(0.0));
        return;
    }
    const __global real *lo = wLo + t * out, *hi = wHi + t * out;
    for (int word = 0; word < words; word++) {
        uint bits = 0;
        for (int i = word * BLOCK; i < min((word + 1) * BLOCK, out); i++) {
            bits |= ((lo[i] != R(0.0)) | (hi[i] != R(0.0))) != 0 ? LIVE(i - word * BLOCK) : 0;
        }
        to[word] = bits;
    }
}

/* backends: backsubstitute of both ends. A task owns two vectors of rows of an item and a run of inputs:
   t = (p * pairs + pair) * runs + run. A weight [0, 0] adds 0 to sums of numbers; of rows that are none it is not
   left out, as Inf * 0 is NaN. */
KERNEL void backends(__global real *sLo, __global real *sHi, __global real *c, const __global real *a,
                     const __global real *live, const __global real *cIn, const __global real *wLo,
                     const __global real *wHi, const __global real *bLo, const __global real *bHi,
                     const int weights, const int perBox, const int run, const int rows, const int in, const int out,
                     const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int words = (out + BLOCK - 1) / BLOCK, rowTiles = (rows + VW - 1) / VW, pairs = (rowTiles + 1) / 2;
    const int runs = (in + run - 1) / run, first = (int)modulo(t, runs) * run;
    const size_t item = quotient(t, runs), p = quotient(item, pairs), box = quotient(p, perBox);
    const int tile = (int)modulo(item, pairs) * 2, next = min(tile + 1, rowTiles - 1);
    const int r0 = tile * VW, r1 = next * VW, n1 = next > tile ? rows - r1 : 0;
    const __global real *a0 = a + p * out * rows + r0, *a1 = a + p * out * rows + r1;
    const __global uint *bits = (const __global uint *)live, *live0 = bits + (weights + p * rowTiles + tile) * (words + 1);
    const __global uint *live1 = bits + (weights + p * rowTiles + next) * (words + 1);
    const uint all = (live0[words] | live1[words]) != 0 ? ~0u : 0u;
    if (first == 0) {
        backBias(c + p * rows + r0, a0, cIn + p * rows + r0, bLo + box * out, bHi + box * out, rows, out, rows - r0);
        if (n1 > 0) {
            backBias(c + p * rows + r1, a1, cIn + p * rows + r1, bLo + box * out, bHi + box * out, rows, out, n1);
        }
    }
    for (int j = first; j < min(first + run, in); j++) {
        const __global uint *met = bits + (box * in + j) * (words + 1);
        const __global real *lower = wLo + (box * in + j) * out, *upper = wHi + (box * in + j) * out;
        vec lo0 = VEC(R(0.0)), lo1 = lo0, hi0 = lo0, hi1 = lo0;
        for (int word = 0; word < words; word++) {
            vec l0 = VEC(R(0.0)), l1 = l0, h0 = l0, h1 = l0;
            for (uint left = (live0[word] | live1[word]) & (met[word] | all); left != 0;) {
                const int bit = clz(left), i = word * BLOCK + bit;
                left ^= LIVE(bit);
                const vec v0 = VLOAD(a0 + (size_t)i * rows), v1 = VLOAD(a1 + (size_t)i * rows);
                const vec l = VEC(lower[i]), h = VEC(upper[i]);
                l0 += v0 * (v0 >= R(0.0) ? l : h);
                h0 += v0 * (v0 >= R(0.0) ? h : l);
                l1 += v1 * (v1 >= R(0.0) ? l : h);
                h1 += v1 * (v1 >= R(0.0) ? h : l);
            }
            lo0 += l0;
            lo1 += l1;
            hi0 += h0;
            hi1 += h1;
        }
        const size_t to = (p * in + j) * rows;
        storeUpTo(lo0, sLo + to + r0, rows - r0);
        storeUpTo(hi0, sHi + to + r0, rows - r0);
        if (n1 > 0) {
            storeUpTo(lo1, sLo + to + r1, n1);
            storeUpTo(hi1, sHi + to + r1, n1);
        }
    }
}

#endif

#if VW == 1

KERNEL void backblocks(__global real *sumLo, __global real *sumHi, const __global real *a, const __global real *wLo,
                       const __global real *wHi, const __global real *bLo, const __global real *bHi, const int wantHi,
                       const int perBox, const int rows, const int in, const int out, const int blocks,
                       const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const size_t place = quotient(t, rows), block = quotient(place, in + 1), p = quotient(block, blocks);
    const int j = (int)modulo(place, in + 1), i0 = (int)modulo(block, blocks) * BLOCK, bias = j == in;
    const size_t box = quotient(p, perBox), w = bias ? box * out : (box * in + j) * out;
    const __global real *lower = (bias ? bLo : wLo) + w, *upper = (bias ? bHi : wHi) + w;
    const __global real *from = a + p * out * rows + modulo(t, rows);
    real lo = R(0.0), hi = R(0.0);
    for (int i = i0; i < min(i0 + BLOCK, out); i++) {
        const real v = from[(size_t)i * rows];
        if (!bias && v == R(0.0)) {
            continue; /* as Go does: merged weights may be infinite */
        }
        lo += v * (v >= R(0.0) ? lower[i] : upper[i]);
        hi += v * (v >= R(0.0) ? upper[i] : lower[i]);
    }
    sumLo[t] = lo;
    if (wantHi) {
        sumHi[t] = hi;
    }
}

KERNEL void backsums(__global real *sLo, __global real *sHi, __global real *c, const __global real *sumLo,
                     const __global real *sumHi, const __global real *cIn, const int wantHi, const int rows,
                     const int in, const int blocks,
                     const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const size_t place = quotient(t, rows), r = modulo(t, rows), p = quotient(place, in + 1), j = modulo(place, in + 1);
    const size_t step = (size_t)(in + 1) * rows, from = p * blocks * step + j * rows + r;
    real lo = R(0.0), hi = R(0.0);
    for (int b = 0; b < blocks; b++) {
        lo += sumLo[from + b * step];
        if (wantHi) {
            hi += sumHi[from + b * step];
        }
    }
    if (j == (size_t)in) {
        c[p * rows + r] = down(cIn[p * rows + r] + lo);
        return;
    }
    sLo[(p * in + j) * rows + r] = lo;
    if (wantHi) {
        sHi[(p * in + j) * rows + r] = hi;
    }
}

#endif
