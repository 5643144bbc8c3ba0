/* round.cl: number formats, vectors, and every decision about rounding.

   It is put before each of the other files; nothing else in this folder chooses
   a constant of a format, a direction of rounding, or what becomes of a NaN.

   Build options (kernels.go writes them, all are optional but VW):
     REAL64     real is double; otherwise float
     VW         lanes of vec: 1 on GPUs, where work-items are the lanes; 8 or 16
                on CPUs, where one work-item is a row of SIMD lanes
     LOCAL      work-items of a work-group, the same for all kernels

   Arithmetic: + - * and comparisons only, rounded to nearest, never contracted:
   the pragma forbids the compiler to fuse x*y+z, and no build option allows it.
   So each expression below has the bits of the Go expression it copies.

   Lanes run across outputs or rows, never inside a sum: what a lane computes
   does not depend on VW. Loads may run over the end of a row by up to VW-1
   numbers: every array has PAD = 16 numbers more than its length (gpu/array.go),
   and lanes beyond the end are computed but never stored (storeUpTo). */

#pragma OPENCL FP_CONTRACT OFF

#ifdef REAL64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double real;
#define REAL_NAME double
#define SIGNED_NAME long
#define UNSIGNED_NAME ulong
#define R(x) x
#define UNIT 0x1p-53                     /* u */
#define PHI 0x1.0000000000001p-53        /* u (1 + 2u) */
#define ETA 0x1p-1074
#define LARGEST 0x1.fffffffffffffp1023
#define RECIP_SEED 0x7fde623822fc16e6UL
#define ROOT_SEED 0x5fe6eb50c7b537a9UL
#define TINY 0x1p-900
#define NEWTON_STEPS 5
#else
typedef float real;
#define REAL_NAME float
#define SIGNED_NAME int
#define UNSIGNED_NAME uint
#define R(x) x##f
#define UNIT 0x1p-24f
#define PHI 0x1.000002p-24f
#define ETA 0x1p-149f
#define LARGEST 0x1.fffffep127f
#define RECIP_SEED 0x7ef311c7U
#define ROOT_SEED 0x5f3759dfU
#define TINY 0x1p-100f
#define NEWTON_STEPS 4
#endif

#define INFINITE ((real)INFINITY)

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#if VW == 1
#define WIDE(t) t
#define VLOAD(p) (*(p))
#define VSTORE(v, p) (*(p) = (v))
#define ANY(m) (m)
#else
#define WIDE(t) JOIN(t, VW)
#define VLOAD(p) JOIN(vload, VW)(0, p)
#define VSTORE(v, p) JOIN(vstore, VW)(v, 0, p)
#define ANY(m) any(m)
#endif

/* vec is VW numbers, mask what comparing two of them gives. */
typedef WIDE(REAL_NAME) vec;
typedef WIDE(SIGNED_NAME) mask;
typedef WIDE(UNSIGNED_NAME) bits;
#define VEC(x) ((vec)(x))
#define AS_VEC(x) JOIN(as_, WIDE(REAL_NAME))(x)
#define AS_BITS(x) JOIN(as_, WIDE(UNSIGNED_NAME))(x)

#define INLINE static inline __attribute__((always_inline))
#define KERNEL __kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1)))

/* UNROLL stands before loops of a constant length over arrays that are meant to be
   registers: some compilers leave them in memory otherwise. */
#define UNROLL _Pragma("unroll")

/* EACH(k, n, most) runs over k < n, which is a parameter of the function and at most most.
   A loop of length n would be unrolled only after the function is inlined, too late for
   some compilers: its arrays would stay in memory. */
#define EACH(k, n, most) UNROLL for (int k = 0; k < (most); k++) if (k < (n))

/* UNROLL_SOME repeats the body of a loop where it is so short that counting and
   branching would show. Not in double, which takes twice the registers. */
#ifdef REAL64
#define UNROLL_SOME _Pragma("unroll 1")
#else
#define UNROLL_SOME _Pragma("unroll 2")
#endif

/* BLOCK is bound.Block: sums are taken in blocks of 32 terms. */
#define BLOCK 32

/* RECEIPT: the first work-item puts the launch's number into its place of the ring
   of receipts; gpu/launch.go looks there to see that the launch took place. */
#define RECEIPTS 1024
#define RECEIPT                                               \
    if (get_global_id(0) == 0) {                              \
        receipts[receipt % RECEIPTS] = receipt;               \
    }

/* TASK names the work-item's task and leaves the kernel where there is none: the
   grid is rounded up to whole work-groups. Kernels with barriers have TILE
   instead, see tiles.cl. */
#define TASK(t, tasks)                                        \
    RECEIPT                                                   \
    const size_t t = (uint)get_global_id(0);                  \
    if (t >= tasks) {                                         \
        return;                                               \
    }

/* quotient and modulo divide in 32 bits, which GPUs do in a tenth of the instructions
   that 64 bits take. The number of a task fits (gpu/launch.go), and so do those of
   items, boxes and vectors made of it; places in arrays need not. */
INLINE size_t quotient(size_t a, size_t b) { return (uint)a / (uint)b; }
INLINE size_t modulo(size_t a, size_t b) { return (uint)a % (uint)b; }

/* loadUpTo loads n lanes, all if n >= VW, and zeros: for arrays that the same
   kernel writes, where what lies beyond belongs to another work-item. */
INLINE vec loadUpTo(const __global real *p, int n) {
#if VW == 1
    return *p;
#else
    if (n >= VW) {
        return VLOAD(p);
    }
    real lane[VW];
    for (int k = 0; k < VW; k++) {
        lane[k] = k < n ? p[k] : R(0.0);
    }
    return JOIN(vload, VW)(0, lane);
#endif
}

/* storeUpTo stores the first n lanes of v, all if n >= VW. */
INLINE void storeUpTo(vec v, __global real *p, int n) {
#if VW == 1
    if (n > 0) {
        *p = v;
    }
#else
    if (n >= VW) {
        VSTORE(v, p);
        return;
    }
    real lane[VW];
    JOIN(vstore, VW)(v, 0, lane);
    for (int k = 0; k < n; k++) {
        p[k] = lane[k];
    }
#endif
}

/* least and most are the smaller and the larger of two numbers that are no NaN;
   of two zeros either. Wherever they stand, the result is a term of a sum that
   starts at +0, and such a sum does not change with the sign of a zero: in
   rounding to nearest x + -0 = x + +0 but for x = -0, and no sum that starts at
   +0 is ever -0. Where a NaN can be among the terms, the place says why the
   result is the same as Go's. */
INLINE vec least(vec a, vec b) { return a < b ? a : b; }
INLINE vec most(vec a, vec b) { return a > b ? a : b; }

/* mostNaN is most, but NaN where an operand is (a > NaN is false: b). */
INLINE vec mostNaN(vec a, vec b) {
    vec m = a > b ? a : b;
    return a != a ? a : m;
}
INLINE vec leastNaN(vec a, vec b) {
    vec m = a < b ? a : b;
    return a != a ? a : m;
}
INLINE real mostNaN1(real a, real b) {
    real m = a > b ? a : b;
    return a != a ? a : m;
}

/* goMin and goMax are Go's min and max bit by bit: NaN where an operand is, and
   -0 before +0. Numbers that are equal differ at most in the sign of zero, which
   | sets and & clears. */
INLINE vec goMin(vec a, vec b) {
    return a == b ? AS_VEC(AS_BITS(a) | AS_BITS(b)) : leastNaN(a, b);
}
INLINE vec goMax(vec a, vec b) {
    return a == b ? AS_VEC(AS_BITS(a) & AS_BITS(b)) : mostNaN(a, b);
}

/* down returns a number below x, up one above, by one or two units in the last
   place. Proof: S. M. Rump, P. Zimmermann, S. Boldo, G. Melquiond, "Computing
   predecessor and successor in rounding to nearest", BIT 49 (2009), Algorithm 1:
   with phi = u(1+2u), fl(x - fl(phi|x| + eta)) <= pred(x) for every finite x,
   subnormal ones included. x is a rounded result fl(y), and y lies strictly
   between pred(fl(y)) and succ(fl(y)); so down(fl(y)) < y < up(fl(y)).
   An infinity stays what it is or becomes NaN; lower and upper deal with both.
   Neither returns -0: the subtrahend is positive, and a difference that is
   exactly 0 is +0. */
INLINE vec down(vec x) { return x - (PHI * fabs(x) + ETA); }
INLINE vec up(vec x) { return x + (PHI * fabs(x) + ETA); }
INLINE real down1(real x) { return x - (PHI * fabs(x) + ETA); }
INLINE real up1(real x) { return x + (PHI * fabs(x) + ETA); }

/* lower and upper let only finite numbers through as bounds: what overflowed or
   became NaN is unknown. */
INLINE vec lower(vec x) { return fabs(x) <= LARGEST ? x : VEC(-INFINITE); }
INLINE vec upper(vec x) { return fabs(x) <= LARGEST ? x : VEC(INFINITE); }
INLINE real lower1(real x) { return fabs(x) <= LARGEST ? x : -INFINITE; }
INLINE real upper1(real x) { return fabs(x) <= LARGEST ? x : INFINITE; }

/* MIN and MAX are least and most of products. GPUs have one instruction for fmin, some
   one for three operands, and two for comparing and choosing; CPUs the other way round.
   For NaN they differ, which is why only min4 and max4 use them. */
#if VW == 1
#define MIN(a, b) fmin(a, b)
#define MAX(a, b) fmax(a, b)
#else
#define MIN(a, b) least(a, b)
#define MAX(a, b) most(a, b)
#endif

/* min4 and max4 bound the product of the intervals a and b where no product is
   NaN, or where NaN does no harm; see least. min4NaN is NaN where a product is. */
INLINE vec min4(vec aLo, vec aHi, vec bLo, vec bHi) {
    return MIN(MIN(aLo * bLo, aLo * bHi), MIN(aHi * bLo, aHi * bHi));
}
INLINE vec max4(vec aLo, vec aHi, vec bLo, vec bHi) {
    return MAX(MAX(aLo * bLo, aLo * bHi), MAX(aHi * bLo, aHi * bHi));
}
INLINE vec min4NaN(vec aLo, vec aHi, vec bLo, vec bHi) {
    return leastNaN(leastNaN(aLo * bLo, aLo * bHi), leastNaN(aHi * bLo, aHi * bHi));
}

/* recipApprox is about 1/x for x in [2^-100, 2^100], by Newton's iteration from a
   guess made of the bits of x; anything elsewhere. Division would be slower and,
   in float, not the same on all devices. */
INLINE vec recipApprox(vec x) {
    vec y = AS_VEC((bits)RECIP_SEED - AS_BITS(x));
    UNROLL
    for (int k = 0; k < NEWTON_STEPS; k++) {
        y = y * (R(2.0) - x * y);
    }
    return y;
}

/* rootUp is at least sqrt(x) for x >= 0: Newton's iteration for 1/sqrt(x), and a
   proof of what came out: fl(c c) >= up(x) > x (1 + u) implies c c >= fl(c c) /
   (1 + u) > x. Where that fails, max(x, 1) (for +Inf c is
   negative). Numbers below TINY count as TINY, NaN
   stays NaN. Square roots are not the same on all devices. Go: fallback/root.go. */
INLINE vec rootUp(vec x) {
    x = x < TINY ? VEC(TINY) : x;
    vec y = AS_VEC((bits)ROOT_SEED - (AS_BITS(x) >> 1));
    const vec h = x * R(0.5);
    UNROLL
    for (int k = 0; k < NEWTON_STEPS; k++) {
        y = y * (R(1.5) - h * y * y);
    }
    const vec c = x * y * (R(1.0) + R(16.0) * UNIT);
    const mask ok = (c > R(0.0)) & (c * c >= up(x));
    return ok ? c : goMax(x, VEC(R(1.0)));
}

/* quantileOf is that of each of the n numbers from i on: q or, where there are quantiles, that of
   the item, of which `each` numbers are. One that is not at least 0 counts as infinite, so that
   what rests on it is unknown. Go: ofItems in fallback/widen.go. */
INLINE vec quantileOf(const __global real *quantiles, const int has, const int each, const real q, int i, int n) {
#if VW == 1
    vec v = has ? quantiles[i / each] : q;
#else
    vec v = VEC(q);
    if (has) {
        const int first = i / each;
        v = VEC(quantiles[first]);
        if ((i + min(n, VW) - 1) / each != first) {
            real lane[VW];
            for (int k = 0; k < VW; k++) {
                lane[k] = k < n ? quantiles[(i + k) / each] : R(0.0);
            }
            v = JOIN(vload, VW)(0, lane);
        }
    }
#endif
    return v >= R(0.0) ? v : VEC(INFINITE);
}

#if VW > 1
/* widest is the largest lane, NaN if one is. */
#define FOLD(n)                                                             \
    INLINE real JOIN(widest, n)(JOIN(REAL_NAME, n) v) {                       \
        const JOIN(REAL_NAME, JOIN(HALF, n)) a = v.lo, b = v.hi;              \
        const JOIN(REAL_NAME, JOIN(HALF, n)) m = a > b ? a : b;               \
        return JOIN(widest, JOIN(HALF, n))(a != a ? a : m);                   \
    }
#define HALF4 2
#define HALF8 4
#define HALF16 8
INLINE real widest2(JOIN(REAL_NAME, 2) v) { return mostNaN1(v.lo, v.hi); }
FOLD(4)
FOLD(8)
FOLD(16)
INLINE real widest(vec v) { return JOIN(widest, VW)(v); }
#endif

/* blockMax is the largest max(-lo[j], hi[j], 0) of n <= BLOCK entries, NaN if one
   is: the factor of a block's magnitudes. Of numbers that are no NaN the order
   does not matter. */
INLINE real blockMax(const __global real *lo, const __global real *hi, int n) {
    real m = R(0.0);
    int j = 0;
#if VW > 1
    vec v = VEC(R(0.0));
    for (; j + VW <= n; j += VW) {
        v = mostNaN(v, mostNaN(-VLOAD(lo + j), VLOAD(hi + j)));
    }
    m = mostNaN1(m, widest(v));
#endif
    for (; j < n; j++) {
        m = mostNaN1(m, mostNaN1(-lo[j], hi[j]));
    }
    return m;
}
