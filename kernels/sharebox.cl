/* sharebox: a weight box of shared weights as one matrix and a constant for each row
   (bound.ShareBox, docs/theory.md, section 10.6).

   Purpose. For item p with weight box b = p / perBox and input x = p % inputs, row r: with
   share(o) and width(o) as in sharedvar.cl, [l,h] the interval of weight (k,o), and
     gL = down(gLo[p][k][o][r] - width(o)),  gU = up(gHi[p][k][o][r] + width(o)):
     w[p][k][o][r] = about l + (h - l) (-gL) / (gU - gL), or an end where that is outside of [l,h]
     cost          = max((w - l) gU, (h - w) (-gL))
     c[p][r]       = lower(down(down(cIn[p][r] - the costs' sum, inflated) + biases))
   costs in blocks of 32 taps and 32 channels; biases, of the least of four products of
   [bLo,bHi][b][o] and a0(o) -+ share(o), one after the other, rounded down.

   Decomposition. A work-item owns one vector of rows of one item and walks over channels, for
   each over positions and then over taps: task t = p * rowTiles + tile. On GPUs, where such tasks
   are few, as in sharedvar.cl: shareparts, boxtaps, then boxchannels adds up the costs of a
   channel, and boxsums the channels of a row.

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

/* tapsCost chooses the weights of taps k0 .. end - 1 of channel o, a block, and adds up what they
   cost; at is the place of tap 0 in g and w, b that of its weight. */
INLINE vec tapsCost(__global real *w, const __global real *gLo, const __global real *gHi,
                    const __global real *weightLo, const __global real *weightHi, vec width, int k0, int end,
                    size_t at, size_t step, size_t b, int channels, int n) {
    vec sum = VEC(R(0.0));
    for (int k = k0; k < end; k++) {
        const size_t from = at + k * step, weight = b + (size_t)k * channels;
        vec cost;
        const vec chosen = shareWeight(&cost, weightLo[weight], weightHi[weight],
                                       down(VLOAD(gLo + from) - width), up(VLOAD(gHi + from) + width));
        storeUpTo(chosen, w + from, n);
        sum += cost;
    }
    return sum;
}

/* biasLeast is the least that a bias in [l, h] adds. */
INLINE vec biasLeast(real l, real h, vec a0, vec share) {
    return down(min4NaN(VEC(l), VEC(h), down(a0 - share), up(a0 + share)));
}

/* shared is a row's constant less the costs' sum, with the biases. */
INLINE vec shared(vec c, vec total, vec bias, real rel, real abs_) {
    const vec cost = up(up(total * rel) + abs_);
    return lower(down(down(c - cost) + bias));
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
                channel += tapsCost(w, gLo, gHi, weightLo, weightHi, width, k0, min(k0 + BLOCK, size),
                                    p * size * step + at, step, b * size * channels + o, channels, rows - r);
            }
            block += channel;
            bias = down(bias + biasLeast(biasLo[b * channels + o], biasHi[b * channels + o], a0, share));
        }
        total += block;
    }
    const size_t at = p * rows + r;
    storeUpTo(shared(VLOAD(cIn + at), total, bias, rel, abs_), c + at, rows - r);
}

#if VW == 1

KERNEL void boxtaps(__global real *w, __global real *costs, const __global real *gLo, const __global real *gHi,
                    const __global real *partSums, const __global real *partMags,
                    const __global real *weightLo, const __global real *weightHi, const __global real *greatest,
                    const real slack, const real under, const int perBox, const int rows, const int in,
                    const int inputs, const int size, const int channels, const int qBlocks, const int blocks,
                    const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const size_t step = (size_t)channels * rows, at = modulo(t, step), block = quotient(t, step), p = quotient(block, blocks);
    const int k0 = (int)modulo(block, blocks) * BLOCK;
    const size_t part = p * qBlocks * step + at;
    real a0;
    const real share = shareTotal(&a0, partSums + part, partMags + part, step, qBlocks, slack);
    const real width = shareWidth(share, greatestRoot(greatest + modulo(p, inputs) * in, in), under);
    costs[t] = tapsCost(w, gLo, gHi, weightLo, weightHi, width, k0, min(k0 + BLOCK, size), p * size * step + at, step,
                        quotient(p, perBox) * size * channels + quotient(at, rows), channels, 1);
}

KERNEL void boxchannels(__global real *channelCosts, __global real *biases, const __global real *costs,
                        const __global real *partSums, const __global real *partMags,
                        const __global real *biasLo, const __global real *biasHi, const real slack, const int perBox,
                        const int rows, const int channels, const int qBlocks, const int blocks,
                        const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const size_t step = (size_t)channels * rows, at = modulo(t, step), p = quotient(t, step);
    const size_t part = p * qBlocks * step + at, from = p * blocks * step + at;
    const size_t b = quotient(p, perBox) * channels + quotient(at, rows);
    real a0, channel = R(0.0);
    const real share = shareTotal(&a0, partSums + part, partMags + part, step, qBlocks, slack);
    for (int k = 0; k < blocks; k++) {
        channel += costs[from + k * step];
    }
    channelCosts[t] = channel;
    biases[t] = biasLeast(biasLo[b], biasHi[b], a0, share);
}

KERNEL void boxsums(__global real *c, const __global real *cIn, const __global real *channelCosts,
                    const __global real *biases, const real rel, const real abs_, const int rows, const int channels,
                    const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const size_t from = quotient(t, rows) * channels * rows + modulo(t, rows);
    real total = R(0.0), bias = R(0.0);
    for (int o0 = 0; o0 < channels; o0 += BLOCK) {
        real block = R(0.0);
        for (int o = o0; o < min(o0 + BLOCK, channels); o++) {
            block += channelCosts[from + (size_t)o * rows];
            bias = down(bias + biases[from + (size_t)o * rows]);
        }
        total += block;
    }
    c[t] = shared(cIn[t], total, bias, rel, abs_);
}

#endif
