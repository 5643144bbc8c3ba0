/* convex: what activate and relax need of the convex activations softplus and ELU. No kernels.

   Every function has the name, the proof and, bit by bit, the results of the one in
   fallback/convex.go. As in sigmoid.cl, each lane takes its own of all branches. */

#pragma OPENCL FP_CONTRACT OFF

#ifdef REAL64
#define ATANH_TERMS 17
__constant real atanhSeries[ATANH_TERMS] = {
    0x1.f07c1f07c1f08p-6, 0x1.0842108421084p-5, 0x1.1a7b9611a7b96p-5, 0x1.2f684bda12f68p-5,
    0x1.47ae147ae147bp-5, 0x1.642c8590b2164p-5, 0x1.8618618618618p-5, 0x1.af286bca1af28p-5,
    0x1.e1e1e1e1e1e1ep-5, 0x1.1111111111111p-4, 0x1.3b13b13b13b14p-4, 0x1.745d1745d1746p-4,
    0x1.c71c71c71c71cp-4, 0x1.2492492492492p-3, 0x1.999999999999ap-3, 0x1.5555555555555p-2, 1.0};
#else
#define ATANH_TERMS 8
__constant real atanhSeries[ATANH_TERMS] = {
    0x1.111112p-4f, 0x1.3b13b2p-4f, 0x1.745d18p-4f, 0x1.c71c72p-4f, 0x1.24924ap-3f, 0x1.99999ap-3f,
    0x1.555556p-2f, 1.0f};
#endif

/* softplusAt and eluAt give what is known of the function at t; where that goes is written by
   pointers, as Oclgrind does not know what becomes of structures. */
INLINE void softplusAt(vec *lo, vec *hi, vec *slope, vec *err, vec t) {
    const vec e = expNegApprox(t), h = R(0.5) * e;
    const vec z = h * recipApprox(R(1.0) + h), w = z * z;
    vec q = VEC(atanhSeries[0]);
    UNROLL
    for (int n = 1; n < ATANH_TERMS; n++) {
        q = atanhSeries[n] + w * q;
    }
    const vec ln = (R(2.0) * z) * q, m = goMax(t, VEC(R(0.0)));
    const vec s = recipApprox(R(1.0) + e);
    *err = VEC(SIGMOID_ERR * UNIT);
    *lo = goMax(m, lower(down(m + (ln - *err))));
    *hi = up(m + (ln + *err));
    *slope = t < R(0.0) ? R(1.0) - s : s;
}

INLINE void eluAt(vec *lo, vec *hi, vec *slope, vec *err, vec t, real alphaLo, real alphaHi) {
    const vec zero = VEC(R(0.0)), e = expNegApprox(t), wrong = VEC(SIGMOID_ERR * UNIT), below = e - R(1.0);
    const mask straight = t >= R(0.0);
    *lo = straight ? t : goMax(VEC(-alphaHi), down(alphaHi * (below - wrong)));
    *hi = straight ? t : goMin(zero, up(alphaLo * goMin(zero, below + wrong)));
    *slope = straight ? VEC(R(1.0)) : alphaHi * e;
    *err = straight ? zero : up(wrong + up(VEC(alphaHi - alphaLo)));
}

INLINE void convexAt(vec *lo, vec *hi, vec *slope, vec *err, vec t, const int isELU, real alphaLo, real alphaHi) {
    if (isELU) {
        eluAt(lo, hi, slope, err, t, alphaLo, alphaHi);
    } else {
        softplusAt(lo, hi, slope, err, t);
    }
}

/* convexUpper and convexLower are the two lines of convexLines. */
INLINE void convexUpper(vec *a, vec *b, vec l, vec u, const int isELU, real alphaLo, real alphaHi) {
    const vec zero = VEC(R(0.0)), one = VEC(R(1.0));
    vec left, right, lo, slope, err;
    convexAt(&lo, &left, &slope, &err, l, isELU, alphaLo, alphaHi);
    convexAt(&lo, &right, &slope, &err, u, isELU, alphaLo, alphaHi);
    const mask finite = (l >= -LARGEST) & (u <= LARGEST) & (l <= u);
    vec s = (right - left) * recipApprox(u - l);
    s = ((s >= R(0.0)) & (s <= R(1.0))) ? s : one;
    s = s < MIN_SLOPE ? zero : s;
    const vec lift = mostNaN(up(left - down(s * l)), up(right - down(s * u))); /* up never gives -0 */
    *a = finite ? s : zero;
    *b = finite ? lift : right;
    if (isELU) {
        *a = l >= R(0.0) ? one : *a;
        *b = l >= R(0.0) ? zero : *b;
    }
}

INLINE void convexLower(vec *a, vec *b, vec l, vec u, const int isELU, real alphaLo, real alphaHi) {
    const vec zero = VEC(R(0.0)), one = VEC(R(1.0)), touch = R(0.5) * l + R(0.5) * u;
    vec left, at, hi, slope, err;
    convexAt(&left, &hi, &slope, &err, l, isELU, alphaLo, alphaHi);
    convexAt(&at, &hi, &slope, &err, touch, isELU, alphaLo, alphaHi);
    const vec s = leastNaN(slope, one);
    const mask sloped = (l >= -LARGEST) & (u <= LARGEST) & (l <= u) & (s >= MIN_SLOPE);
    const vec lost = up(err * mostNaN(up(touch - l), up(u - touch)));
    const vec under = down(down(at - up(s * touch)) - lost);
    *a = sloped ? s : zero;
    *b = sloped ? under : left;
    if (isELU) {
        *a = l >= R(0.0) ? one : *a;
        *b = l >= R(0.0) ? zero : *b;
    }
}
