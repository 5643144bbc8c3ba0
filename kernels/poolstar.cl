/* poolstar: the star of each window of a max pool (bound.PoolStar).

   Purpose. slot = the place in members[unit] of the member with the largest lo + hi, the first of
   several; unit = that member. NaN counts as -Inf, places of -1 as none.

   Decomposition. A task is VW units of an item: p = t / runs, u = t % runs * VW + lane. Members
   lie anywhere, so lanes are loaded one by one; those beyond the last unit repeat it.

   Assumptions: members are whole numbers >= -1 and below n. Go: fallback/poolstar.go. */

#pragma OPENCL FP_CONTRACT OFF

/* pick loads a number for each lane. */
INLINE vec pick(const __global real *from, const size_t *at) {
#if VW == 1
    return from[at[0]];
#else
    real lane[VW];
    for (int k = 0; k < VW; k++) {
        lane[k] = from[at[k]];
    }
    return JOIN(vload, VW)(0, lane);
#endif
}

/* memberPlace gives each lane's member in a place of its window, -1 for none, and where the
   numbers of that member are, those of member 0 for none. */
INLINE vec memberPlace(size_t *at, const __global real *members, const size_t *window, const int place, const size_t item) {
    real lane[VW];
    UNROLL
    for (int k = 0; k < VW; k++) {
        lane[k] = members[window[k] + place];
        at[k] = item + (size_t)(lane[k] >= R(0.0) ? (int)lane[k] : 0);
    }
#if VW == 1
    return lane[0];
#else
    return JOIN(vload, VW)(0, lane);
#endif
}

/* windowsOf gives each lane's first place in the list of members. */
INLINE void windowsOf(size_t *window, const int u0, const int units, const int length) {
    UNROLL
    for (int k = 0; k < VW; k++) {
        window[k] = (size_t)min(u0 + k, units - 1) * length;
    }
}

KERNEL void poolstar(__global real *slot, __global real *unit, const __global real *lo, const __global real *hi,
                     const __global real *members, const int n, const int units, const int window,
                     const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const size_t runs = (units + VW - 1) / VW, p = quotient(t, runs);
    const int u0 = (int)modulo(t, runs) * VW;
    size_t first[VW], at[VW];
    windowsOf(first, u0, units, window);
    vec star = VEC(R(-1.0)), member = VEC(R(-1.0)), greatest = VEC(-INFINITE);
    for (int s = 0; s < window; s++) {
        const vec j = memberPlace(at, members, first, s, p * n);
        const vec middle = pick(lo, at) + pick(hi, at);
        const mask larger = middle > greatest;
        const mask take = (j >= R(0.0)) & ((star < R(0.0)) | larger);
        star = take ? VEC((real)s) : star;
        member = take ? j : member;
        greatest = (take & larger) ? middle : greatest;
    }
    storeUpTo(star < R(0.0) ? VEC(R(0.0)) : star, slot + p * units + u0, units - u0);
    storeUpTo(member, unit + p * units + u0, units - u0);
}
