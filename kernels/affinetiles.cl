/* affinetiles: affine for many items of a weight box, in local memory.

   Purpose. The same numbers as affineshared (affine.cl says what they are, and why
   the smaller product may be chosen by a sign), for GPUs and where tiles are well
   filled; gpu/tiles.go chooses.

   Decomposition. A work-group owns SIDE items of one weight box and SIDE outputs
   (tiles.cl):
     task t = (box * groups + group) * tiles + tile
     items   p = box * perBox + group * SIDE + y + GROUP_Y u, kept below
             (box+1) * perBox and P
     outputs i = tile * SIDE + x + GROUP_X v, kept below out
   y = number / GROUP_X and x = number % GROUP_X of the work-item, u < MICRO_Y,
   v < MICRO_X.
   Weights of a stage are columns, inputs rows, lower and upper ends of both are
   staged. Each work-item adds up the sums of max|w| of its outputs for itself. The
   largest max|z| of a block and item is found by four work-items, each looking at
   every fourth input of the staged rows.

   Counts, for a term (one j, item and output: 2 multiply-adds) of a full tile:
                               affineshared            affinetiles
     global loads              (2 + 2 TI) / TI = 2.5   4 SIDE / SIDE^2 = 0.125
     local loads               none                    (2 MICRO_X + 2 MICRO_Y) / RESULTS = 1.5
     sums in registers         5 TI = 20               5 RESULTS = 40
   with 7 operations of arithmetic a term if nonNeg, 13 if not (4 products, 6 times min
   or max, 2 sums and a share of norm). What compilers make of it: make gpucode. The loads of z
   by affineshared are the same for all work-items, so they cost an instruction each
   but little bandwidth.
   Local memory: 2 SIDE PITCH + 2 STAGE SIDE + GROUP numbers, 8.8 KiB in float,
   9.5 KiB in double, of the 32 KiB that OpenCL 1.2 promises.

   Index formulas: w[(b * in + j) * out + i], z[x * in + j], pre[p * out + i].

   Assumptions: those of affine. */

#pragma OPENCL FP_CONTRACT OFF

#if VW == 1

/* affineLocal are the staged parts of the operands, and what the work-items found
   of the largest inputs. */
#define AFFINE_LOCAL                                                              \
    __local real *aLo, __local real *aHi, __local real *yLo, __local real *yHi,   \
    __local real *largest

/* affineStage computes with one stage: l, h and norm grow by its terms. */
INLINE void affineStage(const int NONNEG, real *l, real *h, real *norm, const __local real *aLo,
                        const __local real *aHi, const __local real *yLo, const __local real *yHi) {
    const int x = (int)get_local_id(0) % GROUP_X, y = (int)get_local_id(0) / GROUP_X;
    UNROLL_SOME
    for (int j = 0; j < STAGE; j++) {
        real a[MICRO_X], b[MICRO_X];
        UNROLL
        for (int v = 0; v < MICRO_X; v++) {
            a[v] = aLo[j * SIDE + x + GROUP_X * v];
            b[v] = aHi[j * SIDE + x + GROUP_X * v];
            norm[v] += most(-a[v], b[v]);
        }
        UNROLL
        for (int u = 0; u < MICRO_Y; u++) {
            const real zl = yLo[(y + GROUP_Y * u) * PITCH + j], zh = yHi[(y + GROUP_Y * u) * PITCH + j];
            UNROLL
            for (int v = 0; v < MICRO_X; v++) {
                if (NONNEG) {
                    l[u * MICRO_X + v] += a[v] * (a[v] >= R(0.0) ? zl : zh);
                    h[u * MICRO_X + v] += b[v] * (b[v] >= R(0.0) ? zh : zl);
                } else {
                    l[u * MICRO_X + v] += min4(a[v], b[v], zl, zh);
                    h[u * MICRO_X + v] += max4(a[v], b[v], zl, zh);
                }
            }
        }
    }
}

/* stageMax is the work-item's share of blockMax in one stage, or m. */
INLINE real stageMax(real m, const __local real *yLo, const __local real *yHi) {
    const int at = (int)get_local_id(0) % SIDE * PITCH;
    UNROLL
    for (int k = 0; k < COPIES; k++) {
        const int j = stagedPlace(k);
        m = mostNaN1(m, mostNaN1(-yLo[at + j], yHi[at + j]));
    }
    return m;
}

/* affineClose adds a block to the sums and clears it. */
INLINE void affineClose(real *lo, real *hi, real *m, real *l, real *h, real *norm, const __local real *largest) {
    const int y = (int)get_local_id(0) / GROUP_X;
    UNROLL
    for (int u = 0; u < MICRO_Y; u++) {
        real zMax = largest[y + GROUP_Y * u];
        UNROLL
        for (int k = 1; k < GROUP / SIDE; k++) {
            zMax = mostNaN1(zMax, largest[k * SIDE + y + GROUP_Y * u]);
        }
        UNROLL
        for (int v = 0; v < MICRO_X; v++) {
            const int k = u * MICRO_X + v;
            lo[k] += l[k];
            hi[k] += h[k];
            m[k] += norm[v] * zMax;
            l[k] = h[k] = R(0.0);
        }
    }
    UNROLL
    for (int v = 0; v < MICRO_X; v++) {
        norm[v] = R(0.0);
    }
}

/* affineGroup is a task with NONNEG known to the compiler. */
INLINE void affineGroup(const int NONNEG, const size_t t, AFFINE_LOCAL, AFFINE_ARGS) {
    const int me = (int)get_local_id(0), x = me % GROUP_X, y = me / GROUP_X;
    const int tiles = (out + SIDE - 1) / SIDE, groups = (perBox + SIDE - 1) / SIDE;
    const int i0 = (int)modulo(t, tiles) * SIDE, group = (int)modulo(quotient(t, tiles), groups);
    const size_t box = quotient(quotient(t, tiles), groups);
    const int p0 = (int)(box * perBox) + group * SIDE;
    const int pEnd = (int)min((size_t)items, (box + 1) * perBox);
    uint row[COPIES];
    UNROLL
    for (int k = 0; k < COPIES; k++) {
        row[k] = (uint)modulo(min(p0 + stagedRow(k), pEnd - 1), inputs) * in;
    }
    const size_t w = box * in * out;
    const uint column = min(i0 + me % SIDE, out - 1);
    real lo[RESULTS], hi[RESULTS], m[RESULTS];
    real l[RESULTS], h[RESULTS], norm[MICRO_X], zMax = R(0.0);
    UNROLL
    for (int k = 0; k < RESULTS; k++) {
        lo[k] = hi[k] = m[k] = l[k] = h[k] = norm[k % MICRO_X] = R(0.0);
    }
    for (int j0 = 0; j0 < in; j0 += STAGE) {
        const int n = min(STAGE, in - j0), closes = j0 % BLOCK + STAGE == BLOCK || j0 + n == in;
        real copy[4][COPIES];
        loadColumns(copy[0], wLo + w + (size_t)j0 * out, column, out, n);
        loadColumns(copy[1], wHi + w + (size_t)j0 * out, column, out, n);
        loadRows(copy[2], zLo + j0, row, n);
        loadRows(copy[3], zHi + j0, row, n);
        storeColumns(aLo, copy[0]);
        storeColumns(aHi, copy[1]);
        storeRows(yLo, copy[2]);
        storeRows(yHi, copy[3]);
        barrier(CLK_LOCAL_MEM_FENCE); /* the stage is there */
        affineStage(NONNEG, l, h, norm, aLo, aHi, yLo, yHi);
        zMax = stageMax(zMax, yLo, yHi);
        if (closes) {
            largest[me] = zMax;
            zMax = R(0.0);
        }
        barrier(CLK_LOCAL_MEM_FENCE); /* the stage is done with, and largest is there */
        if (closes) {
            affineClose(lo, hi, m, l, h, norm, largest); /* largest changes after the next barrier */
        }
    }
    UNROLL
    for (int k = 0; k < RESULTS; k++) {
        const int p = p0 + y + GROUP_Y * (k / MICRO_X), i = i0 + x + GROUP_X * (k % MICRO_X);
        const int rest = p < pEnd ? out - i : 0;
        const size_t at = min(i, out - 1), o = (size_t)min(p, pEnd - 1) * out + at;
        affineFinish(preLo + o, preHi + o, mag + o, bLo + box * out + at, bHi + box * out + at, lo[k], hi[k], m[k],
                     pushRel, pushAbs, magRel, magAbs, rest);
    }
}

TILED_KERNEL void affinetiles(AFFINE_ARGS, const uint tasks, __global uint *receipts, const uint receipt) {
    __local real aLo[STAGE * SIDE], aHi[STAGE * SIDE], yLo[SIDE * PITCH], yHi[SIDE * PITCH], largest[GROUP];
    TILE(t)
    if (nonNeg) {
        affineGroup(1, t, aLo, aHi, yLo, yHi, largest, AFFINE_PASS);
    } else {
        affineGroup(0, t, aLo, aHi, yLo, yHi, largest, AFFINE_PASS);
    }
}

#endif
