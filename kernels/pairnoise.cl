/* pairnoise: what parameters do to differences of two pre-activations of one channel
   (bound.PairNoise).

   Purpose. For item p with input x = p % inputs and weight box b = p / perBox, row r with
   channel o = unit[r] % channels, and m_k the greatest magnitude of the input under tap k
   at unit[r]'s position minus that at other[p][r]'s:
     sum[p][r] = up(sumIn[p][r] + sum_k v[b][k][o] (squared ? up(m_k^2) : m_k), inflated)
   sums over k in blocks of 32.

   Decomposition. A work-item owns one row of one item, t = p * rows + r: rows have inputs
   anywhere, so there are no vectors. On GPUs, where rows are few and taps many, a work-item of
   pairblocks owns one block of the sum, task t = (p * blocks + b) * rows + r, and leaves it in
   sums [p][b][rows]; one of pairsums adds a row's up.

   Index formulas: taps[position * size + k], v[(b * size + k) * channels + o].

   Assumptions: taps, unit and other hold integers; tap -1 has 0 under it, and two equal
   taps have the difference 0. hasIn says that sumIn is there. Go: fallback/pairnoise.go. */

#pragma OPENCL FP_CONTRACT OFF

/* difference is the greatest magnitude of input i minus input j, -1 being 0. */
INLINE real difference(const __global real *zLo, const __global real *zHi, int i, int j) {
    if (i == j) {
        return R(0.0);
    }
    const real iLo = i >= 0 ? zLo[i] : R(0.0), iHi = i >= 0 ? zHi[i] : R(0.0);
    const real jLo = j >= 0 ? zLo[j] : R(0.0), jHi = j >= 0 ? zHi[j] : R(0.0);
    return mostNaN1(iHi - jLo, jHi - iLo);
}

/* pairBlock is what taps k0 .. end - 1, a block, add to the sum of row r of item p. */
INLINE real pairBlock(const __global real *v, const __global real *zLo, const __global real *zHi,
                      const __global real *taps, int first, int second, int squared, int perBox, int inputs,
                      int k0, int end, size_t p, int in, int size, int channels) {
    const __global real *ofFirst = taps + (size_t)(first / channels) * size;
    const __global real *ofSecond = taps + (size_t)(second / channels) * size;
    const __global real *weights = v + quotient(p, perBox) * size * channels + first % channels;
    const size_t x = modulo(p, inputs) * in;
    real block = R(0.0);
    for (int k = k0; k < end; k++) {
        const real m = difference(zLo + x, zHi + x, (int)ofFirst[k], (int)ofSecond[k]);
        block += weights[(size_t)k * channels] * (squared ? up1(m * m) : m);
    }
    return block;
}

/* noisier1 is what was there before and a sum over the taps, inflated. */
INLINE real noisier1(real before, real sum, real rel, real abs_) { return upper1(up1(before + up1(up1(sum * rel) + abs_))); }

KERNEL void pairnoise(__global real *sum, const __global real *sumIn, const __global real *v,
                      const __global real *zLo, const __global real *zHi, const __global real *taps,
                      const __global real *unit, const __global real *other, const int hasIn,
                      const int squared, const real rel, const real abs_, const int perBox,
                      const int inputs, const int rows, const int in, const int size, const int channels,
                      const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const size_t p = quotient(t, rows), r = modulo(t, rows);
    real total = R(0.0);
    for (int k0 = 0; k0 < size; k0 += BLOCK) {
        total += pairBlock(v, zLo, zHi, taps, (int)unit[r], (int)other[t], squared, perBox, inputs,
                           k0, min(k0 + BLOCK, size), p, in, size, channels);
    }
    sum[t] = noisier1(hasIn ? sumIn[t] : R(0.0), total, rel, abs_);
}

#if VW == 1

KERNEL void pairblocks(__global real *sums, const __global real *v, const __global real *zLo,
                       const __global real *zHi, const __global real *taps, const __global real *unit,
                       const __global real *other, const int squared, const int perBox, const int inputs,
                       const int rows, const int in, const int size, const int channels, const int blocks,
                       const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const size_t block = quotient(t, rows), r = modulo(t, rows), p = quotient(block, blocks);
    const int k0 = (int)modulo(block, blocks) * BLOCK;
    sums[t] = pairBlock(v, zLo, zHi, taps, (int)unit[r], (int)other[p * rows + r], squared, perBox, inputs,
                        k0, min(k0 + BLOCK, size), p, in, size, channels);
}

KERNEL void pairsums(__global real *sum, const __global real *sumIn, const __global real *sums, const int hasIn,
                     const real rel, const real abs_, const int rows, const int blocks,
                     const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const size_t from = quotient(t, rows) * blocks * rows + modulo(t, rows);
    real total = R(0.0);
    for (int b = 0; b < blocks; b++) {
        total += sums[from + (size_t)b * rows];
    }
    sum[t] = noisier1(hasIn ? sumIn[t] : R(0.0), total, rel, abs_);
}

#endif
