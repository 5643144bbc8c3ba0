/* relaxrows: rows over activated neurons z to rows over pre-activations
   (bound.RelaxRows, docs/theory.md, section 10.4).

   Purpose. For item p, row r, neuron j, with coefficient s in [sLo, sHi]:
     outA[p][j][r] = coefficient * slope    slope and intercept of the lower line if
     outC[p][r]    = down(constant + sum_j (coefficient * intercept + chord) - charges)
   coefficient >= 0, else of the upper line; the coefficient is sLo where z_j >= 0,
   sHi where z_j <= 0, and that of the chord of min(sLo z, sHi z) otherwise.
   Mirrored: rows cols .. 2 cols - 1 are rows 0 .. cols - 1 negated, that is
   s = [-sHi, -sLo] and constant -cHi.

   Decomposition. A work-item owns one vector of rows of one item and walks over
   the neurons: task t = p * rowTiles + tile. With mirrored, tiles are those of
   rows 0 .. cols - 1 and then those of the mirrored rows, so that a vector never
   holds both: rowTiles = 2 ceil(cols / VW).
   On GPUs, where such tasks are few and neurons many, a work-item of relaxblocks owns
   one block of the sums, task t = (p * blocks + b) * rowTiles + tile, and leaves them in
   sumC, sumCharge [p][b][rows] and size [p][b]; one of relaxsums adds a row's up.

   Index formulas: s[(p / perBox * neurons + j) * cols + r],
   a[(p * neurons + j) * rows + r], z, lines, err, mag [p * neurons + j].

   Assumptions: zLo <= zHi; sure promises zLo >= 0 or sLo = sHi, so that no chord is taken, and
   then sHi is read only for the mirrored rows.
   Go: fallback/relaxrows.go. */

#pragma OPENCL FP_CONTRACT OFF

/* chord sets a z + b below min(sLo z, sHi z) on [zLo, zHi], zLo < 0; proof in Go. */
INLINE void chord(vec *a, vec *b, vec sLo, vec sHi, real zLo, real zHi, vec recip) {
    if (zHi <= R(0.0)) {
        *a = sHi;
        *b = VEC(R(0.0));
        return;
    }
    const vec m = (sLo * zHi - sHi * zLo) * recip;
    *a = m > sHi ? sHi : (m >= sLo ? m : sLo); /* the nearer end; sLo for NaN */
    const vec atLo = down(up(sHi - *a) * zLo), atHi = down(down(sLo - *a) * zHi);
    *b = leastNaN(atLo, atHi); /* down never gives -0 */
}

/* relaxBlock is what neurons j0 .. end - 1, a block, add to a row's constant and to its
   charges, and to the sum of max|z| and mag, for products that underflow. */
INLINE void relaxBlock(vec *blockC, vec *blockCharge, real *blockSize, __global real *outA, const __global real *sLo,
                       const __global real *sHi, const __global real *zLo, const __global real *zHi,
                       const __global real *aLo, const __global real *bLo, const __global real *aHi,
                       const __global real *bHi, const __global real *err, const __global real *mag,
                       real chordRel, int negated, int sure, int j0, int end, size_t first, size_t s0, int cols,
                       int rows, int row, int n) {
    vec c = VEC(R(0.0)), charge = VEC(R(0.0));
    real size = R(0.0);
    for (int j = j0; j < end; j++) {
        const size_t i = first + j, at = s0 + (size_t)j * cols;
        const real l = zLo[i], h = zHi[i];
        size += mostNaN1(-l, h) + mag[i];
        const int mixed = !sure && !(l >= R(0.0));
        vec coefficient = negated ? -VLOAD(sHi + at) : VLOAD(sLo + at), icpt;
        if (mixed) {
            const vec other = negated ? -VLOAD(sLo + at) : VLOAD(sHi + at);
            chord(&coefficient, &icpt, coefficient, other, l, h, recipApprox(VEC(h - l)));
        }
        const vec slope = coefficient >= R(0.0) ? VEC(aLo[i]) : VEC(aHi[i]);
        const vec b = coefficient >= R(0.0) ? VEC(bLo[i]) : VEC(bHi[i]);
        storeUpTo(coefficient * slope, outA + i * rows + row, n);
        if (mixed) {
            c += coefficient * b + icpt;
            charge += fabs(coefficient) * err[i] + fabs(icpt) * chordRel;
        } else {
            c += coefficient * b;
            charge += fabs(coefficient) * err[i];
        }
    }
    *blockC = c;
    *blockCharge = charge;
    *blockSize = size;
}

/* relaxed is a row's constant, from offset and the sums over the neurons. */
INLINE vec relaxed(vec offset, vec c, vec charge, real size, real rel, real under, real abs_) {
    return down(down(offset + c) - up(up(up(charge * rel) + up1(size * under)) + abs_));
}

KERNEL void relaxrows(__global real *outA, __global real *outC, const __global real *sLo,
                      const __global real *sHi, const __global real *cLo, const __global real *cHi,
                      const __global real *zLo, const __global real *zHi, const __global real *aLo,
                      const __global real *bLo, const __global real *aHi, const __global real *bHi,
                      const __global real *err, const __global real *mag, const real rel, const real chordRel,
                      const real under, const real abs_, const int mirrored, const int sure,
                      const int perBox, const int cols, const int neurons,
                      const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int colTiles = (cols + VW - 1) / VW, rowTiles = mirrored ? 2 * colTiles : colTiles;
    const int rows = mirrored ? 2 * cols : cols;
    const size_t p = quotient(t, rowTiles), box = quotient(p, perBox);
    const int tile = (int)modulo(t, rowTiles), negated = tile >= colTiles;
    const int col = (negated ? tile - colTiles : tile) * VW, row = negated ? cols + col : col, n = cols - col;
    const size_t first = p * neurons, s0 = box * neurons * cols + col;
    vec c = VEC(R(0.0)), charge = VEC(R(0.0));
    real size = R(0.0);
    for (int j0 = 0; j0 < neurons; j0 += BLOCK) {
        vec blockC, blockCharge;
        real blockSize;
        relaxBlock(&blockC, &blockCharge, &blockSize, outA, sLo, sHi, zLo, zHi, aLo, bLo, aHi, bHi, err, mag, chordRel,
                   negated, sure, j0, min(j0 + BLOCK, neurons), first, s0, cols, rows, row, n);
        c += blockC;
        charge += blockCharge;
        size += blockSize;
    }
    const vec offset = negated ? -VLOAD(cHi + box * cols + col) : VLOAD(cLo + box * cols + col);
    storeUpTo(relaxed(offset, c, charge, size, rel, under, abs_), outC + p * rows + row, n);
}

#if VW == 1

KERNEL void relaxblocks(__global real *outA, __global real *sumC, __global real *sumCharge, __global real *size,
                        const __global real *sLo, const __global real *sHi, const __global real *zLo,
                        const __global real *zHi, const __global real *aLo, const __global real *bLo,
                        const __global real *aHi, const __global real *bHi, const __global real *err,
                        const __global real *mag, const real chordRel, const int mirrored, const int sure,
                        const int perBox, const int cols, const int neurons, const int blocks,
                        const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int rows = mirrored ? 2 * cols : cols, row = (int)modulo(t, rows), negated = row >= cols;
    const size_t block = quotient(t, rows), p = quotient(block, blocks), box = quotient(p, perBox);
    const int col = negated ? row - cols : row, j0 = (int)modulo(block, blocks) * BLOCK;
    vec blockC, blockCharge;
    real blockSize;
    relaxBlock(&blockC, &blockCharge, &blockSize, outA, sLo, sHi, zLo, zHi, aLo, bLo, aHi, bHi, err, mag, chordRel,
               negated, sure, j0, min(j0 + BLOCK, neurons), p * neurons, box * neurons * cols + col, cols, rows, row, 1);
    sumC[t] = blockC;
    sumCharge[t] = blockCharge;
    if (row == 0) {
        size[block] = blockSize;
    }
}

KERNEL void relaxsums(__global real *outC, const __global real *sumC, const __global real *sumCharge,
                      const __global real *size, const __global real *cLo, const __global real *cHi,
                      const real rel, const real under, const real abs_, const int mirrored,
                      const int perBox, const int cols, const int blocks,
                      const uint tasks, __global uint *receipts, const uint receipt) {
    TASK(t, tasks)
    const int rows = mirrored ? 2 * cols : cols, row = (int)modulo(t, rows);
    const size_t p = quotient(t, rows), box = quotient(p, perBox) * cols, from = p * blocks * rows + row;
    real c = R(0.0), charge = R(0.0), total = R(0.0);
    for (int b = 0; b < blocks; b++) {
        c += sumC[from + (size_t)b * rows];
        charge += sumCharge[from + (size_t)b * rows];
        total += size[p * blocks + b];
    }
    outC[t] = relaxed(row >= cols ? -cHi[box + row - cols] : cLo[box + row], c, charge, total, rel, under, abs_);
}

#endif
