/* mergerows: property rows multiplied into the last layer (bound.MergeRows).

   Purpose. For item p with weight box b = p / perBox, input x = p % inputs, row r:
     w[p][j][r] = [down, up] of sum_i C[x][r][i] weight[b][j][i]
     b[p][r]    = [down, up] of sum_i C[x][r][i] bias[b][i] + D[x][r]
   by intervals, sums over i in blocks of 32; the push is the sum of magnitudes
   times round[x][r] plus abs.

   Decomposition. Lanes run across rows, so mergetranspose first writes
   CT[x][i][r] = C[x][r][i]. A work-item owns one vector of rows of one item and
   MJ inputs j, where j = in stands for the bias:
     task t = ((p * jTiles) + jTile) * rowTiles + tile, j = jTile * MJ + k
   On GPUs, where such tasks are few and outputs many, a work-item of mergeblocks owns one
   block of the sums, task t = ((p * blocks + b) * (in + 1) + j) * rows + r, and leaves them in
   sumLo, sumHi, sumMag [p][b][in + 1][rows]; one of mergesums adds them up.

   Index formulas: weight[(b * in + j) * out + i], C[(x * rows + r) * out + i],
   CT[(x * out + i) * rows + r], w[(p * in + j) * rows + r].

   Assumptions: C.lo <= C.hi and the like. Where C is one number, as in rows of
   integers, its two products with an interval are ordered by its sign
   (affine.cl). If anything is not finite, the sum of magnitudes is Inf or NaN,
   and so both ends are infinite, whatever the sums are. No weight is NaN.
   Go: fallback/mergerows.go. */

#pragma OPENCL FP_CONTRACT OFF

#define MJ 4

/* mergetranspose: task t = (x * out + i) * rows + r. */
KERNEL void mergetranspose(__global real *ctLo, __global real *ctHi, const __global real *cLo,
                           const __global real *cHi, const int rows, const int out,
                           const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const size_t xi = quotient(t, rows), r = modulo(t, rows), i = modulo(xi, out);
    const size_t from = (quotient(xi, out) * rows + r) * out + i;
    ctLo[t] = cLo[from];
    ctHi[t] = cHi[from];
}

/* mergeTerm adds the products of coefficients [cl, ch], at most size in magnitude, and the number
   [a, b] to the sums; point says that all coefficients are numbers. */
INLINE void mergeTerm(vec *l, vec *h, vec *g, vec cl, vec ch, vec size, int point, real a, real b) {
    if (point) {
        *l += cl * (cl >= R(0.0) ? VEC(a) : VEC(b));
        *h += cl * (cl >= R(0.0) ? VEC(b) : VEC(a));
    } else {
        *l += min4(cl, ch, VEC(a), VEC(b));
        *h += max4(cl, ch, VEC(a), VEC(b));
    }
    *g += size * (-a > b ? -a : b);
}

/* mergeFinish adds the offset, rounds outward and stores one vector of rows. */
INLINE void mergeFinish(__global real *toLo, __global real *toHi, vec lo, vec hi, vec m,
                        vec dLo, vec dHi, vec round_, real abs_, int n) {
    lo += dLo;
    hi += dHi;
    m += mostNaN(-dLo, dHi);
    const vec push = m * round_ + abs_;
    storeUpTo(lower(down(lo - push)), toLo, n);
    storeUpTo(upper(up(hi + push)), toHi, n);
}

KERNEL void mergerows(__global real *wLo, __global real *wHi, __global real *bLo, __global real *bHi,
                      const __global real *weightLo, const __global real *weightHi,
                      const __global real *biasLo, const __global real *biasHi,
                      const __global real *ctLo, const __global real *ctHi,
                      const __global real *dLo, const __global real *dHi, const __global real *round_,
                      const real abs_, const int perBox, const int inputs, const int in, const int out,
                      const int rows, const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int rowTiles = (rows + VW - 1) / VW, jTiles = (in + 1 + MJ - 1) / MJ;
    const size_t tile = quotient(t, rowTiles);
    const int r = (int)modulo(t, rowTiles) * VW, j0 = (int)modulo(tile, jTiles) * MJ;
    const size_t p = quotient(tile, jTiles), box = quotient(p, perBox), x = modulo(p, inputs);
    const __global real *vLo[MJ], *vHi[MJ];
    UNROLL
    for (int k = 0; k < MJ; k++) {
        const size_t at = (box * in + min(j0 + k, in - 1)) * out;
        vLo[k] = j0 + k < in ? weightLo + at : biasLo + box * out;
        vHi[k] = j0 + k < in ? weightHi + at : biasHi + box * out;
    }
    vec lo[MJ], hi[MJ], m[MJ];
    UNROLL
    for (int k = 0; k < MJ; k++) {
        lo[k] = hi[k] = m[k] = VEC(R(0.0));
    }
    for (int i0 = 0; i0 < out; i0 += BLOCK) {
        vec l[MJ], h[MJ], g[MJ];
        UNROLL
        for (int k = 0; k < MJ; k++) {
            l[k] = h[k] = g[k] = VEC(R(0.0));
        }
        for (int i = i0; i < min(i0 + BLOCK, out); i++) {
            const size_t at = (x * out + i) * rows + r;
            const vec cl = VLOAD(ctLo + at), ch = VLOAD(ctHi + at), size = mostNaN(-cl, ch);
            const int point = !ANY(cl != ch);
            UNROLL
            for (int k = 0; k < MJ; k++) {
                mergeTerm(l + k, h + k, g + k, cl, ch, size, point, vLo[k][i], vHi[k][i]);
            }
        }
        UNROLL
        for (int k = 0; k < MJ; k++) {
            lo[k] += l[k];
            hi[k] += h[k];
            m[k] += g[k];
        }
    }
    const size_t row = x * rows + r;
    const vec rounding = VLOAD(round_ + row), zero = VEC(R(0.0));
    UNROLL
    for (int k = 0; k < MJ; k++) {
        const int j = j0 + k;
        if (j < in) {
            const size_t at = (p * in + j) * rows + r;
            mergeFinish(wLo + at, wHi + at, lo[k], hi[k], m[k], zero, zero, rounding, abs_, rows - r);
        } else if (j == in) {
            const size_t at = p * rows + r;
            mergeFinish(bLo + at, bHi + at, lo[k], hi[k], m[k], VLOAD(dLo + row), VLOAD(dHi + row), rounding, abs_, rows - r);
        }
    }
}

#if VW == 1

KERNEL void mergeblocks(__global real *sumLo, __global real *sumHi, __global real *sumMag,
                        const __global real *weightLo, const __global real *weightHi,
                        const __global real *biasLo, const __global real *biasHi,
                        const __global real *ctLo, const __global real *ctHi, const int perBox, const int inputs,
                        const int in, const int out, const int rows, const int blocks,
                        const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const size_t place = quotient(t, rows), block = quotient(place, in + 1), p = quotient(block, blocks);
    const int j = (int)modulo(place, in + 1), i0 = (int)modulo(block, blocks) * BLOCK;
    const size_t box = quotient(p, perBox), weight = j < in ? (box * in + j) * out : box * out;
    const __global real *vLo = (j < in ? weightLo : biasLo) + weight, *vHi = (j < in ? weightHi : biasHi) + weight;
    const size_t c = modulo(p, inputs) * out * rows + modulo(t, rows);
    real l = R(0.0), h = R(0.0), g = R(0.0);
    for (int i = i0; i < min(i0 + BLOCK, out); i++) {
        const real cl = ctLo[c + (size_t)i * rows], ch = ctHi[c + (size_t)i * rows];
        mergeTerm(&l, &h, &g, cl, ch, mostNaN(-cl, ch), cl == ch, vLo[i], vHi[i]);
    }
    sumLo[t] = l;
    sumHi[t] = h;
    sumMag[t] = g;
}

KERNEL void mergesums(__global real *wLo, __global real *wHi, __global real *bLo, __global real *bHi,
                      const __global real *sumLo, const __global real *sumHi, const __global real *sumMag,
                      const __global real *dLo, const __global real *dHi, const __global real *round_,
                      const real abs_, const int inputs, const int in, const int rows, const int blocks,
                      const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const size_t place = quotient(t, rows), r = modulo(t, rows), p = quotient(place, in + 1), j = modulo(place, in + 1);
    const size_t step = (size_t)(in + 1) * rows, from = p * blocks * step + j * rows + r;
    const size_t row = modulo(p, inputs) * rows + r, at = j < in ? (p * in + j) * rows + r : p * rows + r;
    real lo = R(0.0), hi = R(0.0), m = R(0.0);
    for (int b = 0; b < blocks; b++) {
        lo += sumLo[from + b * step];
        hi += sumHi[from + b * step];
        m += sumMag[from + b * step];
    }
    if (j < in) {
        mergeFinish(wLo + at, wHi + at, lo, hi, m, R(0.0), R(0.0), round_[row], abs_, 1);
    } else {
        mergeFinish(bLo + at, bHi + at, lo, hi, m, dLo[row], dHi[row], round_[row], abs_, 1);
    }
}

#endif
