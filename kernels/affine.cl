/* affine: interval pre-activations of a dense layer (bound.Affine, docs/theory.md (2)).

   Purpose. For item p with weight box b = p / perBox and input x = p % inputs:
     preLo[p][i] = down(sum_j min of the products w[b][j][i] z[x][j] + bLo[b][i] - push)
     preHi[p][i] = up  (the same with max, bHi, and + push)
     mag[p][i]   >= sum_j max|w| max|z| + max|bias|
   with sums over j in blocks of 32 and push = mag pushRel + pushAbs.

   Decomposition. A work-item owns TO vectors of outputs for TI items of the same
   weight box, with the sums in registers: (2 TI + 1) TO of them.
     task t = (box * groups + group) * tiles + tile     on GPUs
     task t = (box * tiles + tile) * groups + group     on CPUs
     items   p = box * perBox + group * TI + k,  k < TI, kept below (box+1) * perBox and P
     outputs i = (tile * TO + v) * VW + lane
   On GPUs work-items beside each other own outputs beside each other, and loads
   coalesce; on a CPU core tasks that follow each other share the weights, which
   stay in the second-level cache.
   affine        TI = TO = 1: items by themselves, few outputs, or a GPU
   affineshared  TI > 1: each end-point is used TI times, arithmetic is the limit,
                 and the sums of max|w| are the same for all
   affinetiles   the same in local memory, for GPUs: affinetiles.cl
   affineblocks  few results and long sums on a GPU: a work-item owns one block of the
                 sums, task t = (p * blocks + b) * out + i, and leaves them in sumLo, sumHi,
                 sumMag [p][b][out]; one of affinesums adds an output's up
   affinewide    items by themselves on a CPU only, see affineStream: each end-point is
                 used once and memory is the limit

   No weight is NaN: what makes intervals turns NaN into an infinity.

   Index formulas: w[(b * in + j) * out + i], z[x * in + j], pre[p * out + i].

   Assumptions: wLo <= wHi, zLo <= zHi; nonNeg promises zLo >= 0.

   The product of the smaller end (why the bits are those of Go's min and max).
   Let all four end-points be finite, so no product is NaN. If 0 <= zLo <= zHi then
   rounding being monotone, fl(w zLo) <= fl(w zHi) for w >= 0 and >= for w < 0: the
   least product is w zLo or w zHi by the sign of w, the largest the other way
   round, up to the sign of a zero, which a sum forgets (round.cl, least).
   If an end-point is not finite, max|w| or max|z| of its block is Inf or NaN (here
   NaN is kept), their product is, and so are mag and push (Inf or NaN, as
   pushRel >= 0): preLo = -Inf and preHi = +Inf whatever the sums are, as in Go.
   Go: fallback/affine.go. */

#pragma OPENCL FP_CONTRACT OFF

#define TO_WIDE 32
#if VW == 1
#define TO_SHARED 1
#define TI_SHARED 4
#else
#define TO_SHARED 2
#define TI_SHARED 5
#endif

#define AFFINE_ARGS                                                               \
    __global real *preLo, __global real *preHi, __global real *mag,               \
    const __global real *wLo, const __global real *wHi,                           \
    const __global real *bLo, const __global real *bHi,                           \
    const __global real *zLo, const __global real *zHi, const real pushRel,       \
    const real pushAbs, const real magRel, const real magAbs, const int nonNeg,   \
    const int items, const int perBox, const int inputs, const int in, const int out

/* affineFinish adds the bias, rounds outward and stores one vector of outputs. */
INLINE void affineFinish(__global real *preLo, __global real *preHi, __global real *mag,
                         const __global real *bLo, const __global real *bHi,
                         vec lo, vec hi, vec m, real pushRel, real pushAbs, real magRel, real magAbs, int n) {
    const vec l = VLOAD(bLo), h = VLOAD(bHi);
    lo += l;
    hi += h;
    m += mostNaN(-l, h);
    const vec push = m * pushRel + pushAbs;
    storeUpTo(lower(down(lo - push)), preLo, n);
    storeUpTo(upper(up(hi + push)), preHi, n);
    storeUpTo(m * magRel + magAbs, mag, n);
}

/* affineTile is a task with TO, TI and NONNEG known to the compiler. */
INLINE void affineTile(const int TO, const int TI, const int NONNEG, const size_t t, AFFINE_ARGS) {
    const int tiles = (out + TO * VW - 1) / (TO * VW), groups = (perBox + TI - 1) / TI;
#if VW == 1
    const int i0 = (int)modulo(t, tiles) * TO * VW, group = (int)modulo(quotient(t, tiles), groups);
#else
    const int i0 = (int)modulo(quotient(t, groups), tiles) * TO * VW, group = (int)modulo(t, groups);
#endif
    const size_t box = quotient(quotient(t, tiles), groups);
    const int p0 = (int)(box * perBox) + group * TI;
    const int pEnd = (int)min((size_t)items, (box + 1) * perBox);
    size_t zAt[TI_SHARED], x = modulo(p0, inputs); /* of item min(p0 + k, pEnd - 1) */
    EACH(k, TI, TI_SHARED) {
        zAt[k] = x * in;
        x = p0 + k + 1 >= pEnd ? x : x + 1 < (size_t)inputs ? x + 1 : 0;
    }
    const __global real *lo0 = wLo + box * in * out + i0, *hi0 = wHi + box * in * out + i0;
    int at[TO_SHARED]; /* vectors beyond the outputs repeat the first */
    EACH(v, TO, TO_SHARED) {
        at[v] = i0 + v * VW < out ? v * VW : 0;
    }
    vec lo[TI_SHARED][TO_SHARED], hi[TI_SHARED][TO_SHARED], m[TI_SHARED][TO_SHARED];
    EACH(k, TI, TI_SHARED) {
        EACH(v, TO, TO_SHARED) {
            lo[k][v] = hi[k][v] = m[k][v] = VEC(R(0.0));
        }
    }
    for (int j0 = 0; j0 < in; j0 += BLOCK) {
        const int n = min(BLOCK, in - j0);
        vec l[TI_SHARED][TO_SHARED], h[TI_SHARED][TO_SHARED], norm[TO_SHARED];
        EACH(v, TO, TO_SHARED) {
            norm[v] = VEC(R(0.0));
            EACH(k, TI, TI_SHARED) {
                l[k][v] = h[k][v] = VEC(R(0.0));
            }
        }
        for (int j = j0; j < j0 + n; j++) {
            vec a[TO_SHARED], b[TO_SHARED];
            EACH(v, TO, TO_SHARED) {
                a[v] = VLOAD(lo0 + (size_t)j * out + at[v]);
                b[v] = VLOAD(hi0 + (size_t)j * out + at[v]);
                norm[v] += most(-a[v], b[v]);
            }
            EACH(k, TI, TI_SHARED) {
                const vec zl = VEC(zLo[zAt[k] + j]), zh = VEC(zHi[zAt[k] + j]);
                EACH(v, TO, TO_SHARED) {
                    if (NONNEG) {
                        l[k][v] += a[v] * (a[v] >= R(0.0) ? zl : zh);
                        h[k][v] += b[v] * (b[v] >= R(0.0) ? zh : zl);
                    } else {
                        l[k][v] += min4(a[v], b[v], zl, zh);
                        h[k][v] += max4(a[v], b[v], zl, zh);
                    }
                }
            }
        }
        EACH(k, TI, TI_SHARED) {
            const real zMax = blockMax(zLo + zAt[k] + j0, zHi + zAt[k] + j0, n);
            EACH(v, TO, TO_SHARED) {
                lo[k][v] += l[k][v];
                hi[k][v] += h[k][v];
                m[k][v] += norm[v] * zMax;
            }
        }
    }
    EACH(k, TI, TI_SHARED) {
        EACH(v, TO, TO_SHARED) {
            const int i = i0 + v * VW, rest = p0 + k < pEnd ? out - i : 0;
            const size_t o = (size_t)min(p0 + k, pEnd - 1) * out + i0 + at[v], bias = box * out + i0 + at[v];
            affineFinish(preLo + o, preHi + o, mag + o, bLo + bias, bHi + bias, lo[k][v], hi[k][v], m[k][v],
                         pushRel, pushAbs, magRel, magAbs, rest);
        }
    }
}

/* affineTerm adds the products of one input to the sums of one vector. */
INLINE void affineTerm(const int NONNEG, vec *lo, vec *hi, vec *norm, vec a, vec b, real zl, real zh) {
    if (NONNEG) {
        *lo += a * (a >= R(0.0) ? VEC(zl) : VEC(zh));
        *hi += b * (b >= R(0.0) ? VEC(zh) : VEC(zl));
    } else {
        *lo += min4(a, b, VEC(zl), VEC(zh));
        *hi += max4(a, b, VEC(zl), VEC(zh));
    }
    *norm += most(-a, b);
}

#if VW > 1

/* affineStream is a task of affinewide: rows of weights are read from end to end,
   as memory likes it, while the sums wait in the first-level cache. With the sums
   in registers and 512 bytes of a row at a time memory gave half as much. */
INLINE void affineStream(const int NONNEG, const size_t t, AFFINE_ARGS) {
    const int tiles = (out + TO_WIDE * VW - 1) / (TO_WIDE * VW), i0 = (int)modulo(t, tiles) * TO_WIDE * VW;
    const int vectors = (min(out - i0, TO_WIDE * VW) + VW - 1) / VW;
    const size_t p = quotient(t, tiles), box = quotient(p, perBox), z = modulo(p, inputs) * in;
    if (p >= (size_t)items) {
        return; /* the last box may have fewer items */
    }
    const __global real *lo0 = wLo + box * in * out + i0, *hi0 = wHi + box * in * out + i0;
    vec sums[3][TO_WIDE], block[3][TO_WIDE];
    for (int v = 0; v < vectors; v++) {
        sums[0][v] = sums[1][v] = sums[2][v] = VEC(R(0.0));
    }
    for (int j0 = 0; j0 < in; j0 += BLOCK) {
        const int n = min(BLOCK, in - j0);
        for (int v = 0; v < vectors; v++) {
            block[0][v] = block[1][v] = block[2][v] = VEC(R(0.0));
        }
        for (int j = j0; j < j0 + n; j++) {
            const __global real *a = lo0 + (size_t)j * out, *b = hi0 + (size_t)j * out;
            for (int v = 0; v < vectors; v++) {
                affineTerm(NONNEG, &block[0][v], &block[1][v], &block[2][v], VLOAD(a + v * VW), VLOAD(b + v * VW),
                           zLo[z + j], zHi[z + j]);
            }
        }
        const real zMax = blockMax(zLo + z + j0, zHi + z + j0, n);
        for (int v = 0; v < vectors; v++) {
            sums[0][v] += block[0][v];
            sums[1][v] += block[1][v];
            sums[2][v] += block[2][v] * zMax;
        }
    }
    for (int v = 0; v < vectors; v++) {
        const int i = i0 + v * VW;
        const size_t o = p * out + i, bias = box * out + i;
        affineFinish(preLo + o, preHi + o, mag + o, bLo + bias, bHi + bias, sums[0][v], sums[1][v], sums[2][v],
                     pushRel, pushAbs, magRel, magAbs, out - i);
    }
}

#endif

#define AFFINE_PASS                                                                       \
    preLo, preHi, mag, wLo, wHi, bLo, bHi, zLo, zHi, pushRel, pushAbs, magRel, magAbs,    \
        nonNeg, items, perBox, inputs, in, out

/* affine: every item by itself, few outputs: TO = 1. */
KERNEL void affine(AFFINE_ARGS, const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    if (nonNeg) {
        affineTile(1, 1, 1, t, AFFINE_PASS);
    } else {
        affineTile(1, 1, 0, t, AFFINE_PASS);
    }
}

#if VW > 1
/* affinewide: every item by itself, many outputs. */
KERNEL void affinewide(AFFINE_ARGS, const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    if (nonNeg) {
        affineStream(1, t, AFFINE_PASS);
    } else {
        affineStream(0, t, AFFINE_PASS);
    }
}
#endif

/* affineshared: items that share a weight box, TI_SHARED at a time. */
KERNEL void affineshared(AFFINE_ARGS, const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    if (nonNeg) {
        affineTile(TO_SHARED, TI_SHARED, 1, t, AFFINE_PASS);
    } else {
        affineTile(TO_SHARED, TI_SHARED, 0, t, AFFINE_PASS);
    }
}

#if VW == 1

/* affineBlock is what n inputs, a block, add to the sums of one output. */
INLINE void affineBlock(const int NONNEG, real *lo, real *hi, real *m, const __global real *wLo, const __global real *wHi,
                        const __global real *zLo, const __global real *zHi, int n, int out) {
    real l = R(0.0), h = R(0.0), norm = R(0.0);
    for (int j = 0; j < n; j++) {
        affineTerm(NONNEG, &l, &h, &norm, wLo[(size_t)j * out], wHi[(size_t)j * out], zLo[j], zHi[j]);
    }
    *lo = l;
    *hi = h;
    *m = norm * blockMax(zLo, zHi, n);
}

KERNEL void affineblocks(__global real *sumLo, __global real *sumHi, __global real *sumMag, const __global real *wLo,
                         const __global real *wHi, const __global real *zLo, const __global real *zHi, const int nonNeg,
                         const int perBox, const int inputs, const int in, const int out, const int blocks,
                         const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const size_t block = quotient(t, out), p = quotient(block, blocks);
    const int j0 = (int)modulo(block, blocks) * BLOCK, n = min(BLOCK, in - j0);
    const size_t w = (quotient(p, perBox) * in + j0) * out + modulo(t, out), z = modulo(p, inputs) * in + j0;
    real lo, hi, m;
    if (nonNeg) {
        affineBlock(1, &lo, &hi, &m, wLo + w, wHi + w, zLo + z, zHi + z, n, out);
    } else {
        affineBlock(0, &lo, &hi, &m, wLo + w, wHi + w, zLo + z, zHi + z, n, out);
    }
    sumLo[t] = lo;
    sumHi[t] = hi;
    sumMag[t] = m;
}

KERNEL void affinesums(__global real *preLo, __global real *preHi, __global real *mag, const __global real *sumLo,
                       const __global real *sumHi, const __global real *sumMag, const __global real *bLo,
                       const __global real *bHi, const real pushRel, const real pushAbs, const real magRel,
                       const real magAbs, const int perBox, const int out, const int blocks,
                       const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const size_t p = quotient(t, out), i = modulo(t, out), from = p * blocks * out + i, bias = quotient(p, perBox) * out + i;
    real lo = R(0.0), hi = R(0.0), m = R(0.0);
    for (int b = 0; b < blocks; b++) {
        lo += sumLo[from + (size_t)b * out];
        hi += sumHi[from + (size_t)b * out];
        m += sumMag[from + (size_t)b * out];
    }
    affineFinish(preLo + t, preHi + t, mag + t, bLo + bias, bHi + bias, lo, hi, m, pushRel, pushAbs, magRel, magAbs, 1);
}

#endif
