/* drawbox: the end-points of weight boxes (bound.DrawBox).

   Purpose. For box b and weight w, with k = first + b the number of the box:
     n = sampled ? Normal(seed, k, stream, w) : 0
     lo[b][w], hi[b][w] = (cLo[w] + unit[w] n) - gamma[b] unit[w],
                          (cHi[w] + unit[w] n) + gamma[b] unit[w]
   Normal is host/arith/draw.go's: Philox4x32-10 (Salmon et al., SC 2011), whose
   call gives the numbers of 4 weights, and M. Giles's polynomials for erfinv
   (GPU Computing Gems, 2011). n is a float also where real is double.

   Decomposition. DW groups of 4 weights make a tile, computed side by side: lane
   g of the four results of Philox belongs to weights 4 g .. 4 g + 3, and two
   steps of interleaving put them in order. A work-item owns DT tiles of one box:
     task t = b * runs + run, weights (run * DT + tile) * 4 DW + 0 .. 4 DW - 1

   Index formulas: lo[b * n + w], cLo[w], gamma[b].

   Assumptions: n < 2^31. A sampled run of boxes may start at any 64-bit number. */

#pragma OPENCL FP_CONTRACT OFF

#if VW == 1
#define DW 1
#define DT 1
typedef uint uintD;
typedef int intD;
typedef float floatD;
typedef real realD;
#define LOAD_D(p) (*(p))
#define STORE_D(v, p) (*(p) = (v))
#define TO_REAL(x) ((real)(x))
#define AS_FLOAT(x) as_float(x)
#define AS_INT(x) as_int(x)
#define AS_UINT(x) as_uint(x)
#define TO_FLOAT(x) convert_float(x)
#else
#define DW 16
#define DT 8
typedef uint16 uintD;
typedef int16 intD;
typedef float16 floatD;
typedef JOIN(REAL_NAME, 16) realD;
#define LOAD_D(p) vload16(0, p)
#define STORE_D(v, p) vstore16(v, 0, p)
#define TO_REAL(x) JOIN(JOIN(convert_, REAL_NAME), 16)(x)
#define AS_FLOAT(x) as_float16(x)
#define AS_INT(x) as_int16(x)
#define AS_UINT(x) as_uint16(x)
#define TO_FLOAT(x) convert_float16(x)
#endif

/* mulHi is the upper half of x k. On vectors by two products of 64 bits, as SIMD
   has them: PoCL's mul_hi works with halves of 16 bits, five times slower. Which
   of two neighbours comes first in a ulong does not matter. */
INLINE uintD mulHi(uintD x, uint k) {
#if VW == 1
    return mul_hi(x, k);
#else
    const ulong8 pair = as_ulong8(x);
    const ulong8 one = (pair & 0xffffffffUL) * (ulong)k, other = (pair >> 32UL) * (ulong)k;
    return as_uint16((one >> 32UL) | (other & 0xffffffff00000000UL));
#endif
}

INLINE floatD horner8(floatD t, float c0, float c1, float c2, float c3, float c4, float c5,
                      float c6, float c7, float c8) {
    floatD p = c1 + c0 * t;
    p = c2 + p * t;
    p = c3 + p * t;
    p = c4 + p * t;
    p = c5 + p * t;
    p = c6 + p * t;
    p = c7 + p * t;
    return c8 + p * t;
}

/* logApprox: log(y), y = 2^e m, m in [3/4, 3/2). */
INLINE floatD logApprox(floatD y) {
    const uintD b = AS_UINT(y);
    const intD e = AS_INT(b - 0x3f400000U) >> 23;
    const floatD x = AS_FLOAT(b - (AS_UINT(e) << 23)) - 1.0f;
    floatD p = horner8(x, 0.048774821246014934f, -0.11628150544757432f, 0.15015401752562585f,
                       -0.16908588501665717f, 0.19981705356829352f, -0.24987882879613785f,
                       0.3333323992021914f, -0.500001855984106f, 1.000000029553957f);
    p = 4.531166518048095e-09f + p * x;
    return TO_FLOAT(e) * 0x1.62e43p-1f + p;
}

INLINE floatD normalApprox(uintD u) {
    const floatD v = TO_FLOAT(AS_INT(u & 0x7fffffffU)) * 0x1p-31f + 0x1p-32f;
    const floatD w = -logApprox(v * (2.0f - v));
    floatD p = horner8(w - 2.5f, 3.1969680394459927e-08f, 4.839788249499785e-07f, -4.885796045069582e-06f,
                       -6.194745732231644e-06f, 0.0003087411769368272f, -0.0017730828188758966f,
                       -0.005907660099483536f, 0.34880271668923374f, 2.1233134670146705f);
#if VW == 1
    const int far = !(w < 5.0f);
    const int someFar = far;
#else
    const intD far = !(w < 5.0f);
    const int someFar = any(far);
#endif
    if (someFar) { /* 1 number in 300 */
        const floatD tail = horner8(w - 12.0f, 8.750900004482134e-11f, -1.8159588811786368e-09f,
                                    -1.5755344565347781e-09f, 4.070577985279083e-07f, -8.19604413916867e-06f,
                                    0.0001643856313106071f, -0.004174051849238484f, 0.20557779348871563f,
                                    4.66594357491947f);
        p = far ? tail : p;
    }
    return AS_FLOAT(AS_UINT(p * (1.0f - v)) ^ (u & 0x80000000U));
}

/* drawEnds writes the end-points of DW weights, n <= DW of which exist. */
INLINE void drawEnds(__global real *lo, __global real *hi, const __global real *cLo, const __global real *cHi,
                     const __global real *unit, real gamma, floatD normal, int n) {
    const realD u = LOAD_D(unit), shift = u * TO_REAL(normal), h = gamma * u;
    const realD l = (LOAD_D(cLo) + shift) - h, r = (LOAD_D(cHi) + shift) + h;
#if VW > 1
    if (n < DW) {
        real lane[2][DW];
        vstore16(l, 0, lane[0]);
        vstore16(r, 0, lane[1]);
        for (int k = 0; k < n; k++) {
            lo[k] = lane[0][k];
            hi[k] = lane[1][k];
        }
        return;
    }
#endif
    STORE_D(l, lo);
    STORE_D(r, hi);
}

KERNEL void drawbox(__global real *lo, __global real *hi, const __global real *cLo, const __global real *cHi,
                    const __global real *unit, const __global real *gamma, const int n, const int sampled,
                    const ulong seed, const ulong first, const uint stream,
                    const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int groups = (n + 3) / 4, runs = (groups + DW * DT - 1) / (DW * DT);
    const int g0 = (int)modulo(t, runs) * DW * DT;
    const size_t b = quotient(t, runs), at = b * n;
    const ulong number = first + b;
    for (int g = g0; g < min(g0 + DW * DT, groups); g += DW) {
        floatD x[4] = {(floatD)(0.0f), (floatD)(0.0f), (floatD)(0.0f), (floatD)(0.0f)};
        if (sampled) {
#if VW == 1
            uintD c0 = (uint)g;
#else
            uintD c0 = (uint)g + (uint16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#endif
            uintD c1 = (uintD)(stream), c2 = (uintD)((uint)number), c3 = (uintD)((uint)(number >> 32));
            uint k0 = (uint)seed, k1 = (uint)(seed >> 32);
            UNROLL
            for (int round = 0; round < 10; round++) {
                const uintD hi0 = mulHi(c0, 0xD2511F53U), lo0 = c0 * 0xD2511F53U;
                const uintD hi1 = mulHi(c2, 0xCD9E8D57U), lo1 = c2 * 0xCD9E8D57U;
                c0 = hi1 ^ c1 ^ k0;
                c1 = lo1;
                c2 = hi0 ^ c3 ^ k1;
                c3 = lo0;
                k0 += 0x9E3779B9U;
                k1 += 0xBB67AE85U;
            }
#if VW == 1
            x[0] = normalApprox(c0);
            x[1] = normalApprox(c1);
            x[2] = normalApprox(c2);
            x[3] = normalApprox(c3);
#else
            const floatD n0 = normalApprox(c0), n1 = normalApprox(c1), n2 = normalApprox(c2), n3 = normalApprox(c3);
            /* even and odd are the lanes' places: 0 2 0 2 .. and 1 3 1 3 .. first */
            float16 e, o, f, p;
            e.even = n0.lo;
            e.odd = n2.lo;
            o.even = n1.lo;
            o.odd = n3.lo;
            f.even = n0.hi;
            f.odd = n2.hi;
            p.even = n1.hi;
            p.odd = n3.hi;
            x[0].even = e.lo;
            x[0].odd = o.lo;
            x[1].even = e.hi;
            x[1].odd = o.hi;
            x[2].even = f.lo;
            x[2].odd = p.lo;
            x[3].even = f.hi;
            x[3].odd = p.hi;
#endif
        }
        UNROLL
        for (int k = 0; k < 4; k++) {
            const int w = 4 * g + k * DW;
            if (w < n) {
                drawEnds(lo + at + w, hi + at + w, cLo + w, cHi + w, unit + w, gamma[b], x[k], n - w);
            }
        }
    }
}
