/* tiles: what the kernels have in common whose work-groups share local memory
   (affinetiles, backtiles): programs of one lane, that is of GPUs, only. On a CPU
   local memory is memory like any other, and the register tiles of affineshared
   and backsubstitute keep what they share in the first-level cache.

   Both kernels are products of matrices with another multiplication. A work-group
   owns SIDE x SIDE results, a work-item MICRO_Y x MICRO_X of them with the sums in
   registers: work-item (y, x) has those at y + GROUP_Y u and x + GROUP_X v. The index
   of summation goes in stages of STAGE: the group copies both operands' part of a
   stage to local memory, waits, computes, waits. A block of the order of summation
   is two stages (four in double), after which the sums are closed, and the bits are
   those of the register tiles.

   All of a stage's numbers are loaded before the first is stored, so that a work-item
   waits for global memory once a stage. Where the sum ends within a stage, zeros
   stand behind its end: their terms are zeros, which no sum that starts at +0 notices
   (round.cl, least), and the loop over a stage has a length that is known.

   Nobody leaves before the last barrier. A task is a whole work-group, the launch
   has no others, and indices beyond the problem are moved back into it: such
   work-items load, compute and wait as all do, and only do not store.

   Local memory: an operand of which the sum's index is contiguous ("rows": inputs z
   of affine, weights of back-substitution) lies as [SIDE][PITCH], the other
   ("columns") as [STAGE][SIDE], as in global memory, so that work-items beside each
   other read and write numbers beside each other in both. With banks of 4 bytes, 32
   of them, and 32 work-items (y = 2 following values, x = all 16) at a time:
     columns  read at x + 16 v or y + 8 u: 16 or 2 following addresses; written at 32 following
     rows     read at 17 x or 17 y: 16 or 2 multiples of 17, which differ mod 32;
              written at twice 16 following, of which two meet in one bank
   Equal addresses are one access. With PITCH 16 = STAGE the rows would begin in two
   banks, and up to eight reads meet in one.

   Why 128 work-items and 32 x 32 results: a work-item with 4 x 2 results of affine
   has 40 sums and takes 103 to 160 registers, so that two waves or three warps at least
   find room in each SIMD and wait for memory in turn (make gpucode counts them; only
   gfx900 in double has room for one). 4 x 4 results take a third fewer loads from local
   memory, which do not limit, and spilled registers. Stages are shorter in double, so
   that a group takes as much local memory as in float. Larger tiles, 64 x 64,
   would halve the loads from global memory, which limit neither, but layers of some
   hundred neurons for some hundred items are a few dozen tiles of 32 x 32, and a
   quarter of that would leave most of a GPU without work. */

#pragma OPENCL FP_CONTRACT OFF

#if VW == 1

/* GROUP is the number of work-items of a work-group, whatever LOCAL is. */
#define GROUP 128
#define SIDE 32
#define GROUP_X 16
#define GROUP_Y 8
#define MICRO_X 2
#define MICRO_Y 4
#define RESULTS (MICRO_Y * MICRO_X)
#ifdef REAL64
#define STAGE 8
#define PITCH 9
#else
#define STAGE 16
#define PITCH 17
#endif
#if GROUP_X * GROUP_Y != GROUP || GROUP_X * MICRO_X != SIDE || GROUP_Y * MICRO_Y != SIDE || BLOCK % STAGE != 0 || PITCH <= STAGE
#error "tiles do not fit together"
#endif
#define TILED_KERNEL __kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))

/* TILE names the group's task; see TASK. */
#define TILE(t)                                               \
    RECEIPT                                                   \
    const size_t t = (uint)get_group_id(0);

/* Each work-item copies COPIES numbers of an operand and stage. */
#define COPIES (SIDE * STAGE / GROUP)

/* stagedRow is which row's number a work-item copies k-th, stagedPlace which place of
   a column's. */
INLINE int stagedRow(int k) { return (int)get_local_id(0) / STAGE + k * (GROUP / STAGE); }
INLINE int stagedPlace(int k) { return (int)get_local_id(0) / SIDE + k * (GROUP / SIDE); }

/* loadRows loads what the work-item copies of n <= STAGE numbers of each row: row
   stagedRow(k) of the tile begins at from + row[k]. Places within the inputs and within
   the weights of a box are numbered in 32 bits (gpu/tiles.go), which saves registers. */
INLINE void loadRows(real *copy, const __global real *from, const uint *row, int n) {
    const int j = (int)get_local_id(0) % STAGE;
    UNROLL
    for (int k = 0; k < COPIES; k++) {
        const real x = from[row[k] + min(j, n - 1)];
        copy[k] = j < n ? x : R(0.0);
    }
}

/* loadColumns loads what it copies of n <= STAGE numbers of each column; the column
   of the work-item, its number % SIDE, begins at from + column, and stride what is between
   its numbers. */
INLINE void loadColumns(real *copy, const __global real *from, uint column, uint stride, int n) {
    UNROLL
    for (int k = 0; k < COPIES; k++) {
        const int j = stagedPlace(k);
        const real x = from[column + min(j, n - 1) * stride];
        copy[k] = j < n ? x : R(0.0);
    }
}

/* storeRows and storeColumns put the copies into local memory. */
INLINE void storeRows(__local real *to, const real *copy) {
    UNROLL
    for (int k = 0; k < COPIES; k++) {
        to[stagedRow(k) * PITCH + (int)get_local_id(0) % STAGE] = copy[k];
    }
}
INLINE void storeColumns(__local real *to, const real *copy) {
    UNROLL
    for (int k = 0; k < COPIES; k++) {
        to[stagedPlace(k) * SIDE + (int)get_local_id(0) % SIDE] = copy[k];
    }
}

#endif
