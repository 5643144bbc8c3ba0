/* activate: pre-activation intervals through a monotone activation
   (bound.Activate).

   Purpose. zLo[i] <= sigma(lo[i]) and sigma(hi[i]) <= zHi[i].
   kind is one of the KIND_ numbers that kernels.go defines for every network.Kind;
   the slope of leaky ReLU is in [slopeLo, slopeHi], tanh(t) = 2 sigmoid(2t) - 1.
   Of another kind nothing is known.

   Decomposition. A work-item owns EW vectors: i = (t * EW + v) * VW + lane.

   Assumptions: none; a NaN stays one as in Go. Go: fallback/activate.go. */

#pragma OPENCL FP_CONTRACT OFF

INLINE vec relu(vec t) { return goMax(t, VEC(R(0.0))); }

KERNEL void activate(__global real *zLo, __global real *zHi, const __global real *lo,
                     const __global real *hi, const int kind, const real slopeLo, const real slopeHi,
                     const int n, const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int i0 = (int)t * EW * VW;
    for (int i = i0; i < min(i0 + EW * VW, n); i += VW) {
        vec l = VLOAD(lo + i), h = VLOAD(hi + i);
        if (kind == KIND_RELU) {
            l = relu(l);
            h = relu(h);
        } else if (kind == KIND_LEAKY_RELU) {
            l = l >= R(0.0) ? l : lower(down(slopeHi * l));
            h = h >= R(0.0) ? h : upper(up(slopeLo * h));
        } else if (kind == KIND_TANH) {
            /* down and up never give -0, and 1 and -1 are no zeros */
            l = mostNaN(down(R(2.0) * sigmoidLo(sigmoidApprox(R(2.0) * l)) - R(1.0)), VEC(R(-1.0)));
            h = leastNaN(up(R(2.0) * sigmoidHi(sigmoidApprox(R(2.0) * h)) - R(1.0)), VEC(R(1.0)));
        } else if (kind == KIND_SIGMOID) {
            l = sigmoidLo(sigmoidApprox(l));
            h = sigmoidHi(sigmoidApprox(h));
        } else if (kind == KIND_SOFTPLUS || kind == KIND_ELU) {
            vec other, slope, err;
            convexAt(&l, &other, &slope, &err, l, kind == KIND_ELU, slopeLo, slopeHi);
            convexAt(&other, &h, &slope, &err, h, kind == KIND_ELU, slopeLo, slopeHi);
        } else if (kind != KIND_IDENTITY) {
            l = VEC(-INFINITE);
            h = VEC(INFINITE);
        }
        storeUpTo(l, zLo + i, n - i);
        storeUpTo(h, zHi + i, n - i);
    }
}
