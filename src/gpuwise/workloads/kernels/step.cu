// One decoding step of a language model for one sequence as a single persistent kernel, for Hopper (sm_90).
//
// Launch: one block per multiprocessor, all resident at once, since blocks wait for each other. A block has 16 worker
// warps, a loader, of which a single thread works, a finisher of tiles and two preparers of wide inputs.
// `kernels.decode.WholeStep` builds the table of phases and launches.
//
// Phases: each matrix product (with the norm of its input, its gate or its residual sum) and each attention is a phase.
// Its tiles are assigned to the blocks round-robin: of a product 16 rows of weights (with a gate 8 of each half), of attention
// one part of one head's cache. All blocks go through all phases in the same order.
//
// Loading: weights and cache do not depend on earlier phases. So the loader copies them by TMA (bulk tensor copies) into
// a ring of stages in shared memory, ahead of the workers and across phases. It waits for two things: for a free stage,
// and for the oldest copy once `most_in_flight` are on their way, because more of them lengthen each access. Per stage
// there are two mbarriers: `full` completes when the bytes have come, `empty` when the warps that read the stage have.
// Workers read their first stage of a product into registers before they wait for its input: the loader fills it anew.
//
// Exchange between blocks: there is no grid barrier. A result is a 32-bit word in global memory, bf16 above a 16-bit
// tag of its step and phase, written and read at once (volatile, in the L2). A reader polls until the tag is the
// expected one, so no other memory order is needed. Partial results of attention are pairs of an fp32 and a tag. A
// buffer is written again only by a later phase whose inputs need the results of every reader of the old
// contents. Tags recur after 2^16 phases; by then every word has been overwritten, since each step writes all.
//
// A stage of a product: 1,024 bytes of each of 16 rows, as 8 boxes of 16 x 128 bytes in TMA's 128-byte swizzle (piece
// i of 16 bytes of row r is at i ^ r % 8), with scales and zero points beside it. Four teams of four warps take the
// stages round-robin; each warp multiplies four segments of 64 bytes of all 16 rows by tensor cores (mma). The finisher adds
// the 16 warps' sums of a tile, applies row scale, norm, gate and residual, and writes the results. The sums of up to
// TILES tiles are kept, two mbarriers each: `done` completes when they are written, `taken` when they are read. So no
// worker waits for another one within a phase. Of the logits each block publishes its likeliest token; block 0 takes the best.
//
// Numbers: bf16 weights by bf16 mma; FP8 as fp16. Integers are bytes for integer mma: each group of 128 inputs is scaled
// to 16-bit integers by its largest magnitude (`unit`) and split into two signed bytes. An mma has eight columns where one
// input needs one: even columns take the upper bytes, odd ones the lower bytes.
//
// Inputs: each warp polls for up to three groups of 128 and lays them out for mma, in one of two buffers by turns: slower
// warps may still read the input before. Wider inputs have a third buffer and arrive over a whole phase, so that two
// preparers lay out their first groups (`early`) while the workers are still in the phase before.
//
// Registers and lanes below follow the mma fragments: `line` = lane / 4 is a row (and line + 8), `part` = lane % 4.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

enum { BF16, INT8, FP8, INT4, ATTENTION = 6 };  // as `kernels.stream.KINDS`
constexpr int WARPS = 16, THREADS = 32 * WARPS;  // of the workers
constexpr int TEAMS = 4, TEAM_WARPS = WARPS / TEAMS;
constexpr int TILES = 6;  // tiles whose sums are kept: warps may be this far apart
constexpr u32 ARRIVALS = 48, SHARES = 0x346C0;  // of a tile; of each warp's 12, 6, 4 or 3, by teams that have a part of it
constexpr int ROWS = 16, CHUNK = 1024, STAGE = ROWS * CHUNK, SEGMENT = 64, SEGMENTS = CHUNK / SEGMENT;
constexpr int WARP_SEGMENTS = SEGMENTS / TEAM_WARPS;  // of one stage
constexpr int PREPARERS = 2, OTHERS = 2 + PREPARERS;  // warps
constexpr int NARROW = 3 * WARPS, MOST_GROUPS = 7 * WARPS;  // groups of 128 inputs: what workers prepare, what there may be
constexpr int MOST_STAGES = 11;
constexpr int HEAD = 128, TOKENS = STAGE / HEAD / 2, QUERIES = 8;  // head size, tokens of a stage, most query heads of a key head
constexpr int BOTH = 2 * TOKENS, WEIGHT_ROW = BOTH / 2 + 16;  // tokens of a pair of stages; pairs of their weights, on banks of their own

// A row of the table of phases, as `WholeStep._phase` writes it: 22 words of 64 bits.
// `w` is a tensor map, of int4 so are `scale` and `zero`. INT8 and FP8 have one fp32 `scale` per row.
struct Phase {
    long long kind, n, k, gated;  // of attention: n key heads, k tokens, queries of each key head
    const u8 *w, *scale, *zero;   // of attention: maps of keys and values
    const u32* x;
    const u16* norm;
    const u32* residual;
    u32* y;
    uint2* part;  // of attention: partial results
    long long each, splits;  // of attention: blocks of 128 tokens of a part, parts of a head
    long long eps;  // of the norm, as bits of an fp32; of attention the factor of its scores
    long long first_block;  // takes the first tile; the next ones go round
    long long x_from, residual_from;  // the phases whose results these are; -1: rows of the embedding, bf16
    u16 *keys, *values;
    long long input_at, early;  // where in shared memory the input goes, how many groups of it the preparers prepare
    __device__ void read(const Phase* from) {
        long long* to = (long long*)this;
#pragma unroll
        for (int i = 0; i < (int)sizeof(Phase) / 8; i++) asm volatile("ld.global.b64 %0, [%1];" : "=l"(to[i]) : "l"((const long long*)from + i));
    }
    __device__ int first() const {
        const int tile = blockIdx.x - (int)first_block;
        return tile < 0 ? tile + gridDim.x : tile;
    }
    __device__ int chunks() const { return (int)(kind == BF16 ? 2 * k : kind < INT4 ? k : k / 2) / CHUNK; }
    // True if every team of this block has a stage of it.
    __device__ bool for_all_teams() const {
        if (kind == ATTENTION) return first() < n * splits;
        return (first() + (chunks() < TEAMS ? gridDim.x : 0)) * (gated ? ROWS / 2 : ROWS) < n;
    }
};

// Shared memory of a block beside its stages and the input.
struct Block {
    u64 full[MOST_STAGES], empty[MOST_STAGES], done[TILES], taken[TILES];  // `finish` knows the order
    u64 prepared, input_free;             // the preparers' part of a wide input: it is there, it has been used
    float sums[TILES][WARPS][ROWS];       // of a tile's rows, by each warp
    float squares[2][WARPS + PREPARERS];  // of the input, for the norm; of this phase and of the last one
    float unit[2 * NARROW + MOST_GROUPS];  // of each 128 inputs, of two narrow inputs and a wide one
    int input_sum[2 * NARROW + MOST_GROUPS];  // 16 times
    __align__(16) u8 queries[QUERIES][HEAD * 2];  // of attention, in the order of mma fragments
    __align__(16) float most[QUERIES][WARPS];  // the largest score of a query in each warp
    __align__(16) u32 weights[QUERIES][WEIGHT_ROW];  // of tokens, likewise
    Phase phases[4];                      // of the table: this one, the next two, and one that a slow warp may still read
    const u16* row;                       // of the embedding
    int count, here;                      // how many phases; the token's position
    u32 epoch;                            // the number of the step's first tag
    __device__ u32 tag(long long phase) const { return epoch + (u32)phase & 0xFFFF; }
};
__shared__ Block block;
extern __shared__ __align__(1024) u8 memory[];  // stages, their scales, the input

// Read anew in each phase, so that nothing derived from it stays in registers: shared memory leaves so small an L1 that a
// spilled one is read from the L2.
__device__ __forceinline__ u32 thread() { u32 v; asm volatile("mov.u32 %0, %%tid.x;" : "=r"(v)); return v; }
__device__ __forceinline__ u32 shared_at(const void* p) { return (u32)__cvta_generic_to_shared(p); }

// A thread's own place in the ring of stages, and in the tiles of all phases.
struct Ring {
    u32 count, scale_bytes, slot, parity, tiles, wide_inputs;
    __device__ u32 at() const { return shared_at(memory) + slot * STAGE; }
    __device__ u32 scales_at() const { return shared_at(memory) + count * STAGE + slot * scale_bytes; }  // and zero points
    __device__ u32 loaded() const { return shared_at(block.full + slot); }
    __device__ u32 freed() const { return shared_at(block.empty + slot); }
    __device__ void next() { skip(1); }
    __device__ void skip(u32 by) {
        if ((slot += by) >= count) slot -= count, parity ^= 1;
    }
    __device__ void back(u32 by) {
        if (slot < by) slot += count, parity ^= 1;
        slot -= by;
    }
};

__device__ __forceinline__ void start_barrier(u64* barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared_at(barrier)), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void wait_barrier(u32 barrier, u32 parity) {
    u32 done = 0;
    while (!done) {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
    }
}
__device__ __forceinline__ void arrive(u32 barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(barrier) : "memory");
}
__device__ __forceinline__ void arrive(u32 barrier, u32 times) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" :: "r"(barrier), "r"(times) : "memory");
}
__device__ __forceinline__ void sync_workers() { asm volatile("bar.sync 1, %0;" :: "n"(THREADS) : "memory"); }

#define LOAD_FOUR(name, instruction) \
    __device__ __forceinline__ uint4 name(u32 at) { \
        uint4 v; \
        asm volatile(instruction " {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(at)); \
        return v; \
    }
LOAD_FOUR(lds, "ld.shared.v4.u32")
// Four matrices of eight rows of 16 bytes, a word of each per lane.
LOAD_FOUR(matrices, "ldmatrix.sync.aligned.m8n8.x4.shared.b16")
LOAD_FOUR(transposed, "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16")
__device__ __forceinline__ float lds_float(u32 at) { float v; asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(at)); return v; }
__device__ __forceinline__ u32 lds16(u32 at) { u16 v; asm volatile("ld.shared.u16 %0, [%1];" : "=h"(v) : "r"(at)); return v; }
__device__ __forceinline__ u32 lds8(u32 at) { u32 v; asm volatile("ld.shared.u8 %0, [%1];" : "=r"(v) : "r"(at)); return v; }
__device__ __forceinline__ void sts32(u32 at, u32 v) { asm volatile("st.shared.u32 [%0], %1;" :: "r"(at), "r"(v)); }
__device__ __forceinline__ void sts16(u32 at, u32 v) { asm volatile("st.shared.u16 [%0], %1;" :: "r"(at), "h"((u16)v)); }
__device__ __forceinline__ void sts8(u32 at, u32 v) { asm volatile("st.shared.u8 [%0], %1;" :: "r"(at), "r"(v)); }
__device__ __forceinline__ void sts64(u32 at, u32 a, u32 b) { asm volatile("st.shared.v2.u32 [%0], {%1,%2};" :: "r"(at), "r"(a), "r"(b)); }
// Words of a value and its tag, written by other blocks: `volatile` reads and writes the L2.
__device__ __forceinline__ u32 load_word(const u32* p) {
    u32 v; asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v;
}
__device__ __forceinline__ void store_word(u32* p, u32 v) {
    asm volatile("st.volatile.global.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory");
}
__device__ __forceinline__ uint2 load_pair(const uint2* p) {
    uint2 v; asm volatile("ld.volatile.global.v2.u32 {%0,%1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(p) : "memory"); return v;
}
__device__ __forceinline__ void store_pair(uint2* p, uint2 v) {
    asm volatile("st.volatile.global.v2.u32 [%0], {%1,%2};" :: "l"(p), "r"(v.x), "r"(v.y) : "memory");
}
__device__ __forceinline__ uint4 load_volatile(const void* p) {
    uint4 v;
    asm volatile("ld.volatile.global.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p) : "memory");
    return v;
}
__device__ __forceinline__ void store_volatile(void* p, uint4 v) {
    asm volatile("st.volatile.global.v4.u32 [%0], {%1,%2,%3,%4};" :: "l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
__device__ __forceinline__ bool all_tagged(uint4 v, u32 tag) {
    return !(((v.x ^ tag) | (v.y ^ tag) | (v.z ^ tag) | (v.w ^ tag)) & 0xFFFF);
}

__device__ __forceinline__ float from_bf16(u32 bf16) { return __uint_as_float(bf16 << 16); }
__device__ __forceinline__ float value_of(u32 word) { return __uint_as_float(word & 0xFFFF0000); }
__device__ __forceinline__ u32 pair_bf16(float low, float high) {
    u32 v; asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low)); return v;
}
__device__ __forceinline__ u32 pair_fp16(float low, float high) {
    u32 v; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low)); return v;
}

// Sums `c` += rows of weights `a` times columns of inputs `b`.
#define MMA(name, T, R, form) \
    __device__ __forceinline__ void name(T* c, u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) { \
        asm("mma.sync.aligned." form " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
            : "+" R(c[0]), "+" R(c[1]), "+" R(c[2]), "+" R(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1)); \
    }
MMA(mma_bytes, int, "r", "m16n8k32.row.col.s32.s8.s8.s32")
MMA(mma_unsigned, int, "r", "m16n8k32.row.col.s32.u8.s8.s32")
MMA(mma_bf16, float, "f", "m16n8k16.row.col.f32.bf16.bf16.f32")
MMA(mma_fp16, float, "f", "m16n8k16.row.col.f32.f16.f16.f32")

template <int KIND> __device__ __forceinline__ long long row_bytes(long long k) {
    return KIND == BF16 ? 2 * k : KIND < INT4 ? k : k / 2;
}

// The loader's state: the stage it fills next, and the oldest copy that has not been waited for.
struct Loader {
    Ring ring, oldest;
    int in_flight, most_in_flight;
    u64 policy;
    __device__ void wait_for_stage() {
        if (in_flight == most_in_flight) {
            wait_barrier(oldest.loaded(), oldest.parity);
            oldest.next();
        } else
            in_flight++;
        wait_barrier(ring.freed(), ring.parity ^ 1);
    }
};

__device__ __forceinline__ void copy_rows(u32 to, const u8* map, int at, int row, u32 barrier, u64 policy) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint"
        " [%0], [%1, {0, %3, 0, %2}], [%4], %5;"
        :: "r"(to), "l"(map), "r"(at), "r"(row), "r"(barrier), "l"(policy) : "memory");
}
__device__ __forceinline__ void copy_scales(u32 to, const u8* map, int at, int row, u32 barrier, u64 policy) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint"
        " [%0], [%1, {%2, %3, 0}], [%4], %5;"
        :: "r"(to), "l"(map), "r"(at), "r"(row), "r"(barrier), "l"(policy) : "memory");
}
__device__ __forceinline__ void expect(u32 barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(barrier), "r"(bytes) : "memory");
}

template <int KIND>
__device__ __forceinline__ void load_product(const Phase& p, Loader& loader) {
    constexpr int SIZES = 2, LEVELS = 1;  // bytes of the scales and zero points of a segment of a row, of INT4
    const int step = p.gated ? ROWS / 2 : ROWS, n = (int)p.n, width = (int)row_bytes<KIND>(p.k);
    const u8 *w = p.w, *scale = p.scale, *zero = p.zero;
    if (KIND == BF16) loader.most_in_flight = 3;  // of the head: no block waits for another one while it streams
    for (int out = p.first() * step; out < n; out += step * gridDim.x)
        for (int at = 0; at < width; at += CHUNK) {
            loader.wait_for_stage();
            const u32 to = loader.ring.at(), full = loader.ring.loaded(), scales_at = loader.ring.scales_at();
            expect(full, STAGE + (KIND == INT4 ? ROWS * SEGMENTS * (SIZES + LEVELS) : 0));
            copy_rows(to, w, at / 128, out, full, loader.policy);
            if (KIND == INT4) {
                copy_scales(scales_at, scale, at / SEGMENT * SIZES, out, full, loader.policy);
                copy_scales(scales_at + ROWS * SEGMENTS * SIZES, zero, at / SEGMENT, out, full, loader.policy);
            }
            loader.ring.next();
        }
}

__device__ __forceinline__ void load_cache(const Phase& p, Loader& loader) {
    for (int item = p.first(); item < p.n * p.splits; item += gridDim.x) {
        const int head = item / (int)p.splits, first = item % (int)p.splits * p.each;
        const int end = min(first + (int)p.each, (int)p.k / (2 * TOKENS));
        for (int i = first * 4; i < end * 4; i++) {
            // Of 128 tokens two stages of keys, then two of values.
            loader.wait_for_stage();
            const int row = head * (int)p.k + (i / 4 * 2 + i % 2) * TOKENS;
            expect(loader.ring.loaded(), STAGE);
            copy_rows(loader.ring.at(), i & 2 ? p.scale : p.w, 0, row, loader.ring.loaded(), loader.policy);
            loader.ring.next();
        }
    }
}

// Where the input of a product is in shared memory, and its first group among the units.
struct Input { u32 at; int base; };

// Store a group of 128 inputs, of which a lane has four side by side, in the order of mma fragments.
template <int KIND>
__device__ __forceinline__ void store_group(const Input& input, int group, const float* v, u32 rest) {
    const int lane = thread() & 31;
    // Which lane multiplies by these inputs, with which word of its fragment. Of INT4 four that are 32 apart share a word.
    u32 place = (lane >> 1 & 1) * 128 + (lane >> 2 & 1) * 8 + (lane & 1) * 4 + (lane >> 3);
    if (KIND == INT8) place = (lane & 3) * 16 + (lane >> 4) * 128 + (lane >> 2 & 3) * 4;
    if (KIND == FP8) place = (lane & 3) * 16 + (lane >> 4) * 128 + (lane >> 3 & 1) * 64 + (lane >> 2 & 1) * 8;
    if (KIND == BF16) place = (lane >> 3) * 64 + (lane & 1) * 32 + (lane >> 1 & 3) * 4;
    const u32 at = input.at + group * 256 + place;
    if (KIND == BF16) {
        // Normed inputs are split into two bf16, value and rounding error (`rest` bytes on), for odd columns of the mma.
        const u32 a = pair_bf16(v[0], v[1]), b = pair_bf16(v[2], v[3]);
        sts32(at, a), sts32(at + 16, b);
        if (rest) {
            sts32(at + rest, pair_bf16(v[0] - from_bf16(a), v[1] - from_bf16(a >> 16)));
            sts32(at + rest + 16, pair_bf16(v[2] - from_bf16(b), v[3] - from_bf16(b >> 16)));
        }
        return;
    }
    const float most4 = fmaxf(fmaxf(fabsf(v[0]), fabsf(v[1])), fmaxf(fabsf(v[2]), fabsf(v[3])));
    const float most = fmaxf(__uint_as_float(__reduce_max_sync(~0u, __float_as_uint(most4))), 1e-25f);
    if (KIND == FP8) {
        const u32 power = __float_as_uint(most) & 0x7F800000;  // the power of two below it
        const float inverse = __uint_as_float(0x7F000000 - power);
        sts64(at, pair_fp16(v[0] * inverse, v[2] * inverse), pair_fp16(v[1] * inverse, v[3] * inverse));
        // `even` and `odd` give weights times 2^-8.
        if (lane == 0) block.unit[input.base + group] = __uint_as_float(power + (8 << 23));
        return;
    }
    const float inverse = __fdividef(32512.0f, most);
    u32 whole[4];  // its lower 16 bits
#pragma unroll
    for (int j = 0; j < 4; j++) whole[j] = __float_as_uint(__fmaf_rn(v[j], inverse, 12582912.0f));
    // The lower byte is signed, so the upper one is rounded to nearest.
    if (KIND == INT4) {
#pragma unroll
        for (int j = 0; j < 4; j++) sts8(at + j * 16, whole[j] + 128 >> 8), sts8(at + j * 16 + 64, whole[j]);
    } else {
        sts32(at, __byte_perm(__byte_perm(whole[0] + 128, whole[1] + 128, 0x51), __byte_perm(whole[2] + 128, whole[3] + 128, 0x51), 0x5410));
        sts32(at + 64, __byte_perm(__byte_perm(whole[0], whole[1], 0x40), __byte_perm(whole[2], whole[3], 0x40), 0x5410));
    }
    // Products of INT4 come out 16 times as large.
    if (lane == 0) block.unit[input.base + group] = most * (KIND == INT4 ? 1.0f / 16 / 32512 : 1.0f / 32512);
    if (KIND == INT8) return;
    // The inputs' sum, by which zero points are subtracted.
    const int sum = __reduce_add_sync(~0u, (int)(whole[0] + whole[1] + whole[2] + whole[3] - 4 * 0x4B400000u) * 16);
    if (lane == 0) block.input_sum[input.base + group] = sum;
}

// Groups first, first + by, ... of an input before `end`, N at most: four inputs a lane, and the norm's weights.
template <int N>
struct Groups {
    int first, by, end;
    uint4 x[N];
    uint2 weight[N];
    __device__ __forceinline__ void load(const Phase& p) {
#pragma unroll
        for (int i = 0; i < N; i++) {
            if (first + i * by >= end) break;
            const int place = (first + i * by) * 128 + (thread() & 31) * 4;
            if (p.norm) weight[i] = __ldg((const uint2*)(p.norm + place));
            if (p.x_from < 0) {  // the embedding's row, which is there from the start
                const u32 tag = block.tag(p.x_from);
                const uint2 pairs = __ldg((const uint2*)(block.row + place));
                x[i] = make_uint4(pairs.x << 16 | tag, pairs.x & 0xFFFF0000 | tag, pairs.y << 16 | tag, pairs.y & 0xFFFF0000 | tag);
            } else
                x[i] = load_volatile(p.x + place);
        }
    }
    // Poll all of them together, since each poll takes long; multiply them by the norm's weights, and store them.
    // Returns the lane's sum of squares.
    template <int KIND> __device__ __forceinline__ float store(const Phase& p, const Input& input) {
        const u32 tag = block.tag(p.x_from), rest = p.norm ? (u32)p.k * 2 : 0;
        float squares = 0;
        for (bool missing = true; missing;) {
            missing = false;
#pragma unroll
            for (int i = 0; i < N; i++)
                if (first + i * by < end && !all_tagged(x[i], tag))
                    x[i] = load_volatile(p.x + (first + i * by) * 128 + (thread() & 31) * 4), missing = true;
        }
        __syncwarp();
#pragma unroll
        for (int i = 0; i < N; i++) {
            if (first + i * by >= end) break;
            float v[4] = {value_of(x[i].x), value_of(x[i].y), value_of(x[i].z), value_of(x[i].w)};
            if (p.norm) {
                squares += v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + v[3] * v[3];
                v[0] *= from_bf16(weight[i].x), v[1] *= value_of(weight[i].x), v[2] *= from_bf16(weight[i].y), v[3] *= value_of(weight[i].y);
            }
            store_group<KIND>(input, first + i * by, v, rest);
        }
        return squares;
    }
};

// A warp's sum of the squares of its inputs.
__device__ __forceinline__ void keep_squares(int index, int warp, float squares) {
#pragma unroll
    for (int by = 16; by; by /= 2) squares += __shfl_xor_sync(~0u, squares, by);
    if ((thread() & 31) == 0) block.squares[index & 1][warp] = squares;
}

// Two of a word's four E4M3 bytes as fp16, times 2^-8: bytes 0 and 2, or 1 and 3.
__device__ __forceinline__ u32 even(u32 w) { return (w << 8 & 0x80008000) | (w << 7 & 0x3F803F80); }
__device__ __forceinline__ u32 odd(u32 w) { return (w & 0x80008000) | (w >> 1 & 0x3F803F80); }

// The value of four that belongs to this lane.
template <typename T> __device__ __forceinline__ T select4(int part, T a, T b, T c, T d) {
    const T low = part & 1 ? b : a, high = part & 1 ? d : c;
    return part & 2 ? high : low;
}

// The warp's segments of a stage in the order of mma fragments, of INT4 with scales and zero points.
template <int KIND>
struct Weights {
    uint4 a[WARP_SEGMENTS], b[WARP_SEGMENTS];
    u32 level[2], size[2];
    // Those of the team's next stage, which is freed then.
    __device__ __forceinline__ void load(const Ring& ring) {
        const int member = (thread() >> 5) % TEAM_WARPS, lane = thread() & 31, line = lane >> 2, part = lane & 3;
        const u32 from = ring.at() + member * (WARP_SEGMENTS / 2 * ROWS * 128) + (lane & 7) * 128 + (((lane >> 3) ^ (lane & 7)) << 4);
        wait_barrier(ring.loaded(), ring.parity);
        if (KIND == INT4) {
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const u32 at = (line + 8 * i) * SEGMENTS + member * WARP_SEGMENTS + part;
                level[i] = lds8(ring.scales_at() + ROWS * SEGMENTS * 2 + at), size[i] = lds16(ring.scales_at() + at * 2);
            }
        }
#pragma unroll
        for (int j = 0; j < WARP_SEGMENTS; j++) {
            const u32 at = (from ^ (j & 1) * 64) + (j >> 1) * (ROWS * 128);
            a[j] = matrices(at), b[j] = matrices(at + 8 * 128);
        }
        __syncwarp();
        if (lane == 0) arrive(ring.freed());
    }
};

// Multiply the warp's segments of a stage and add the result to `low` (row `line`) and `high` (row `line` + 8), of bf16
// to the accumulators `c`. Of INT4 each of four lanes adds its own groups; else all four have the whole sum.
// `before`: segments of a row before this stage.
template <int KIND>
__device__ __forceinline__ void multiply(
    bool normed, int k, const Input& input, const Weights<KIND>& w, int before, float& low, float& high, float (*c)[4]
) {
    const int member = (thread() >> 5) % TEAM_WARPS, lane = thread() & 31, line = lane >> 2, part = lane & 3;
    const u32 input_at = (line & 1) * 64 + part * 16;
    const uint4 *a = w.a, *b = w.b;
    int sums[4][4] = {};
    float wides[4][4] = {};
    const int own = member * WARP_SEGMENTS + part;  // of INT4 the segment whose sums this lane scales
#pragma unroll
    for (int j = 0; j < WARP_SEGMENTS; j++) {
        const int segment = member * WARP_SEGMENTS + j, whole = before + segment;
        if (KIND == BF16) {
            const uint4 x = lds(input.at + whole * 64 + part * 16 + (normed && (line & 1) ? k * 2 : 0));
            mma_bf16(c[0], a[j].x, b[j].x, a[j].y, b[j].y, x.x, x.y);
            mma_bf16(c[1], a[j].z, b[j].z, a[j].w, b[j].w, x.z, x.w);
        } else if (KIND == FP8) {
            const uint4 x = lds(input.at + whole * 128 + part * 16), y = lds(input.at + whole * 128 + 64 + part * 16);
            float *sum = wides[j / 2], *other = wides[2 + j / 2];
            mma_fp16(sum, even(a[j].x), even(b[j].x), odd(a[j].x), odd(b[j].x), x.x, x.y);
            mma_fp16(other, even(a[j].y), even(b[j].y), odd(a[j].y), odd(b[j].y), x.z, x.w);
            mma_fp16(sum, even(a[j].z), even(b[j].z), odd(a[j].z), odd(b[j].z), y.x, y.y);
            mma_fp16(other, even(a[j].w), even(b[j].w), odd(a[j].w), odd(b[j].w), y.z, y.w);
            if (j & 1) {
                const float unit = block.unit[input.base + (whole >> 1)];
                low += (sum[0] + other[0]) * unit, high += (sum[2] + other[2]) * unit;
            }
        } else if (KIND == INT8) {
            const uint4 x = lds(input.at + whole * 128 + input_at);
            int *sum = sums[j / 2], *other = sums[2 + j / 2];
            mma_bytes(sum, a[j].x, b[j].x, a[j].y, b[j].y, x.x, x.y);
            mma_bytes(other, a[j].z, b[j].z, a[j].w, b[j].w, x.z, x.w);
            if (j & 1) {
                const float unit = block.unit[input.base + (whole >> 1)];
                low += (float)((sum[0] + other[0]) * 256 + sum[1] + other[1]) * unit;
                high += (float)((sum[2] + other[2]) * 256 + sum[3] + other[3]) * unit;
            }
        } else {
            const u32 at = input.at + whole * 256 + input_at;
            const uint4 x = lds(at), y = lds(at + 128);
            // Upper nibbles stay where they are: 16 times the value.
            constexpr u32 L = 0x0F0F0F0F, U = 0xF0F0F0F0;
            int upper[4] = {};
            mma_unsigned(sums[j], a[j].x & L, b[j].x & L, a[j].y & L, b[j].y & L, x.x, x.y);
            mma_unsigned(upper, a[j].x & U, b[j].x & U, a[j].y & U, b[j].y & U, x.z, x.w);
            mma_unsigned(sums[j], a[j].z & L, b[j].z & L, a[j].w & L, b[j].w & L, y.x, y.y);
            mma_unsigned(upper, a[j].z & U, b[j].z & U, a[j].w & U, b[j].w & U, y.z, y.w);
#pragma unroll
            for (int i = 0; i < 4; i++) sums[j][i] = 16 * sums[j][i] + upper[i];
        }
    }
    if (KIND == INT4) {
        const float unit = block.unit[input.base + before + own];
        const int bias = block.input_sum[input.base + before + own];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int upper = select4(part, sums[0][2 * i], sums[1][2 * i], sums[2][2 * i], sums[3][2 * i]);
            const int rest = select4(part, sums[0][2 * i + 1], sums[1][2 * i + 1], sums[2][2 * i + 1], sums[3][2 * i + 1]);
            (i ? high : low) += (float)(upper * 256 + rest - (int)w.level[i] * bias) * (from_bf16(w.size[i]) * unit);
        }
    }
}

template <int KIND>
__device__ __forceinline__ void product(const Phase& p, Ring& ring, int index) {
    const int warp = thread() >> 5, lane = thread() & 31, line = lane >> 2, part = lane & 3, team = warp / TEAM_WARPS;
    const bool normed = p.norm;
    const int k = (int)p.k, n = (int)p.n, width = (int)row_bytes<KIND>(k), step = p.gated ? ROWS / 2 : ROWS, by = step * gridDim.x;
    const int first = p.first() * step;
    const int chunks = width / CHUNK, teams = min(chunks, TEAMS), tiles = first < n ? (n - first + by - 1) / by : 0;
    // The team's own stages: every fourth one of those of all tiles.
    int tile = 0, chunk = team;
    ring.skip(team);
    while (chunk >= chunks) chunk -= chunks, tile++;
    u32 slot = (ring.tiles + tile) % TILES, turn = (ring.tiles + tile) / TILES & 1;
    const Input input = {shared_at(memory) + (u32)p.input_at, p.early ? 2 * NARROW : index % 2 * NARROW};
    Weights<KIND> weights = {};  // defined for all teams, or the compiler keeps its registers through all phases
    // A barrier's parity distinguishes only two consecutive uses of a stage. The next stage is at most 7 after the
    // team's last one if that was of the phase before; else it is waited for once all workers have left that phase.
    if (index && !block.phases[(index - 1) % 4].for_all_teams()) sync_workers();
    if (tile < tiles) weights.load(ring);
    // Narrow inputs are double-buffered: all warps have left the phase before the last, which used this buffer.
    if (p.early) wait_barrier(shared_at(&block.input_free), ring.wide_inputs & 1 ^ 1);
    if (first < n) {  // A block without a tile must not poll: its input may have been overwritten by later phases.
        Groups<NARROW / WARPS> mine = {(int)p.early + warp, WARPS, k / 128};
        mine.load(p);
        const float squares = mine.store<KIND>(p, input);
        if (normed) keep_squares(index, warp, squares);
    }
    if (p.early) wait_barrier(shared_at(&block.prepared), ring.wide_inputs & 1);
    sync_workers();
    float low = 0, high = 0, c[2][4] = {};
    while (tile < tiles) {
        multiply<KIND>(normed, k, input, weights, chunk * SEGMENTS, low, high, c);
        ring.skip(TEAMS);
        chunk += TEAMS;
        if (chunk >= chunks) {
            if (KIND == BF16) {
                low = c[0][0] + c[1][0], high = c[0][2] + c[1][2];
                if (normed) low += c[0][1] + c[1][1], high += c[0][3] + c[1][3];
#pragma unroll
                for (int i = 0; i < 4; i++) c[0][i] = c[1][i] = 0;
            }
            if (KIND == INT4) {
                // Lanes of odd parts add up the upper rows, the others the lower ones.
                const float other = __shfl_xor_sync(~0u, part & 1 ? low : high, 1);
                low = high = (part & 1 ? high : low) + other;
                low = high = low + __shfl_xor_sync(~0u, low, 2);
            }
            wait_barrier(shared_at(block.taken + slot), turn ^ 1);
            if (part < 2) block.sums[slot][warp][line + 8 * part] = part ? high : low;
            __syncwarp();
            if (lane == 0) arrive(shared_at(block.done + slot), SHARES >> 4 * teams & 15);
            low = high = 0;
            for (; chunk >= chunks; chunk -= chunks, tile++)
                if (++slot == TILES) slot = 0, turn ^= 1;
        }
        if (tile < tiles) weights.load(ring);
    }
    ring.tiles += tiles;
    ring.back((tile - tiles) * chunks + chunk);  // where all teams begin the next phase
    if (p.early) {
        ring.wide_inputs++;
        __syncwarp();
        if (lane == 0) arrive(shared_at(&block.input_free));
    }
}

// The preparers' part of a wide input, of the first groups: those of tiles that are finished first. Of a narrow one
// there is none. `wide_inputs` counts those before.
template <int KIND>
__device__ __forceinline__ void prepare_early(const Phase& p, const Ring& ring, int index) {
    const int preparer = (thread() >> 5) - (WARPS + OTHERS - PREPARERS), step = p.gated ? ROWS / 2 : ROWS, early = (int)p.early;
    const Input input = {shared_at(memory) + (u32)p.input_at, 2 * NARROW};
    wait_barrier(shared_at(&block.input_free), ring.wide_inputs & 1 ^ 1);
    float squares = 0;
    if (p.first() * step < p.n) {
        Groups<4> now, next = {4 * preparer, 1, early};
        next.load(p);
        while (next.first < early) {
            now = next;
            next.first += 4 * PREPARERS;
            next.load(p);
            squares += now.store<KIND>(p, input);
        }
    }
    if (p.norm) keep_squares(index, WARPS + preparer, squares);
    __syncwarp();
    if ((thread() & 31) == 0) arrive(shared_at(&block.prepared));
}

// State of the step in global memory, zero at first, and what its end changes.
struct Progress {
    u64 step;       // steps before
    uint2 best[1];  // of each block: the likeliest token of its tiles, and its logit above a tag
};
struct Next {
    long long *token, *position;
    int context, wrap;  // the position after the last one of the context is `wrap` before it; context 0: both stay
};
// The largest of the warp's logits and its token; of equal ones the first.
__device__ __forceinline__ uint2 likeliest(uint2 of) {
    const u32 most = __reduce_max_sync(~0u, of.y);
    return make_uint2(__reduce_min_sync(~0u, of.y == most ? of.x : ~0u), most);
}

// The finisher's part of a product: of each tile add up the workers' sums, and publish the results; at the end choose the next
// token. `tiles` counts those of all phases before.
__device__ __forceinline__ u32 finish(const Phase p, int index, u32 tiles, Progress* progress, const Next& next) {
    const int lane = thread() & 31, row = lane & ROWS - 1, kind = (int)p.kind, n = (int)p.n, k = (int)p.k;
    const bool gated = p.gated, last = index + 1 == block.count, scaled = FORMAT < INT4 && kind != BF16;
    const int step = gated ? ROWS / 2 : ROWS, chunks = p.chunks(), teams = min(chunks, TEAMS);
    const int by = step * gridDim.x, end = lane < step ? n : 0;  // of rows with results
    const u16* embedding = p.residual_from < 0 ? block.row : nullptr;
    const u32 tag = block.tag(index), residual_tag = block.tag(p.residual_from);
    // Exchanged between lanes so that the compiler keeps these addresses, and does not find them again for each use.
    const u32 barriers_at = __shfl_sync(~0u, shared_at(block.done), 0), sums_at = __shfl_sync(~0u, shared_at(block.sums), 0) + lane * 4;
    float inverse = 0;  // of the norm of the input
    float next_size = 1;
    u32 next_added = 0;
    // Row scale and residual, a tile ahead. With a gate an output has two rows, 8 apart in the tile and n apart in the matrix.
    const auto load = [&](int out) {
        if (scaled && out + row % step < n) next_size = __ldg((const float*)p.scale + out + row % step + row / step * n);
        if (p.residual && out + lane < end)
            next_added = embedding ? __ldg(embedding + out + lane) << 16 | residual_tag : load_word(p.residual + out + lane);
    };
    load(p.first() * step);
    u32 slot = tiles % TILES, turn = tiles / TILES & 1;
    uint2 best = {0, 0};  // the lane's likeliest token, its logit as bits that are ordered as integers
    int begins = 0;       // the team with the tile's first stage
    for (int out = p.first() * step; out < n; out += by, tiles++) {
        float size = next_size;
        u32 added = next_added;
        load(out + by);
        wait_barrier(barriers_at + slot * 8, turn);
        float total = 0;
#pragma unroll
        for (int i = 0; i < TEAMS; i++) {  // each half of the warp every other worker
            const u32 at = sums_at + slot * (WARPS * ROWS * 4) + i * (TEAM_WARPS * ROWS * 4);
            const float sum = lds_float(at) + lds_float(at + 2 * ROWS * 4);
            total += (i - begins & TEAMS - 1) < teams ? sum : 0;
        }
        __syncwarp();
        if (lane == 0) arrive(barriers_at + (TILES + slot) * 8);
        if (++slot == TILES) slot = 0, turn ^= 1;
        total += __shfl_xor_sync(~0u, total, ROWS);
        if (p.norm && inverse == 0) {
            // All is known of the input once a tile is done.
            float squares = lane < (p.early ? WARPS + PREPARERS : WARPS) ? block.squares[index & 1][lane] : 0;
#pragma unroll
            for (int by = 16; by; by /= 2) squares += __shfl_xor_sync(~0u, squares, by);
            inverse = rsqrtf(__fdividef(squares, k) + __uint_as_float((u32)p.eps));
        }
        if (p.norm) size *= inverse;
        total *= size;
        const float up = __shfl_down_sync(~0u, total, 8);
        if (gated) total = __fdividef(total, 1.0f + __expf(-total)) * up;
        if (out + lane < end) {
            while (p.residual && (added ^ residual_tag) & 0xFFFF) added = load_word(p.residual + out + lane);
            const u32 word = pair_bf16(0, total + value_of(added)) | tag;
            if (last) {
                ((u16*)p.y)[out + lane] = (u16)(word >> 16);
                const u32 order = word >> 16 ^ ((int)word < 0 ? 0xFFFF : 0x8000);
                if (order > best.y) best = make_uint2(out + lane, order);
            } else
                store_word(p.y + out + lane, word);
        }
        begins = begins + chunks & TEAMS - 1;
    }
    if (last) {
        best = likeliest(best);
        if (lane == 0) store_pair(progress->best + blockIdx.x, make_uint2(best.x, best.y << 16 | tag));
        if (blockIdx.x) return tiles;
        for (int i = lane; i < gridDim.x; i += 32) {
            uint2 of;
            do of = load_pair(progress->best + i);
            while ((of.y ^ tag) & 0xFFFF);
            if (i == lane || of.y > best.y || of.y == best.y && of.x < best.x) best = of;
        }
        best = likeliest(best);
        if (lane) return tiles;
        progress->step++;  // so that the next step's tags differ
        if (!next.context) return tiles;
        *next.token = best.x;
        const long long after = *next.position + 1;
        *next.position = after < next.context ? after : after - next.wrap;
    }
    return tiles;
}

// Address of element `d` of a token in a pair of stages (swizzled).
__device__ __forceinline__ u32 element(u32 first, u32 second, int token, int d) {
    const u32 row = (token < TOKENS ? first : second) + d / 64 * (TOKENS * 128) + token % TOKENS * 128;
    return row + ((d / 8 % 8 ^ token % 8) << 4) + d % 8 * 2;
}

// Attention of one part of a head's cache. Every warp computes the scores and weights of 8 of 128 tokens at a time, and then
// with all weights 8 elements of the result.
__device__ __forceinline__ void attention(const Phase& p, Ring& ring, int index, const u16* table, int rope) {
    const u32 queries = shared_at(block.queries), mosts = shared_at(block.most), weights = shared_at(block.weights);
    const int warp = thread() >> 5, lane = thread() & 31, line = lane >> 2, part = lane & 3;
    const int heads = (int)p.n, tokens = (int)p.k, group = (int)p.gated, splits = (int)p.splits, each = (int)p.each;
    const int item = p.first(), head = item / splits, split = item % splits, first = split * each, end = min(first + each, tokens / BOTH);
    const int here = *(volatile int*)&block.here;
    const float minus = __uint_as_float(0xFF800000);
    constexpr u32 ONES = 0x3F803F80;  // two of bf16
    const int h = thread() / (HEAD / 2), d = thread() % (HEAD / 2);  // a thread rotates one pair of a query head
    u32 query_pair = 0, key_pair = 0, value_pair = 0;
    const bool works = item < heads * splits, own = works && h == 0 && here / BOTH >= first && here / BOTH < end;
    if (works && h < group) {
        const float cosine = from_bf16(table[here * (HEAD / 2) + d]), sine = from_bf16(table[rope + here * (HEAD / 2) + d]);
        const u32 *q = p.x + (head * group + h) * HEAD + d, *k = p.x + (heads * group + head) * HEAD + d;
        const u32 *from[3] = {q, k, k + heads * HEAD}, tag = block.tag(p.x_from);
        u32 low[3], high[3], missing;
        do {
            missing = 0;
#pragma unroll
            for (int i = 0; i < 3; i++)
                if (i == 0 || own) low[i] = load_word(from[i]), high[i] = load_word(from[i] + HEAD / 2);
#pragma unroll
            for (int i = 0; i < 3; i++)
                if (i == 0 || own) missing |= (low[i] ^ tag | high[i] ^ tag) & 0xFFFF;
        } while (missing);
        const float factor = __uint_as_float((u32)p.eps), a = value_of(low[0]) * factor, b = value_of(high[0]) * factor;
        query_pair = pair_bf16(a * cosine - b * sine, b * cosine + a * sine);
        if (own) {
            const float a = value_of(low[1]), b = value_of(high[1]);
            key_pair = pair_bf16(a * cosine - b * sine, b * cosine + a * sine);
            value_pair = __byte_perm(low[2], high[2], 0x7632);
        }
    }
    if (works) {
        // In the order of mma fragments.
        const u32 at = queries + h * (HEAD * 2) + d / 32 * 64 + d % 8 / 2 * 16 + d % 32 / 8 * 4 + d % 2 * 2;
        sts16(at, query_pair), sts16(at + HEAD, query_pair >> 16);
    }
    const int row = head * group;
    const u32 tag = block.tag(index);
    uint2 *sums = p.part, *pairs = sums + heads * group * splits * HEAD;  // largest score and sum of weights
    float o[4] = {}, sum[4] = {}, top = minus;  // `sum` of the weights, by a product with ones
    for (int chunk = first; works && chunk < end; chunk++) {
        u32 stage[4], freed[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            stage[i] = ring.at(), freed[i] = ring.freed();
            wait_barrier(ring.loaded(), ring.parity);
            ring.next();
        }
        if (own && here / BOTH == chunk) {
            // The copy in shared memory has stale ones of the new token.
            const int token = here % BOTH;
            sts16(element(stage[0], stage[1], token, d), key_pair);
            sts16(element(stage[0], stage[1], token, d + HEAD / 2), key_pair >> 16);
            sts16(element(stage[2], stage[3], token, d), value_pair);
            sts16(element(stage[2], stage[3], token, d + HEAD / 2), value_pair >> 16);
        }
        sync_workers();
        float s[4] = {};
#pragma unroll 2
        for (int i = 0; i < HEAD / 32; i++) {
            const uint4 q4 = lds(queries + line * (HEAD * 2) + i * 64 + part * 16);
            const uint4 k4 = matrices(element(stage[0], stage[1], warp * 8 + (lane & 7), i * 32 + (lane >> 3) * 8));
            mma_bf16(s, q4.x, 0, q4.y, 0, k4.x, k4.y);
            mma_bf16(s, q4.z, 0, q4.w, 0, k4.z, k4.w);
        }
        float most = fmaxf(s[0], s[1]);
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 1)), most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
        if (part == 0) block.most[line][warp] = most;
        sync_workers();
        most = top;
#pragma unroll
        for (int i = 0; i < WARPS / 4; i++) {
            const uint4 of = lds(mosts + (line * WARPS + i * 4) * 4);
            most = fmaxf(fmaxf(most, fmaxf(__uint_as_float(of.x), __uint_as_float(of.y))), fmaxf(__uint_as_float(of.z), __uint_as_float(of.w)));
        }
        // In the order of mma fragments.
        sts32(weights + (line * WEIGHT_ROW + warp / 4 * 16 + part * 4 + warp % 4) * 4, pair_bf16(__expf(s[0] - most), __expf(s[1] - most)));
        const float less = __expf(top - most);
        sum[0] *= less, o[0] *= less, o[1] *= less, top = most;
        sync_workers();
#pragma unroll
        for (int i = 0; i < BOTH / 32; i++) {
            const uint4 v4 = transposed(element(stage[2], stage[3], i * 32 + lane, warp * 8));
            const uint4 w4 = lds(weights + (line * WEIGHT_ROW + i * 16 + part * 4) * 4);
            mma_bf16(o, w4.x, 0, w4.y, 0, v4.x, v4.y), mma_bf16(sum, w4.x, 0, w4.y, 0, ONES, ONES);
            mma_bf16(o, w4.z, 0, w4.w, 0, v4.z, v4.w), mma_bf16(sum, w4.z, 0, w4.w, 0, ONES, ONES);
        }
        if (chunk + 1 == end) {
            // Publish the partial result.
            const int place = (row + line) * splits + split;
            if (line < group)
                store_volatile(sums + place * HEAD + warp * 8 + part * 2, make_uint4(__float_as_uint(o[0]), tag, __float_as_uint(o[1]), tag));
            if (line < group && warp == 0 && part == 0)
                store_volatile(pairs + 2 * place, make_uint4(__float_as_uint(top), tag, __float_as_uint(sum[0]), tag));
        }
        if (own) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        sync_workers();
        if (thread() < TEAM_WARPS)
#pragma unroll
            for (int i = 0; i < 4; i++) arrive(freed[i]);
    }
    if (!works) {
        sync_workers();
        return;
    }
    if (own) {
        // The new token's key and value into the cache.
        const long long place = ((long long)head * tokens + here) * HEAD + d;
        u16 *key = p.keys + place, *value = p.values + place;
        key[0] = (u16)key_pair, key[HEAD / 2] = (u16)(key_pair >> 16);
        value[0] = (u16)value_pair, value[HEAD / 2] = (u16)(value_pair >> 16);
    }
    // Each block of a head combines its share of the outputs from all parts.
    const int all = group * HEAD;
    const int together = splits > 16 ? 32 : splits > 8 ? 16 : 8, last = (split + 1) * all / splits;  // lanes of an output
    for (int base = split * all / splits + warp * (32 / together); base < last; base += WARPS * (32 / together)) {
        const int i = base + lane / together, query = row + i / HEAD;
        float most = minus, total = 0, weights = 0;
        for (int j = lane % together; j < splits && i < last; j += together) {
            const uint2* at = sums + (query * splits + j) * HEAD + i % HEAD;
            uint4 pair;
            uint2 of;
            do {
                pair = load_volatile(pairs + 2 * (query * splits + j));
                of = load_pair(at);
            } while (pair.y != tag || pair.w != tag || of.y != tag);
            const float higher = fmaxf(most, __uint_as_float(pair.x));
            const float less = __expf(most - higher), share = __expf(__uint_as_float(pair.x) - higher);
            weights = weights * less + share * __uint_as_float(pair.z);
            total = total * less + share * __uint_as_float(of.x);
            most = higher;
        }
        float highest = most;
        for (int by = together / 2; by; by /= 2) highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, by));
        const float share = __expf(most - highest);
        weights *= share, total *= share;
        for (int by = together / 2; by; by /= 2)
            weights += __shfl_xor_sync(~0u, weights, by), total += __shfl_xor_sync(~0u, total, by);
        if (lane % together == 0 && i < last) store_word(p.y + query * HEAD + i % HEAD, pair_bf16(0, __fdividef(total, weights)) | tag);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS + 32 * OTHERS, 1)
decode_step(const Phase* phases, int count, Progress* progress, long long* position, const u16* table, int rope,
            long long* token, const u16* embedding, int hidden, int scale_bytes, int stages, int most_in_flight,
            int context, int wrap) {
    constexpr int WORDS = sizeof(Phase) / 8;
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const auto read_phase = [&](int i) {
        asm volatile("cp.async.wait_all;" ::: "memory");
        if (thread() < WORDS && i < count)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" :: "r"(shared_at(block.phases + i % 4) + thread() * 8), "l"((const long long*)(phases + i) + thread()) : "memory");
    };
    read_phase(0), read_phase(1), read_phase(count);
    if (threadIdx.x == 0) {
        block.row = embedding + *token * hidden, block.count = count, block.here = (int)*position, block.epoch = (u32)progress->step * count + 1;
        for (int i = 0; i < stages; i++) start_barrier(block.full + i, 1), start_barrier(block.empty + i, TEAM_WARPS);
        start_barrier(&block.prepared, PREPARERS), start_barrier(&block.input_free, WARPS);
        for (int i = 0; i < TILES; i++) start_barrier(block.done + i, ARRIVALS), start_barrier(block.taken + i, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    Ring ring = {(u32)stages, (u32)scale_bytes, 0, 0, 0, 0};
    if (warp == WARPS) {
        if (lane) return;
        Loader loader = {ring, ring, 0, most_in_flight};
        asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(loader.policy));
        // Read phases two ahead and prefetch tensor maps one ahead.
        Phase p = phases[0], next = phases[count > 1];
        for (int i = 0; i < count; i++) {
            Phase later;
            later.read(phases + min(i + 2, count - 1));
            asm volatile("prefetch.tensormap [%0];" :: "l"(next.w) : "memory");
            if (next.kind >= INT4) asm volatile("prefetch.tensormap [%0];" :: "l"(next.scale) : "memory");  // or of values
            if (next.kind == INT4) asm volatile("prefetch.tensormap [%0];" :: "l"(next.zero) : "memory");
            switch (p.kind) {
                case ATTENTION: load_cache(p, loader); break;
                case FORMAT: load_product<FORMAT>(p, loader); break;
                default: load_product<BF16>(p, loader);
            }
            p = next, next = later;
        }
        return;
    }
    if (warp > WARPS) {
        u32 finished = 0;
        for (int i = 0; i < count; i++) {
            const Phase p = phases[i];
            if (p.kind == ATTENTION) {
            } else if (warp == WARPS + 1)
                finished = finish(p, i, finished, progress, {token, position, context, wrap});
            else if (p.early) {
                if (p.kind == FORMAT) prepare_early<FORMAT>(p, ring, i);
                else prepare_early<BF16>(p, ring, i);
                ring.wide_inputs++;
            }
        }
        return;
    }
    for (int i = 0; i < count; i++) {
        // The next phase is there. The one after it takes the place of the one before the last, which all warps have left, since
        // they synchronise within each.
        read_phase(i + 2);
        const Phase& p = block.phases[i % 4];
        switch (p.kind) {
            case ATTENTION: attention(p, ring, i, table, rope); break;
            case FORMAT: product<FORMAT>(p, ring, i); break;
            default: product<BF16>(p, ring, i);
        }
    }
}
