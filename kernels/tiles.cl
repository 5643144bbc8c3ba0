/* tiles: what the kernels have in common whose work-groups share local memory
   (affinetiles, backtiles): programs of one lane, that is of GPUs, only. On a CPU
   local memory is memory like any other, and the register tiles of affineshared
   and backsubstitute keep what they share in the first-level cache.

   Both kernels are products of matrices with another multiplication. A work-group
   owns SIDE x SIDE results, a work-item MICRO x MICRO of them with the sums in
   registers: work-item (y, x) has those at y + BESIDE u and x + BESIDE v. The index
   of summation goes in stages of STAGE: the group copies both operands' part of a
   stage to local memory, waits, computes, waits. A block of the order of summation
   is two stages, so sums are closed after every second stage, and the bits are
   those of the register tiles.

   Nobody leaves before the last barrier. A task is a whole work-group, the launch
   has no others, and indices beyond the problem are moved back into it: such
   work-items load, compute and wait as all do, and only do not store.

   Local memory: an operand of which the sum's index is contiguous ("rows": inputs z
   of affine, weights of back-substitution) lies as [SIDE][PITCH], the other
   ("columns") as [STAGE][SIDE], as in global memory, so that work-items beside each
   other read and write numbers beside each other in both. With banks of 4 bytes, 32
   of them, and 32 work-items (y = 4 following values, x = all 8) at a time:
     columns  read at x + 8v or y + 8u: 8 or 4 following addresses; written at 32 following
     rows     read at 17 x or 17 y: 8 or 4 multiples of 17, which differ mod 32;
              written at twice 16 following, of which two meet in one bank
   Equal addresses are one access. With PITCH 16 = STAGE the rows would begin in two
   banks, and up to four reads meet in one.

   Why 64 work-items and 32 x 32 results: a work-item with 4 x 4 results of affine
   has 80 sums, about 110 numbers in all, so float needs as many registers and double
   twice that, of the 255 or 256 that GPUs give to a work-item; 8 x 4 would not fit
   in double. More work-items, 16 x 16 with 64 x 64 results, would halve the
   loads from global memory, which are no longer what limits, but layers of some
   hundred neurons for some hundred items are a few dozen tiles of 32 x 32, and a
   quarter of that would leave most of a GPU without work. */

#pragma OPENCL FP_CONTRACT OFF

#if VW == 1

/* GROUP is the number of work-items of a work-group, whatever LOCAL is. */
#define GROUP 64
#define SIDE 32
#define BESIDE 8
#define MICRO 4
#define STAGE 16
#define PITCH 17
#if BESIDE * BESIDE != GROUP || BESIDE * MICRO != SIDE || BLOCK % STAGE != 0 || PITCH <= STAGE
#error "tiles do not fit together"
#endif
#define TILED_KERNEL __kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))

/* TILE names the group's task; see TASK. */
#define TILE(t)                                               \
    RECEIPT                                                   \
    const size_t t = get_group_id(0);

/* Each work-item copies COPIES numbers of an operand and stage. */
#define COPIES (SIDE * STAGE / GROUP)

/* stagedRow is which row's number a work-item copies k-th. */
INLINE int stagedRow(int k) { return (int)get_local_id(0) / STAGE + k * (GROUP / STAGE); }

/* stageRows copies n <= STAGE numbers of each row: row[k] is the place among
   from's rows, which are length apart, of row stagedRow(k) of the tile. */
INLINE void stageRows(__local real *to, const __global real *from, const int *row, size_t length, int n) {
    const int j = (int)get_local_id(0) % STAGE;
    UNROLL
    for (int k = 0; k < COPIES; k++) {
        if (j < n) {
            to[stagedRow(k) * PITCH + j] = from[row[k] * length + j];
        }
    }
}

/* stageColumns copies n <= STAGE numbers of each column; from is where the
   column of the work-item, its number % SIDE, begins, and stride what is between
   its numbers. */
INLINE void stageColumns(__local real *to, const __global real *from, size_t stride, int n) {
    const int me = (int)get_local_id(0);
    UNROLL
    for (int k = 0; k < COPIES; k++) {
        const int j = me / SIDE + k * (GROUP / SIDE);
        if (j < n) {
            to[j * SIDE + me % SIDE] = from[j * stride];
        }
    }
}

#endif
