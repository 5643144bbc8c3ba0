/* pairnoise: what parameters do to differences of two pre-activations of one channel
   (bound.PairNoise).

   Purpose. For item p with input x = p % inputs and weight box b = p / perBox, row r with
   channel o = unit[r] % channels, and m_k the greatest magnitude of the input under tap k
   at unit[r]'s position minus that at other[p][r]'s:
     sum[p][r] = up(sumIn[p][r] + sum_k v[b][k][o] (squared ? up(m_k^2) : m_k), inflated)
   sums over k in blocks of 32.

   Decomposition. A work-item owns one row of one item, t = p * rows + r: rows have inputs
   anywhere, so there are no vectors.

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

KERNEL void pairnoise(__global real *sum, const __global real *sumIn, const __global real *v,
                      const __global real *zLo, const __global real *zHi, const __global real *taps,
                      const __global real *unit, const __global real *other, const int hasIn,
                      const int squared, const real rel, const real abs_, const int perBox,
                      const int inputs, const int rows, const int in, const int size, const int channels,
                      const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const size_t p = quotient(t, rows), r = modulo(t, rows), x = modulo(p, inputs) * in;
    const int first = (int)unit[r], second = (int)other[t];
    const __global real *ofFirst = taps + (size_t)(first / channels) * size;
    const __global real *ofSecond = taps + (size_t)(second / channels) * size;
    const __global real *weights = v + quotient(p, perBox) * size * channels + first % channels;
    real total = R(0.0);
    for (int k0 = 0; k0 < size; k0 += BLOCK) {
        real block = R(0.0);
        for (int k = k0; k < min(k0 + BLOCK, size); k++) {
            const real m = difference(zLo + x, zHi + x, (int)ofFirst[k], (int)ofSecond[k]);
            block += weights[(size_t)k * channels] * (squared ? up1(m * m) : m);
        }
        total += block;
    }
    const real result = up1((hasIn ? sumIn[t] : R(0.0)) + up1(up1(total * rel) + abs_));
    sum[t] = fabs(result) <= LARGEST ? result : INFINITE;
}
