/* backtiles: backsubstitute for many rows and items of a weight box, in local memory.

   Purpose. The same numbers as backsubstitute (backsubstitute.cl says what they
   are), for GPUs and where tiles are well filled; gpu/tiles.go chooses.

   Decomposition. A work-group owns SIDE columns, which are rows of all items of one
   weight box one after another, and SIDE inputs (tiles.cl):
     task t = (box * jTiles + jTile) * chunks + chunk
     columns  q = chunk * SIDE + y + GROUP_Y u of the box: item box * perBox + q / rows,
              row q % rows; those beyond the box's items repeat the last
     inputs   j = jTile * SIDE + x + GROUP_X v, kept below in
   y = number / GROUP_X and x = number % GROUP_X of the work-item, u < MICRO_Y,
   v < MICRO_X.
   Coefficients of a stage are columns, weights rows: lower and upper ends of SIDE
   inputs, and in the groups of jTile 0 the biases as row SIDE. There the first SIDE
   work-items also compute c, of a column each, from the coefficients that are staged
   anyway.

   Counts, for a term (one i, column and input: 1 multiply-add, 2 with wantHi) of a
   full tile:
                               backsubstitute          backtiles
     global loads              (1 + 2 TJ) / TJ = 2.25  3 SIDE / SIDE^2 = 0.094
     local loads               none                    (MICRO_Y + 2 MICRO_X) / RESULTS = 1
     sums in registers         8; 16 with wantHi       16; 32 with wantHi
   with about 3 operations of arithmetic a term, 6 with wantHi. The weights that
   backsubstitute loads are the same for all work-items beside each other, so they
   cost an instruction each but little bandwidth.
   Local memory: 2 (SIDE + 1) PITCH + STAGE SIDE numbers, 6.4 KiB in float, 6.7 KiB in
   double, of the 32 KiB that OpenCL 1.2 promises.

   Index formulas: a[(p * out + i) * rows + r], w[(b * in + j) * out + i],
   s[(p * in + j) * rows + r].

   Assumptions: those of backsubstitute. A work-item skips an i where its
   coefficients are all 0; those of 32 work-items are 8 columns, so dead
   neurons cost next to nothing where an item has many rows. */

#pragma OPENCL FP_CONTRACT OFF

#if VW == 1

/* backStage computes with one stage: l and h grow by its terms. HI says whether h is
   wanted. */
INLINE void backStage(const int HI, real *l, real *h, const __local real *v, const __local real *wl,
                      const __local real *wh) {
    const int x = (int)get_local_id(0) % GROUP_X, y = (int)get_local_id(0) / GROUP_X;
    UNROLL_SOME
    for (int i = 0; i < STAGE; i++) {
        real a[MICRO_Y];
        int live = 0;
        UNROLL
        for (int u = 0; u < MICRO_Y; u++) {
            a[u] = v[i * SIDE + y + GROUP_Y * u];
            live |= a[u] != R(0.0);
        }
        if (!live) {
            continue;
        }
        UNROLL
        for (int k = 0; k < MICRO_X; k++) {
            const real lo = wl[(x + GROUP_X * k) * PITCH + i], hi = wh[(x + GROUP_X * k) * PITCH + i];
            UNROLL
            for (int u = 0; u < MICRO_Y; u++) {
                l[u * MICRO_X + k] += a[u] * (a[u] >= R(0.0) ? lo : hi);
                if (HI) {
                    h[u * MICRO_X + k] += a[u] * (a[u] >= R(0.0) ? hi : lo);
                }
            }
        }
    }
}

/* biasStage is the sum of c's terms of one stage for the work-item's column, after
   sum; the biases lie behind the weights. */
INLINE real biasStage(real sum, const __local real *v, const __local real *wl, const __local real *wh, int n) {
    for (int i = 0; i < n; i++) {
        const real a = v[i * SIDE + get_local_id(0)];
        sum += a * (a >= R(0.0) ? wl[SIDE * PITCH + i] : wh[SIDE * PITCH + i]);
    }
    return sum;
}

/* stageBias puts n biases behind the weights. */
INLINE void stageBias(__local real *wl, __local real *wh, const __global real *bLo, const __global real *bHi, int n) {
    const int i = (int)get_local_id(0);
    if (i < n) {
        wl[SIDE * PITCH + i] = bLo[i];
        wh[SIDE * PITCH + i] = bHi[i];
    }
}

/* backStore stores the work-item's results: columns q0.. of those of a box, whose
   first item is p0, inputs j0.. Columns are numbered in 32 bits (gpu/tiles.go). */
INLINE void backStore(const int HI, __global real *sLo, __global real *sHi, const real *lo, const real *hi,
                      size_t p0, uint q0, uint columns, int j0, int rows, int in) {
    const int x = (int)get_local_id(0) % GROUP_X, y = (int)get_local_id(0) / GROUP_X;
    UNROLL
    for (int u = 0; u < MICRO_Y; u++) {
        const uint q = q0 + y + GROUP_Y * u, item = q / (uint)rows, r = q - item * rows;
        const size_t at = (p0 + item) * in * rows + r;
        UNROLL
        for (int k = 0; k < MICRO_X; k++) {
            const int j = j0 + x + GROUP_X * k;
            if (q < columns && j < in) {
                sLo[at + (size_t)j * rows] = lo[u * MICRO_X + k];
                if (HI) {
                    sHi[at + (size_t)j * rows] = hi[u * MICRO_X + k];
                }
            }
        }
    }
}

/* backGroup is a task with HI known to the compiler. */
INLINE void backGroup(const int HI, const size_t t, __local real *v, __local real *wl, __local real *wh, BACK_ARGS) {
    const int me = (int)get_local_id(0);
    const uint chunks = ((uint)perBox * rows + SIDE - 1) / SIDE;
    const int jTiles = (in + SIDE - 1) / SIDE, jTile = (int)modulo(quotient(t, chunks), jTiles);
    const size_t box = quotient(quotient(t, chunks), jTiles);
    const uint q0 = modulo(t, chunks) * SIDE;
    const uint columns = (uint)(min((size_t)items, (box + 1) * perBox) - box * perBox) * rows;
    uint row[COPIES];
    UNROLL
    for (int k = 0; k < COPIES; k++) {
        row[k] = (uint)min(jTile * SIDE + stagedRow(k), in - 1) * out;
    }
    const size_t w = box * in * out, b = box * out;
    /* the column that this work-item copies, and whose c it may compute */
    const uint q = min(q0 + me % SIDE, columns - 1), item = q / (uint)rows, r = q - item * rows;
    const size_t p = box * perBox + item;
    const __global real *from = a + p * out * rows + r;
    const int biased = jTile == 0 && me < SIDE;
    real lo[RESULTS], hi[RESULTS], l[RESULTS], h[RESULTS];
    real total = R(0.0), sum = R(0.0);
    UNROLL
    for (int k = 0; k < RESULTS; k++) {
        lo[k] = hi[k] = l[k] = h[k] = R(0.0);
    }
    for (int i0 = 0; i0 < out; i0 += STAGE) {
        const int n = min(STAGE, out - i0), closes = i0 % BLOCK + STAGE == BLOCK || i0 + n == out;
        real copy[3][COPIES];
        loadColumns(copy[0], from + (size_t)i0 * rows, 0, rows, n);
        loadRows(copy[1], wLo + w + i0, row, n);
        loadRows(copy[2], wHi + w + i0, row, n);
        storeColumns(v, copy[0]);
        storeRows(wl, copy[1]);
        storeRows(wh, copy[2]);
        if (jTile == 0) {
            stageBias(wl, wh, bLo + b + i0, bHi + b + i0, n);
        }
        barrier(CLK_LOCAL_MEM_FENCE); /* the stage is there */
        backStage(HI, l, h, v, wl, wh);
        if (biased) {
            sum = biasStage(sum, v, wl, wh, n);
        }
        barrier(CLK_LOCAL_MEM_FENCE); /* the stage is done with */
        if (closes) {
            UNROLL
            for (int k = 0; k < RESULTS; k++) {
                lo[k] += l[k];
                hi[k] += h[k];
                l[k] = h[k] = R(0.0);
            }
            total += sum;
            sum = R(0.0);
        }
    }
    if (biased && q0 + me < columns) {
        c[p * rows + r] = down(cIn[p * rows + r] + total);
    }
    backStore(HI, sLo, sHi, lo, hi, box * perBox, q0, columns, jTile * SIDE, rows, in);
}

#define BACK_PASS sLo, sHi, c, a, cIn, wLo, wHi, bLo, bHi, wantHi, items, perBox, rows, in, out

TILED_KERNEL void backtiles(BACK_ARGS, const uint tasks, __global uint *receipts, const uint receipt) {
    __local real v[STAGE * SIDE], wl[(SIDE + 1) * PITCH], wh[(SIDE + 1) * PITCH];
    TILE(t)
    if (wantHi) {
        backGroup(1, t, v, wl, wh, BACK_PASS);
    } else {
        backGroup(0, t, v, wl, wh, BACK_PASS);
    }
}

#endif
