/* sigmoid: what activate and relax need of the logistic function. No kernels.

   Every function has the name, the proof and, bit by bit, the results of the one
   in fallback/sigmoid.go. Where Go branches, all branches are computed and each
   lane takes its own; what the others are does not matter, no branch traps. */

#pragma OPENCL FP_CONTRACT OFF

#ifdef REAL64
#define SIGMOID_CAP 700.0
#define LOG2E 0x1.71547652b82fep+0
#define MAGIC 0x1.8p52 /* adding and subtracting it rounds to a whole number */
#define LN2_HI 0x1.62e42feep-1
#define LN2_LO 0x1.a39ef35793c76p-33
#define TAYLOR_TERMS 14
__constant real taylor[TAYLOR_TERMS] = {
    0x1.6124613a86d09p-33, 0x1.1eed8eff8d898p-29, 0x1.ae64567f544e4p-26, 0x1.27e4fb7789f5cp-22,
    0x1.71de3a556c734p-19, 0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-13, 0x1.6c16c16c16c17p-10,
    0x1.1111111111111p-7, 0x1.5555555555555p-5, 0x1.5555555555555p-3, 0.5, 1.0, 1.0};
#define EXPONENT_BIAS 1023
#define EXPONENT_SHIFT 52
#else
#define SIGMOID_CAP 80.0f
#define LOG2E 0x1.715476p+0f
#define MAGIC 0x1.8p23f
#define LN2_HI 0.693359375f
#define LN2_LO -0x1.bd0106p-13f
#define TAYLOR_TERMS 8
__constant real taylor[TAYLOR_TERMS] = {
    0x1.a01a02p-13f, 0x1.6c16c2p-10f, 0x1.111112p-7f, 0x1.555556p-5f, 0x1.555556p-3f, 0.5f, 1.0f, 1.0f};
#define EXPONENT_BIAS 127
#define EXPONENT_SHIFT 23
#endif

#define SIGMOID_ERR R(16.0)
#define SLOPE_ERR R(20.0)
#define MIN_SLOPE R(0x1p-30)

/* pow2 is 2^-k for a whole number k >= 0; anything for NaN, which its factor keeps. The
   bits of k + MAGIC are those of MAGIC, plus k; few devices convert double to long. */
INLINE vec pow2(vec k) {
    return AS_VEC((EXPONENT_BIAS - (AS_BITS(k + MAGIC) - AS_BITS(VEC(MAGIC)))) << EXPONENT_SHIFT);
}

/* expNegApprox is exp(-|t|). */
INLINE vec expNegApprox(vec t) {
    const vec y = leastNaN(fabs(t), VEC(SIGMOID_CAP));
    const vec k = (y * LOG2E + MAGIC) - MAGIC;
    const vec r = (y - k * LN2_HI) - k * LN2_LO;
    vec e = VEC(taylor[0]);
    UNROLL
    for (int n = 1; n < TAYLOR_TERMS; n++) {
        e = taylor[n] - e * r;
    }
    return e * pow2(k);
}

INLINE vec sigmoidApprox(vec t) {
    const vec s = recipApprox(R(1.0) + expNegApprox(t));
    return t < R(0.0) ? R(1.0) - s : s;
}

/* sigmoidLo and sigmoidHi enclose the sigmoid whose approximation is s; down and
   up never give -0, so the order of zeros is no matter. */
INLINE vec sigmoidLo(vec s) { return mostNaN(down(s - SIGMOID_ERR * UNIT), VEC(R(0.0))); }
INLINE vec sigmoidHi(vec s) { return leastNaN(up(s + SIGMOID_ERR * UNIT), VEC(R(1.0))); }

INLINE vec sigmoidSlopeApprox(vec s) { return s * (R(1.0) - s); }

INLINE void touchFrom(vec *a, vec *touch, vec l, vec u) {
    const vec sl = sigmoidApprox(l), su = sigmoidApprox(u);
    vec slope = sigmoidSlopeApprox(su);
    const mask chordOnly = sl + slope * (u - l) > su;
    vec lo = VEC(R(0.0)), hi = u;
    for (int k = 0; k < 12; k++) {
        const vec m = R(0.5) * (lo + hi), s = sigmoidApprox(m), here = sigmoidSlopeApprox(s);
        const mask above = sl + here * (m - l) > s;
        lo = above ? m : lo;
        hi = above ? hi : m;
        slope = above ? slope : here;
    }
    const vec middle = R(0.5) * l + R(0.5) * u;
    const mask further = middle > hi;
    slope = further ? sigmoidSlopeApprox(sigmoidApprox(middle)) : slope;
    hi = further ? middle : hi;
    *a = chordOnly ? (su - sl) * recipApprox(u - l) : slope;
    *touch = chordOnly ? u : hi;
}

INLINE vec supConcave(vec a, vec touch, vec m, vec u) {
    const vec s = sigmoidApprox(touch), slope = sigmoidSlopeApprox(s);
    const real err = SLOPE_ERR * UNIT;
    const vec over = up(up(a - slope) + err), under = up(up(slope - a) + err);
    const vec extra = mostNaN(mostNaN(up(over * up(touch - m)), VEC(R(0.0))), up(under * up(u - touch)));
    return up(up(sigmoidHi(s) - down(a * touch)) + extra);
}

/* sigmoidUpper: the line a t + b above the sigmoid on [l, u]. */
INLINE void sigmoidUpper(vec *aOut, vec *bOut, vec l, vec u) {
    const mask finite = (l >= -LARGEST) & (u <= LARGEST) & (l <= u);
    const mask concave = l >= R(0.0), convex = u <= R(0.0);
    const vec lHi = sigmoidHi(sigmoidApprox(l)), uHi = sigmoidHi(sigmoidApprox(u));
    vec a, touch;
    touchFrom(&a, &touch, l, u);
    const vec middle = R(0.5) * l + R(0.5) * u;
    a = convex ? (uHi - lHi) * recipApprox(u - l) : a;
    a = concave ? sigmoidSlopeApprox(sigmoidApprox(middle)) : a;
    touch = concave ? middle : touch;
    const vec sup = supConcave(a, touch, concave ? l : VEC(R(0.0)), u);
    const vec left = up(lHi - down(a * l)), right = up(uHi - down(a * u));
    vec b = mostNaN(left, convex ? right : sup);
    b = concave ? sup : b;
    const mask sloped = (a >= MIN_SLOPE) & (a <= R(1.0));
    b = sloped ? b : uHi; /* increasing: the right end is the largest */
    a = sloped ? a : VEC(R(0.0));
    *aOut = finite ? a : VEC(R(0.0));
    *bOut = finite ? b : VEC(R(1.0));
}
