/* poollines: bounds of the units of a max pool by their stars (bound.PoolLines,
   docs/theory.md, section 10.3).

   Purpose. With star = the member in place slot of the window, [l, u] its interval, c = the
   greatest of l and the upper ends of the others, delta = the greatest of 0 and -lead:
     y <= v <= s y + t, v in [vLo, vHi], s y + t in [aboveLo, ...], err as in relax;
     magnitude of the star and of s y + t, greatest radius of all.

   Decomposition. As poolstar.

   Assumptions: members as in poolstar; slots are places. Infinite and NaN ends become infinite
   bounds. Go: fallback/poollines.go. */

#pragma OPENCL FP_CONTRACT OFF

/* poolUpper: the line s y + t above min(max(y, c), y + delta) on [l, u]. */
INLINE void poolUpper(vec *s, vec *t, vec l, vec u, vec c, vec delta) {
    const vec zero = VEC(R(0.0)), one = VEC(R(1.0));
    vec a = (u - c) * recipApprox(u - l);
    a = ((a >= R(0.0)) & (a <= R(1.0))) ? a : one;
    a = a < MIN_SLOPE ? zero : a;
    vec b = mostNaN(up(c - down(a * l)), up(u - down(a * u))); /* up never gives -0 */
    const mask over = !(b <= LARGEST), flat = c >= u;
    a = (over | flat) ? zero : a;
    b = over ? VEC(INFINITE) : b;
    b = flat ? c : b;
    const mask finite = (l >= -LARGEST) & (u <= LARGEST) & (c <= LARGEST), exact = c <= l;
    a = finite ? a : zero;
    b = finite ? b : VEC(INFINITE);
    const vec middle = R(0.5) * l + R(0.5) * u;
    const mask nearer = (delta <= LARGEST) & (middle + delta < a * middle + b);
    a = nearer ? one : a;
    b = nearer ? delta : b;
    *s = (finite & exact) ? one : a;
    *t = (finite & exact) ? zero : b;
}

KERNEL void poollines(__global real *aLo, __global real *bLo, __global real *aHi, __global real *bHi,
                      __global real *err, __global real *vLo, __global real *vHi,
                      __global real *aboveLo, __global real *aboveHi,
                      __global real *starLo, __global real *starHi,
                      __global real *magOut, __global real *radiusOut,
                      const __global real *lo, const __global real *hi, const __global real *mag,
                      const __global real *radius, const __global real *members,
                      const __global real *slot, const __global real *lead,
                      const int greatest, const int hasRadius, const int hasLead,
                      const real g1, const real g2,
                      const int n, const int units, const int window,
                      const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const size_t runs = (units + VW - 1) / VW, p = quotient(t, runs);
    const int u0 = (int)modulo(t, runs) * VW;
    const size_t to = p * units + u0;
    size_t first[VW], at[VW], own[VW];
    windowsOf(first, u0, units, window);
    UNROLL
    for (int k = 0; k < VW; k++) {
        own[k] = p * units + min(u0 + k, units - 1);
    }
    const vec star = pick(slot, own), unknown = VEC(INFINITE);
    vec l = -unknown, u = unknown, m = unknown;
    for (int s = 0; s < window; s++) {
        const vec j = memberPlace(at, members, first, s, p * n);
        const mask is = (j >= R(0.0)) & (star == (real)s);
        l = is ? lower(pick(lo, at)) : l;
        u = is ? upper(pick(hi, at)) : u;
        m = is ? pick(mag, at) : m;
    }
    vec c = l, floor_ = l, delta = VEC(R(0.0)), r = VEC(R(0.0));
    for (int s = 0; s < window; s++) {
        const vec j = memberPlace(at, members, first, s, p * n);
        const mask member = j >= R(0.0), other = member & (star != (real)s);
        c = other ? goMax(c, upper(pick(hi, at))) : c;
        floor_ = other ? goMax(floor_, lower(pick(lo, at))) : floor_;
        if (hasRadius) {
            r = member ? goMax(r, pick(radius, at)) : r;
        }
        if (hasLead) {
            UNROLL
            for (int k = 0; k < VW; k++) {
                at[k] = own[k] * window + s;
            }
            delta = other ? goMax(delta, upper(-pick(lead, at))) : delta;
        }
    }
    delta = hasLead ? delta : unknown;
    vec slope, b;
    poolUpper(&slope, &b, l, u, c, delta);
    const vec h = goMin(goMax(u, c), upper(up(u + delta)));
    const mask same = (slope == R(1.0)) & (b == R(0.0));
    const vec above = same ? l : lower(down(down(slope * l) + b));
    storeUpTo(VEC(R(1.0)), aLo + to, units - u0);
    storeUpTo(VEC(R(0.0)), bLo + to, units - u0);
    storeUpTo(slope, aHi + to, units - u0);
    storeUpTo(b, bHi + to, units - u0);
    storeUpTo(up(up(g1 * fabs(b)) + up(g2 * m)), err + to, units - u0);
    storeUpTo(greatest ? floor_ : l, vLo + to, units - u0);
    storeUpTo(h, vHi + to, units - u0);
    storeUpTo(goMin(above, h), aboveLo + to, units - u0);
    storeUpTo(h, aboveHi + to, units - u0);
    storeUpTo(l, starLo + to, units - u0);
    storeUpTo(u, starHi + to, units - u0);
    storeUpTo(upper(up(m + fabs(b))), magOut + to, units - u0);
    if (hasRadius) {
        storeUpTo(r, radiusOut + to, units - u0);
    }
}
