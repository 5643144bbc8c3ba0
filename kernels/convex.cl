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

/* convexAt is what is known of the function at a point. */
typedef struct {
    vec lo, hi, slope, err;
} convexAt;

INLINE convexAt softplusAt(vec t) {
    const vec e = expNegApprox(t), h = R(0.5) * e;
    const vec z = h * recipApprox(R(1.0) + h), w = z * z;
    vec q = VEC(atanhSeries[0]);
    UNROLL
    for (int n = 1; n < ATANH_TERMS; n++) {
        q = atanhSeries[n] + w * q;
    }
    const vec ln = (R(2.0) * z) * q, m = goMax(t, VEC(R(0.0))), err = VEC(SIGMOID_ERR * UNIT);
    const vec s = recipApprox(R(1.0) + e);
    convexAt at;
    at.lo = goMax(m, lower(down(m + (ln - err))));
    at.hi = up(m + (ln + err));
    at.slope = t < R(0.0) ? R(1.0) - s : s;
    at.err = err;
    return at;
}

INLINE convexAt eluAt(vec t, real alphaLo, real alphaHi) {
    const vec zero = VEC(R(0.0)), e = expNegApprox(t), err = VEC(SIGMOID_ERR * UNIT), below = e - R(1.0);
    const mask straight = t >= R(0.0);
    convexAt at;
    at.lo = straight ? t : goMax(VEC(-alphaHi), down(alphaHi * (below - err)));
    at.hi = straight ? t : goMin(zero, up(alphaLo * goMin(zero, below + err)));
    at.slope = straight ? VEC(R(1.0)) : alphaHi * e;
    at.err = straight ? zero : up(err + up(VEC(alphaHi - alphaLo)));
    return at;
}

INLINE convexAt convexValue(vec t, const int isELU, real alphaLo, real alphaHi) {
    return isELU ? eluAt(t, alphaLo, alphaHi) : softplusAt(t);
}

/* convexUpper and convexLower are the two lines of convexLines. */
INLINE void convexUpper(vec *a, vec *b, vec l, vec u, const int isELU, real alphaLo, real alphaHi) {
    const vec zero = VEC(R(0.0)), one = VEC(R(1.0));
    const vec left = convexValue(l, isELU, alphaLo, alphaHi).hi, right = convexValue(u, isELU, alphaLo, alphaHi).hi;
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
    const vec zero = VEC(R(0.0)), one = VEC(R(1.0));
    const vec left = convexValue(l, isELU, alphaLo, alphaHi).lo, touch = R(0.5) * l + R(0.5) * u;
    const convexAt at = convexValue(touch, isELU, alphaLo, alphaHi);
    const vec s = leastNaN(at.slope, one);
    const mask sloped = (l >= -LARGEST) & (u <= LARGEST) & (l <= u) & (s >= MIN_SLOPE);
    const vec lost = up(at.err * mostNaN(up(touch - l), up(u - touch)));
    const vec under = down(down(at.lo - up(s * touch)) - lost);
    *a = sloped ? s : zero;
    *b = sloped ? under : left;
    if (isELU) {
        *a = l >= R(0.0) ? one : *a;
        *b = l >= R(0.0) ? zero : *b;
    }
}
