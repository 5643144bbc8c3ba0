/* sharedvar: variance of the noise of a layer with shared weights in rows
   (bound.SharedVar, docs/theory.md, section 10.6).

   Purpose. For item p with input x = p % inputs, row r, and for channel o the sums a0(o) of
   a[p][position][o][r] over positions and share(o) = slack times that of their magnitudes:
     g(k,o)    = max(-gLo, gHi)[p][k][o][r] + up(share(o) root of the greatest maxSq) + under
     var[p][r] = up(varIn[p][r % cols] + sum v[k][o] up(g^2) + sum vb[o] up((|a0| + share)^2),
                    inflated)
   sums over positions, taps and channels in blocks of 32, a channel's bias after its taps.

   Decomposition. A work-item owns one vector of rows of one item and walks over channels, for
   each over positions and then over taps: task t = p * rowTiles + tile. Everything is read
   once, rows beside each other by work-items beside each other. On GPUs, where such tasks are
   few and channels, positions and taps many, work-items own blocks, rows beside each other, then
   channels: shareparts of positions, sharedtaps of taps, and sharedchannels adds up the taps of a
   channel, sharedsums the channels of a row. sharemost leaves the greatest square of each block.

   Index formulas: a[((p * positions + q) * channels + o) * rows + r],
   g[((p * size + k) * channels + o) * rows + r], v[k * channels + o].

   Assumptions: v, vb and maxSq are >= 0. g and a may be Inf or NaN; then so is the result,
   as maxima keep NaN. hasIn says that varIn is there. Go: fallback/sharedvar.go. */

#pragma OPENCL FP_CONTRACT OFF

/* greatestRoot is at least the root of the greatest of n squares. */
INLINE vec greatestRoot(const __global real *squares, int n) {
    return rootUp(VEC(blockMax(squares, squares, n)));
}

/* shareBlock adds a row's coefficients of one channel over positions q0 .. end - 1, a block, step
   apart, and their magnitudes. */
INLINE void shareBlock(vec *signedSum, vec *magnitude, const __global real *a, size_t step, int q0, int end) {
    vec sum = VEC(R(0.0)), mag = VEC(R(0.0));
    for (int q = q0; q < end; q++) {
        const vec v = VLOAD(a + q * step);
        sum += v;
        mag += fabs(v);
    }
    *signedSum = sum;
    *magnitude = mag;
}

/* shareSums is shareBlock over all positions, with slack times the magnitudes, rounded up. */
INLINE vec shareSums(vec *signedSum, const __global real *a, size_t step, int positions, real slack) {
    vec total = VEC(R(0.0)), totalMag = VEC(R(0.0));
    for (int q0 = 0; q0 < positions; q0 += BLOCK) {
        vec sum, mag;
        shareBlock(&sum, &mag, a, step, q0, min(q0 + BLOCK, positions));
        total += sum;
        totalMag += mag;
    }
    *signedSum = total;
    return up(slack * totalMag);
}

/* shareWidth is what a factor may be wrong by. */
INLINE vec shareWidth(vec share, vec root, real under) { return up(up(share * root) + under); }

/* tapsVar is what taps k0 .. end - 1 of channel o, a block, add to a row's variance. */
INLINE vec tapsVar(const __global real *gLo, const __global real *gHi, const __global real *v, vec width,
                   int k0, int end, int o, size_t at, size_t step, int channels) {
    vec sum = VEC(R(0.0));
    for (int k = k0; k < end; k++) {
        const vec g = mostNaN(-VLOAD(gLo + at + k * step), VLOAD(gHi + at + k * step)) + width;
        sum += v[(size_t)k * channels + o] * up(g * g);
    }
    return sum;
}

/* biasVar is what a channel's bias adds, whose variance is vb. */
INLINE vec biasVar(vec a0, vec share, real vb) {
    const vec b = fabs(a0) + share;
    return vb * up(b * b);
}

/* channelVar is what channel o adds to a row's variance: its taps and then its bias. */
INLINE vec channelVar(const __global real *gLo, const __global real *gHi, const __global real *a,
                      const __global real *v, const __global real *vb, vec root, real slack, real under, int o,
                      size_t p, int r, int rows, int positions, int size, int channels) {
    const size_t step = (size_t)channels * rows, at = (size_t)o * rows + r;
    vec a0, channel = VEC(R(0.0));
    const vec share = shareSums(&a0, a + p * positions * step + at, step, positions, slack);
    const vec width = shareWidth(share, root, under);
    for (int k0 = 0; k0 < size; k0 += BLOCK) {
        channel += tapsVar(gLo, gHi, v, width, k0, min(k0 + BLOCK, size), o, p * size * step + at, step, channels);
    }
    return channel + biasVar(a0, share, vb[o]);
}

KERNEL void sharedvar(__global real *var, const __global real *varIn, const __global real *gLo,
                      const __global real *gHi, const __global real *a, const __global real *v,
                      const __global real *vb, const __global real *maxSq, const int hasIn,
                      const real slack, const real under, const real rel, const real abs_,
                      const int rows, const int cols, const int in, const int inputs,
                      const int positions, const int size, const int channels,
                      const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int rowTiles = (rows + VW - 1) / VW, r = (int)modulo(t, rowTiles) * VW;
    const size_t p = quotient(t, rowTiles);
    const vec root = greatestRoot(maxSq + modulo(p, inputs) * in, in);
    vec total = VEC(R(0.0));
    for (int o0 = 0; o0 < channels; o0 += BLOCK) {
        vec block = VEC(R(0.0));
        for (int o = o0; o < min(o0 + BLOCK, channels); o++) {
            block += channelVar(gLo, gHi, a, v, vb, root, slack, under, o, p, r, rows, positions, size, channels);
        }
        total += block;
    }
    const vec vIn = hasIn ? wrapped(varIn + p * cols, r, cols, rows - r) : VEC(R(0.0));
    storeUpTo(noisier(vIn, total, rel, abs_), var + p * rows + r, rows - r);
}

#if VW == 1

/* sharemost: the greatest of each block of squares, in = blocks * BLOCK at most. */
KERNEL void sharemost(__global real *greatest, const __global real *squares, const int in, const int blocks,
                      const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int j0 = (int)modulo(t, blocks) * BLOCK;
    const __global real *from = squares + quotient(t, blocks) * in + j0;
    greatest[t] = blockMax(from, from, min(BLOCK, in - j0));
}

KERNEL void shareparts(__global real *partSums, __global real *partMags, const __global real *a, const int rows,
                       const int positions, const int channels, const int qBlocks,
                       const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const size_t step = (size_t)channels * rows, block = quotient(t, step), p = quotient(block, qBlocks);
    const int q0 = (int)modulo(block, qBlocks) * BLOCK;
    real sum, mag;
    shareBlock(&sum, &mag, a + p * positions * step + modulo(t, step), step, q0, min(q0 + BLOCK, positions));
    partSums[t] = sum;
    partMags[t] = mag;
}

/* shareTotal is shareSums of what shareparts left, from the row's first part on. */
INLINE real shareTotal(real *signedSum, const __global real *sums, const __global real *magnitudes, size_t step,
                       int qBlocks, real slack) {
    real total = R(0.0), totalMag = R(0.0);
    for (int b = 0; b < qBlocks; b++) {
        total += sums[b * step];
        totalMag += magnitudes[b * step];
    }
    *signedSum = total;
    return up(slack * totalMag);
}

KERNEL void sharedtaps(__global real *taps, const __global real *gLo, const __global real *gHi,
                       const __global real *partSums, const __global real *partMags, const __global real *v,
                       const __global real *greatest, const real slack, const real under, const int rows,
                       const int in, const int inputs, const int size, const int channels, const int qBlocks,
                       const int blocks, const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const size_t step = (size_t)channels * rows, at = modulo(t, step), block = quotient(t, step), p = quotient(block, blocks);
    const int k0 = (int)modulo(block, blocks) * BLOCK;
    const size_t part = p * qBlocks * step + at;
    real a0;
    const real share = shareTotal(&a0, partSums + part, partMags + part, step, qBlocks, slack);
    const real width = shareWidth(share, greatestRoot(greatest + modulo(p, inputs) * in, in), under);
    taps[t] = tapsVar(gLo, gHi, v, width, k0, min(k0 + BLOCK, size), (int)quotient(at, rows), p * size * step + at, step, channels);
}

KERNEL void sharedchannels(__global real *sums, const __global real *taps, const __global real *partSums,
                           const __global real *partMags, const __global real *vb, const real slack, const int rows,
                           const int channels, const int qBlocks, const int blocks,
                           const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const size_t step = (size_t)channels * rows, at = modulo(t, step), p = quotient(t, step);
    const size_t part = p * qBlocks * step + at, from = p * blocks * step + at;
    real a0, channel = R(0.0);
    const real share = shareTotal(&a0, partSums + part, partMags + part, step, qBlocks, slack);
    for (int b = 0; b < blocks; b++) {
        channel += taps[from + b * step];
    }
    sums[t] = channel + biasVar(a0, share, vb[quotient(at, rows)]);
}

KERNEL void sharedsums(__global real *var, const __global real *varIn, const __global real *sums, const int hasIn,
                       const real rel, const real abs_, const int rows, const int cols, const int channels,
                       const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const size_t p = quotient(t, rows), r = modulo(t, rows), from = p * channels * rows + r;
    real total = R(0.0);
    for (int o0 = 0; o0 < channels; o0 += BLOCK) {
        real block = R(0.0);
        for (int o = o0; o < min(o0 + BLOCK, channels); o++) {
            block += sums[from + (size_t)o * rows];
        }
        total += block;
    }
    var[t] = noisier(hasIn ? varIn[p * cols + modulo(r, cols)] : R(0.0), total, rel, abs_);
}

#endif
