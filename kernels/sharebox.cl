/* sharebox: a weight box of shared weights as one matrix and a constant for each row
   (bound.ShareBox, docs/convolution.md).

   Purpose. For item p with weight box b = p / perBox and input x = p % inputs, row r: with
   share(o) and width(o) as in sharedvar.cl, [l,h] the interval of weight (k,o), and
     gL = down(gLo[p][k][o][r] - width(o)),  gU = up(gHi[p][k][o][r] + width(o)):
     w[p][k][o][r] = about l + (h - l) (-gL) / (gU - gL), or an end where that is outside of [l,h]
     cost          = max((w - l) gU, (h - w) (-gL))
     c[p][r]       = lower(down(down(cIn[p][r] - the costs' sum, inflated) + biases))
   costs in blocks of 32 taps and 32 channels; biases, of the least of four products of
   [bLo,bHi][b][o] and a0(o) -+ share(o), one after the other, rounded down.

   Decomposition. A work-item owns one vector of rows of one item and walks over channels, for
   each over positions and then over taps: task t = p * rowTiles + tile.

   Index formulas: a[((p * positions + q) * channels + o) * rows + r],
   g and w[((p * size + k) * channels + o) * rows + r], weightLo[(b * size + k) * channels + o].

   Assumptions: weight boxes are finite. g and a may be Inf or NaN: c becomes -Inf, as
   minima and maxima keep NaN, and w an end. Go: fallback/sharebox.go. */

#pragma OPENCL FP_CONTRACT OFF

/* shareWeight returns w and puts what it costs. */
INLINE vec shareWeight(vec *cost, real l, real h, vec gLo, vec gHi) {
    vec w = l + (h - l) * (-gLo * recipApprox(gHi - gLo));
    const mask inside = (w >= l) & (w <= h);
    w = inside ? w : (gHi > -gLo ? VEC(l) : VEC(h));
    *cost = mostNaN((w - l) * gHi, (h - w) * -gLo);
    return w;
}

KERNEL void sharebox(__global real *w, __global real *c, const __global real *cIn,
                     const __global real *gLo, const __global real *gHi, const __global real *a,
                     const __global real *weightLo, const __global real *weightHi,
                     const __global real *biasLo, const __global real *biasHi, const __global real *maxSq,
                     const real slack, const real under, const real rel, const real abs_,
                     const int perBox, const int rows, const int in, const int inputs,
                     const int positions, const int size, const int channels,
                     const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int rowTiles = (rows + VW - 1) / VW, r = (int)modulo(t, rowTiles) * VW;
    const size_t p = quotient(t, rowTiles), b = quotient(p, perBox), step = (size_t)channels * rows;
    const vec root = greatestRoot(maxSq + modulo(p, inputs) * in, in);
    vec total = VEC(R(0.0)), bias = VEC(R(0.0));
    for (int o0 = 0; o0 < channels; o0 += BLOCK) {
        vec block = VEC(R(0.0));
        for (int o = o0; o < min(o0 + BLOCK, channels); o++) {
            const size_t at = (size_t)o * rows + r;
            vec a0, channel = VEC(R(0.0));
            const vec share = shareSums(&a0, a + p * positions * step + at, step, positions, slack);
            const vec width = shareWidth(share, root, under);
            for (int k0 = 0; k0 < size; k0 += BLOCK) {
                vec sum = VEC(R(0.0));
                for (int k = k0; k < min(k0 + BLOCK, size); k++) {
                    const size_t from = (p * size + k) * step + at, weight = (b * size + k) * channels + o;
                    vec cost;
                    const vec chosen = shareWeight(&cost, weightLo[weight], weightHi[weight],
                                                   down(VLOAD(gLo + from) - width), up(VLOAD(gHi + from) + width));
                    storeUpTo(chosen, w + from, rows - r);
                    sum += cost;
                }
                channel += sum;
            }
            block += channel;
            const vec least = min4NaN(VEC(biasLo[b * channels + o]), VEC(biasHi[b * channels + o]), down(a0 - share), up(a0 + share));
            bias = down(bias + down(least));
        }
        total += block;
    }
    const vec cost = up(up(total * rel) + abs_);
    storeUpTo(lower(down(down(VLOAD(cIn + p * rows + r) - cost) + bias)), c + p * rows + r, rows - r);
}
