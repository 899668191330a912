// One decoding step of one sequence as one kernel, for Hopper: products of a row and attention over its cache.
//
// A block for each multiprocessor goes through the phases of the step; between two of them all blocks meet. What a
// phase multiplies by does not depend on the phase before, so one warp, the bringer, copies weights and cache into
// a ring of stages in shared memory without waiting for anybody: while blocks meet, memory is read on.
//
// A stage is 16 rows of at most CHUNK bytes. Sixteen warps multiply it by matrix units (mma), each its segments of
// 64 bytes of all rows. Integers and four-bit floats are bytes, times an input that is written with 16 bits below the
// largest of each 128, as two signed bytes: the columns of the product, of which one row needs only one, hold the
// upper and the lower ones. Segments of rows are summed over the warps in the end.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

constexpr int WARPS = 16, THREADS = 32 * WARPS;  // without the bringer
constexpr int ROWS = 16, BOX = 1024, BOXES = 2, CHUNK = BOX * BOXES;  // bytes of a row that are copied at once
constexpr int SEGMENT = BOX / WARPS, SEGMENTS = CHUNK / SEGMENT;
constexpr int TOKENS_PITCH = CHUNK + 16;  // of the cache in a stage, by which banks are spread
constexpr int SCALES = ROWS * CHUNK, ZEROS = SCALES + ROWS * SEGMENTS * 2;
constexpr int HEAD = 128, TOKENS = ROWS * CHUNK / HEAD / 2, QUERIES = 8;  // size of a head, tokens of a stage, most queries of a key
enum { BF16, INT8, FP8, INT4, MXFP4, NVFP4, ATTENTION };

// Of formats with a scale for some weights `w`, `scale` and `zero` (int4's) are maps of tensors; else `scale` is a
// number for each row; `zero` of four-bit floats are their levels.
struct Phase {
    long long kind, n, k, gated;  // of attention: key heads, tokens, queries of each
    const u8 *w, *scale, *zero;   // of attention: keys, values
    const u16 *x, *norm, *residual;
    u16* y;
    float* part;  // of attention
    long long each, splits;  // of attention: stages of tokens of a part, parts of a head
    long long eps;  // bits of a float; of attention the factor of its scores
    long long turn;  // the block that begins: tiles go round
    __device__ void read(const Phase* from) {
        long long* to = (long long*)this;
#pragma unroll
        for (int i = 0; i < 16; i++) asm volatile("ld.global.b64 %0, [%1];" : "=l"(to[i]) : "l"((const long long*)from + i));
    }
    __device__ int first() const {
        const int mine = blockIdx.x - (int)turn;
        return mine < 0 ? mine + gridDim.x : mine;
    }
};

#ifdef CLOCKS
#define STAMP(k) if (blockIdx.x == CLOCKS && threadIdx.x == 0) ((long long*)(counters + 1024))[k] = clock64();
#else
#define STAMP(k)
#endif

struct Ring {
    u32 stages, full, empty, bytes, count, slot, turn;
    __device__ u32 at() const { return stages + slot * bytes; }
    __device__ u32 loaded() const { return full + 8 * slot; }
    __device__ u32 freed() const { return empty + 8 * slot; }
    __device__ void next() { if (++slot == count) { slot = 0; turn ^= 1; } }
};

__device__ __forceinline__ u32 shared_at(const void* p) { return (u32)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void wait(u32 barrier, u32 parity) {
    asm volatile(
        "{ .reg .pred done; again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1; @!done bra again; }"
        :: "r"(barrier), "r"(parity) : "memory");
}
__device__ __forceinline__ void arrive(u32 barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(barrier) : "memory");
}
__device__ __forceinline__ void meet() { asm volatile("bar.sync 1, %0;" :: "n"(THREADS) : "memory"); }

__device__ __forceinline__ void bring(u32 to, const u8* from, u32 bytes, u32 barrier, u64 policy) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;"
        :: "r"(to), "l"(from), "r"(bytes), "r"(barrier), "l"(policy) : "memory");
}

__device__ __forceinline__ uint4 lds(u32 at) {
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(at));
    return v;
}
__device__ __forceinline__ u32 lds32(u32 at) {
    u32 v; asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(at)); return v;
}
__device__ __forceinline__ u32 lds16(u32 at) {
    u16 v; asm volatile("ld.shared.u16 %0, [%1];" : "=h"(v) : "r"(at)); return v;
}
__device__ __forceinline__ u32 lds8(u32 at) {
    u32 v; asm volatile("ld.shared.u8 %0, [%1];" : "=r"(v) : "r"(at)); return v;
}
__device__ __forceinline__ void sts32(u32 at, u32 v) { asm volatile("st.shared.u32 [%0], %1;" :: "r"(at), "r"(v)); }
__device__ __forceinline__ void sts16(u32 at, u32 v) {
    asm volatile("st.shared.u16 [%0], %1;" :: "r"(at), "h"((u16)v));
}
__device__ __forceinline__ void sts64(u32 at, u32 a, u32 b) {
    asm volatile("st.shared.v2.u32 [%0], {%1,%2};" :: "r"(at), "r"(a), "r"(b));
}
// What another multiprocessor wrote is in the L2, perhaps not here.
__device__ __forceinline__ u32 far16(const u16* p) {
    u16 v; asm volatile("ld.global.cg.u16 %0, [%1];" : "=h"(v) : "l"(p)); return v;
}
__device__ __forceinline__ u32 far32(const u16* p) {
    u32 v; asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(p)); return v;
}
__device__ __forceinline__ uint2 far64(const void* p) {
    uint2 v; asm volatile("ld.global.cg.v2.u32 {%0,%1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(p)); return v;
}
__device__ __forceinline__ float far(const float* p) {
    float v; asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(v) : "l"(p)); return v;
}

__device__ __forceinline__ float wide(u32 bf16) { return __uint_as_float(bf16 << 16); }
__device__ __forceinline__ u32 pair_bf16(float low, float high) {
    u32 v; asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low)); return v;
}
__device__ __forceinline__ u32 pair_fp16(float low, float high) {
    u32 v; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low)); return v;
}

__device__ __forceinline__ void mma_bytes(int* c, u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void mma_bf16(float* c, u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void mma_fp16(float* c, u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

template <int KIND> __device__ __forceinline__ long long row_bytes(long long k) {
    return KIND == BF16 ? 2 * k : KIND < INT4 ? k : k / 2;
}

// The bringer's places: where it writes next, and what it waits for, lest too much be under way: each access to memory
// would then take as long as all of it.
struct Bringer {
    Ring ring, landing;
    int under_way, most;
    u64 policy;
    __device__ void make_room() {
        if (under_way == most) {
            wait(landing.loaded(), landing.turn);
            landing.next();
        } else
            under_way++;
        wait(ring.freed(), ring.turn ^ 1);
    }
};

__device__ __forceinline__ void bring_box(u32 to, const u8* map, int at, int row, u32 barrier, u64 policy) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint"
        " [%0], [%1, {%2, %3, 0}], [%4], %5;"
        :: "r"(to), "l"(map), "r"(at), "r"(row), "r"(barrier), "l"(policy) : "memory");
}
__device__ __forceinline__ void expect(u32 barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(barrier), "r"(bytes) : "memory");
}

template <int KIND>
__device__ __forceinline__ void bring_product(const Phase& p, Bringer& bringer) {
    // Bytes of scales and of zero points for each segment.
    constexpr int SIZES = KIND == INT4 ? 2 : KIND == MXFP4 ? 4 : KIND == NVFP4 ? 8 : 0, LEVELS = KIND == INT4;
    const int step = p.gated ? ROWS / 2 : ROWS, n = (int)p.n, width = (int)row_bytes<KIND>(p.k);
    const u8 *w = p.w, *scale = p.scale, *zero = p.zero;
    for (int out = p.first() * step; out < n; out += step * gridDim.x)
        for (int at = 0; at < width; at += CHUNK) {
            bringer.make_room();
            const u32 to = bringer.ring.at(), full = bringer.ring.loaded();
            const int boxes = width - at > BOX ? BOXES : 1;
            expect(full, ROWS * (boxes * BOX + SEGMENTS * (SIZES + LEVELS)));
            for (int i = 0; i < boxes; i++)
                bring_box(to + i * ROWS * BOX, w, at / 4 + i * (BOX / 4), out, full, bringer.policy);
            if (SIZES) bring_box(to + SCALES, scale, at / SEGMENT * SIZES, out, full, bringer.policy);
            if (LEVELS) bring_box(to + ZEROS, zero, at / SEGMENT, out, full, bringer.policy);
            bringer.ring.next();
        }
}

__device__ __forceinline__ void bring_cache(const Phase& p, Bringer& bringer) {
    for (int item = p.first(); item < p.n * p.splits; item += gridDim.x) {
        const int head = item / (int)p.splits, first = item % (int)p.splits * p.each;
        const int end = min(first + (int)p.each, (int)p.k / TOKENS);
        for (int chunk = first; chunk < end; chunk++)
            for (int both = 0; both < 2; both++) {
                const u8* from = (both ? p.scale : p.w) + (head * p.k + (long long)chunk * TOKENS) * HEAD * 2;
                bringer.make_room();
                const u32 to = bringer.ring.at(), full = bringer.ring.loaded();
                expect(full, ROWS * CHUNK);
                for (int i = 0; i < ROWS; i++) bring(to + i * TOKENS_PITCH, from + i * CHUNK, CHUNK, full, bringer.policy);
                bringer.ring.next();
            }
    }
}

// Which of 128 inputs is byte `j` of what a lane lays out: `part` of four lanes, `word` of its four, upper or lower
// `half` of that word's weights.
template <int KIND> __device__ __forceinline__ int input(int lane, int j) {
    const int part = lane >> 3, word = lane >> 1 & 3, half = lane & 1;
    if (KIND == INT8) return 4 * lane + j;
    if (KIND == INT4) return 16 * (half + 2 * j) + 4 * part + word;
    if (KIND == MXFP4) return 32 * part + 4 * word + 2 * half + (j >> 1) + 16 * (j & 1);
    return 32 * part + 16 * (word >> 1) + 4 * (word & 1) + 2 * half + (j >> 1) + 8 * (j & 1);
}

struct Room { u32 x, unit, sum, partial, squares; };

// Lay the input out in shared memory as the matrix units take it.
template <int KIND> __device__ __forceinline__ void lay_out(const Phase& p, const Room& room) {
    constexpr bool DIGITS = KIND != BF16 && KIND != FP8;
    constexpr int AHEAD = 7;
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, groups = (int)p.k / 128;
    const bool normed = p.norm;
    float squares = 0;
    for (int first = warp; first < groups; first += WARPS * AHEAD) {
        // Two bf16 a word.
        u32 x[AHEAD][2], weight[AHEAD][2];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            const int at = (first + i * WARPS) * 128;
            if (first + i * WARPS >= groups) break;
            if (KIND == INT4) {
#pragma unroll
                for (int j = 0; j < 2; j++)
                    x[i][j] = far16(p.x + at + input<KIND>(lane, 2 * j)) | far16(p.x + at + input<KIND>(lane, 2 * j + 1)) << 16;
            } else if (KIND == MXFP4 || KIND == NVFP4) {
                // Those of bytes 0 and 2, and of 1 and 3, are neighbours.
                const u32 even = far32(p.x + at + input<KIND>(lane, 0)), odd = far32(p.x + at + input<KIND>(lane, 1));
                x[i][0] = __byte_perm(even, odd, 0x5410), x[i][1] = __byte_perm(even, odd, 0x7632);
            } else {
                const uint2 four = far64(p.x + at + lane * 4);
                x[i][0] = four.x, x[i][1] = four.y;
            }
            if (normed && i < 2) {
#pragma unroll
                for (int j = 0; j < 2; j++) {
                    const int one = DIGITS ? input<KIND>(lane, 2 * j) : 4 * lane + 2 * j;
                    const int two = DIGITS ? input<KIND>(lane, 2 * j + 1) : 4 * lane + 2 * j + 1;
                    weight[i][j] = p.norm[at + one] | (u32)p.norm[at + two] << 16;
                }
            }
        }
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            const int group = first + i * WARPS;
            if (group >= groups) break;
            float v[4] = {wide(x[i][0]), wide(x[i][0] >> 16), wide(x[i][1]), wide(x[i][1] >> 16)};
            if (normed) {
                squares += v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + v[3] * v[3];
                if (i < 2) {
                    v[0] *= wide(weight[i][0]), v[1] *= wide(weight[i][0] >> 16);
                    v[2] *= wide(weight[i][1]), v[3] *= wide(weight[i][1] >> 16);
                } else {
#pragma unroll
                    for (int j = 0; j < 4; j++)
                        v[j] *= wide(p.norm[group * 128 + (DIGITS ? input<KIND>(lane, j) : 4 * lane + j)]);
                }
            }
            if (KIND == BF16) {
                // What rounding takes from normed inputs is multiplied as well.
                const u32 a = pair_bf16(v[0], v[1]), b = pair_bf16(v[2], v[3]);
                const u32 at = room.x + group * 256 + lane * 8;
                sts64(at, a, b);
                if (normed)
                    sts64(at + (u32)p.k * 2, pair_bf16(v[0] - wide(a), v[1] - wide(a >> 16)),
                          pair_bf16(v[2] - wide(b), v[3] - wide(b >> 16)));
                continue;
            }
            const float most4 = fmaxf(fmaxf(fabsf(v[0]), fabsf(v[1])), fmaxf(fabsf(v[2]), fabsf(v[3])));
            const float most = fmaxf(__uint_as_float(__reduce_max_sync(~0u, __float_as_uint(most4))), 1e-25f);
            if (KIND == FP8) {
                const u32 power = __float_as_uint(most) & 0x7F800000;  // the power of two below it
                const float inverse = __uint_as_float(0x7F000000 - power);
                const u32 at = room.x + group * 256 + (lane >> 4) * 128 + (lane >> 1 & 1) * 64 + (lane >> 2 & 3) * 16;
                sts64(at + (lane & 1) * 8, pair_fp16(v[0] * inverse, v[2] * inverse), pair_fp16(v[1] * inverse, v[3] * inverse));
                // Weights stand 2^8 too low.
                if (lane == 0) sts32(room.unit + group * 4, power + (8 << 23));
                continue;
            }
            const float inverse = __fdividef(32512.0f, most);
            int whole[4];
#pragma unroll
            for (int j = 0; j < 4; j++) whole[j] = __float2int_rn(v[j] * inverse);
            const u32 place = KIND == INT8 ? (lane >> 4) * 128 + (lane & 15) * 4
                : (lane >> 2 & 1) * 128 + (lane >> 3) * 16 + (lane >> 1 & 1) * 8 + (lane & 1) * 4;
            // Lower bytes are signed, too: upper ones are rounded to the nearest.
            const u32 high = __byte_perm(__byte_perm(whole[0] + 128, whole[1] + 128, 0x51),
                                         __byte_perm(whole[2] + 128, whole[3] + 128, 0x51), 0x5410);
            const u32 low = __byte_perm(__byte_perm(whole[0], whole[1], 0x40), __byte_perm(whole[2], whole[3], 0x40), 0x5410);
            sts32(room.x + group * 256 + place, high), sts32(room.x + group * 256 + place + 64, low);
            if (lane == 0) sts32(room.unit + group * 4, __float_as_uint(most * (1.0f / 32512.0f)));
            // Sums of the inputs that share a scale.
            int sum = whole[0] + whole[1] + whole[2] + whole[3];
            if (KIND == INT4) {
                sum = __reduce_add_sync(~0u, sum);
                if (lane == 0) sts32(room.sum + group * 4, sum);
            } else if (KIND != INT8) {
                constexpr int TOGETHER = KIND == MXFP4 ? 8 : 4;
#pragma unroll
                for (int by = 1; by < TOGETHER; by *= 2) sum += __shfl_xor_sync(~0u, sum, by);
                if (lane % TOGETHER == 0) sts32(room.sum + (group * (32 / TOGETHER) + lane / TOGETHER) * 4, sum);
            }
        }
    }
    if (normed) {
#pragma unroll
        for (int by = 16; by; by /= 2) squares += __shfl_xor_sync(~0u, squares, by);
        if (lane == 0) sts32(room.squares + warp * 4, __float_as_uint(squares));
    }
    meet();
}

// Two bytes of e4m3 as fp16, times 2^-8: those at even or odd places.
__device__ __forceinline__ u32 even(u32 w) { return (w << 8 & 0x80008000) | (w << 7 & 0x3F803F80); }
__device__ __forceinline__ u32 odd(u32 w) { return (w & 0x80008000) | (w >> 1 & 0x3F803F80); }

// Bytes 12 + twice an E2M1 value of the four lower codes of a word: bytes chosen by nibbles, of eight. A nibble from 8
// on gives the byte's sign, which is zero.
__device__ __forceinline__ u32 e2m1(u32 w) {
    u32 a, b;
    asm("prmt.b32 %0, 0x08060400, 0x0C0B0A09, %1;" : "=r"(a) : "r"(w));
    asm("prmt.b32 %0, 0x100F0E0D, 0x00181412, %1;" : "=r"(b) : "r"(w ^ 0x8888));
    return a | b;
}

// Sums of the warp's segments of a chunk of 16 rows, added to those of rows `line` and `line` + 8.
template <int KIND>
__device__ __forceinline__ void multiply(
    const Phase& p, const Room& room, u32 stage, int before, int segments, float& low, float& high, float (*c)[4]
) {
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, line = lane >> 2, part = lane & 3;
    const u32 from = stage + line * BOX + warp * SEGMENT + part * 16, digit = (line & 1) * 64 + part * 16;
    if (KIND == INT4) {
        int sums[2][4] = {};
#pragma unroll
        for (int j = 0; j < BOXES; j++) {
            const int segment = warp + j * WARPS;
            if (segment >= segments) break;
            const uint4 a = lds(from + j * ROWS * BOX), b = lds(from + j * ROWS * BOX + 8 * BOX);
            const u32 at = room.x + (before + segment) * 256 + digit;
            const uint4 x = lds(at), y = lds(at + 128);
            constexpr u32 M = 0x0F0F0F0F;
            mma_bytes(sums[j], a.x & M, b.x & M, a.x >> 4 & M, b.x >> 4 & M, x.x, x.y);
            mma_bytes(sums[j], a.y & M, b.y & M, a.y >> 4 & M, b.y >> 4 & M, x.z, x.w);
            mma_bytes(sums[j], a.z & M, b.z & M, a.z >> 4 & M, b.z >> 4 & M, y.x, y.y);
            mma_bytes(sums[j], a.w & M, b.w & M, a.w >> 4 & M, b.w >> 4 & M, y.z, y.w);
        }
        // Every lane of four has all sums: each takes those of one row and one segment.
        const int second = part >> 1, lower = part & 1, segment = warp + second * WARPS;
        const int upper = second ? (lower ? sums[1][2] : sums[1][0]) : (lower ? sums[0][2] : sums[0][0]);
        const int rest = second ? (lower ? sums[1][3] : sums[1][1]) : (lower ? sums[0][3] : sums[0][1]);
        if (segment < segments) {
            const int row = line + 8 * lower, group = before + segment;
            const int level = lds8(stage + ZEROS + row * SEGMENTS + segment);
            const float size = wide(lds16(stage + SCALES + (row * SEGMENTS + segment) * 2));
            const int sum = upper * 256 + rest - level * (int)lds32(room.sum + group * 4);
            low += (float)sum * (size * __uint_as_float(lds32(room.unit + group * 4)));
        }
        return;
    }
#pragma unroll
    for (int j = 0; j < BOXES; j++) {
        const int segment = warp + j * WARPS;
        if (segment >= segments) break;
        const uint4 a = lds(from + j * ROWS * BOX), b = lds(from + j * ROWS * BOX + 8 * BOX);
        const int whole = before + segment;
        if (KIND == BF16) {
            const uint4 x = lds(room.x + whole * 64 + part * 16 + (p.norm && (line & 1) ? (u32)p.k * 2 : 0));
            mma_bf16(c[0], a.x, b.x, a.y, b.y, x.x, x.y);
            mma_bf16(c[1], a.z, b.z, a.w, b.w, x.z, x.w);
        } else if (KIND == FP8) {
            const uint4 x = lds(room.x + whole * 128 + part * 16), y = lds(room.x + whole * 128 + 64 + part * 16);
            float sums[4] = {};
            mma_fp16(sums, even(a.x), even(b.x), odd(a.x), odd(b.x), x.x, x.y);
            mma_fp16(sums, even(a.y), even(b.y), odd(a.y), odd(b.y), x.z, x.w);
            mma_fp16(sums, even(a.z), even(b.z), odd(a.z), odd(b.z), y.x, y.y);
            mma_fp16(sums, even(a.w), even(b.w), odd(a.w), odd(b.w), y.z, y.w);
            const float unit = __uint_as_float(lds32(room.unit + (whole >> 1) * 4));
            low += sums[0] * unit, high += sums[2] * unit;
        } else if (KIND == INT8) {
            const uint4 x = lds(room.x + whole * 128 + digit);
            int sums[4] = {};
            mma_bytes(sums, a.x, b.x, a.y, b.y, x.x, x.y);
            mma_bytes(sums, a.z, b.z, a.w, b.w, x.z, x.w);
            const float unit = __uint_as_float(lds32(room.unit + (whole >> 1) * 4));
            low += (float)(sums[0] * 256 + sums[1]) * unit, high += (float)(sums[2] * 256 + sums[3]) * unit;
        } else {
            // Four lanes have weights of groups of their own, each two columns, for which the others' inputs are zero.
            uint4 x = {}, y = {};
            if (line >> 1 == part) {
                x = lds(room.x + whole * 256 + digit), y = lds(room.x + whole * 256 + digit + 128);
            }
            int sums[2][4] = {};
            int* last = sums[KIND == NVFP4];
            mma_bytes(sums[0], e2m1(a.x), e2m1(b.x), e2m1(a.x >> 16), e2m1(b.x >> 16), x.x, x.y);
            mma_bytes(sums[0], e2m1(a.y), e2m1(b.y), e2m1(a.y >> 16), e2m1(b.y >> 16), x.z, x.w);
            mma_bytes(last, e2m1(a.z), e2m1(b.z), e2m1(a.z >> 16), e2m1(b.z >> 16), y.x, y.y);
            mma_bytes(last, e2m1(a.w), e2m1(b.w), e2m1(a.w >> 16), e2m1(b.w >> 16), y.z, y.w);
            const float unit = __uint_as_float(lds32(room.unit + whole * 4));
            constexpr int GROUPS = KIND == NVFP4 ? 2 : 1;  // of a lane
#pragma unroll
            for (int g = 0; g < GROUPS; g++) {
                const int known = 12 * (int)lds32(room.sum + ((whole * 4 + part) * GROUPS + g) * 4);
                float of[2];
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    const u32 place = (line + 8 * i) * (SEGMENTS * 4 * GROUPS) + (segment * 4 + part) * GROUPS + g;
                    const u32 code = lds8(stage + SCALES + place);
                    const float size = KIND == MXFP4
                        ? __uint_as_float(code << 23)  // 2^(code - 127)
                        : __uint_as_float((code & 127) << 20) * 1329227995784915872903807060280344576.0f;  // e4m3
                    of[i] = (float)(sums[g][2 * i] * 256 + sums[g][2 * i + 1] - known) * (size * unit);
                }
                low += of[0], high += of[1];
            }
        }
    }
}

template <int KIND>
__device__ __noinline__ void product(const Phase& p, Ring& ring, const Room& room, int phase, int* counters) {
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, line = lane >> 2, part = lane & 3;
    lay_out<KIND>(p, room);
    STAMP(4 * phase + 2)
    const int width = (int)row_bytes<KIND>(p.k), step = p.gated ? ROWS / 2 : ROWS, n = (int)p.n;
    int tile = 0;
    for (int out = p.first() * step; out < n; out += step * gridDim.x, tile++) {
        // One warp sums the rows of all; what it needs besides is asked for early.
        const bool mine = tile % WARPS == warp;
        const bool there = mine && lane < step && out + lane < n;
        float size = 1, added = 0;
        if (mine && lane < ROWS && (KIND == INT8 || KIND == FP8) && out + lane % step < n)
            // With a gate every output has two rows, eight apart here and n in the matrix.
            size = ((const float*)p.scale)[out + lane % step + lane / step * n];
        if (KIND > INT4 && mine) size = ((const float*)p.zero)[14] / 12.0f;  // Levels go up to six, twelve here.
        if (there && p.residual) added = wide(far16(p.residual + out + lane));
        float low = 0, high = 0, c[2][4] = {};
        for (int at = 0; at < width; at += CHUNK) {
            wait(ring.loaded(), ring.turn);
            multiply<KIND>(p, room, ring.at(), at / SEGMENT, min(CHUNK, width - at) / SEGMENT, low, high, c);
            __syncwarp();
            if (lane == 0) arrive(ring.freed());
            ring.next();
        }
        if (KIND == BF16) {
            low = c[0][0] + c[1][0], high = c[0][2] + c[1][2];
            if (p.norm) low += c[0][1] + c[1][1], high += c[0][3] + c[1][3];
        }
        if (KIND == INT4) {
            low += __shfl_xor_sync(~0u, low, 2);
            high = low;
        }
        if (KIND > INT4) {
            low += __shfl_xor_sync(~0u, low, 1), high += __shfl_xor_sync(~0u, high, 1);
            low += __shfl_xor_sync(~0u, low, 2), high += __shfl_xor_sync(~0u, high, 2);
        }
        const u32 sums = room.partial + (tile & 1) * (WARPS * ROWS * 4);
        if (part < 2)
            asm volatile("st.shared.f32 [%0], %1;" :: "r"(sums + (warp * ROWS + line + 8 * part) * 4), "f"(part ? high : low));
        meet();
        if (mine) {
            float total = 0, squares = 0;
#pragma unroll
            for (int i = 0; i < WARPS; i++) {
                total += __uint_as_float(lds32(sums + (i * ROWS + (lane & 15)) * 4));
                if (p.norm) squares += __uint_as_float(lds32(room.squares + i * 4));
            }
            if (p.norm) size *= rsqrtf(squares / p.k + __uint_as_float((u32)p.eps));
            total *= size;
            const float up = __shfl_down_sync(~0u, total, 8);
            if (p.gated) total = total / (1.0f + __expf(-total)) * up;
            if (there) p.y[out + lane] = (u16)pair_bf16(total + added, 0);
        }
    }
}

__device__ __noinline__ void attention(const Phase& p, Ring& ring, u32 room, int here, const u16* table, int rope, int* counters, int phase) {
    constexpr int LINE = CHUNK / HEAD / 2, ROW = HEAD * 2 + 16, SCORES = QUERIES * ROW, SCORE_ROW = (TOKENS + 4) * 4;
    constexpr int SHARES = SCORES + QUERIES * SCORE_ROW, STATES = SHARES + QUERIES * ROW;  // of states: factor, flag
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, line = lane >> 2, part = lane & 3;
    const int group = (int)p.gated, splits = (int)p.splits;
    const float factor = __uint_as_float((u32)p.eps);
    const float minus = __uint_as_float(0xFF800000);
    float* pairs = p.part + p.n * group * splits * HEAD;  // largest and sum
    for (int item = p.first(); item < p.n * splits; item += gridDim.x) {
        const int head = item / splits, split = item % splits, first = split * (int)p.each;
        const int end = min(first + (int)p.each, (int)p.k / TOKENS);
        u32 key_pair = 0, value_pair = 0;
        for (int i = threadIdx.x; i < QUERIES * HEAD / 2; i += THREADS) {
            const int h = i / (HEAD / 2), d = i % (HEAD / 2);
            u32 both = 0;
            if (h == 0 && here / TOKENS >= first && here / TOKENS < end) {
                // The token's own key and value, which go into the cache, and into the copy of it.
                const u16 *k = p.x + (p.n * group + head) * HEAD + d, *v = k + p.n * HEAD;
                const float a = wide(far16(k)), b = wide(far16(k + HEAD / 2));
                value_pair = far16(v) | far16(v + HEAD / 2) << 16;
                const float cosine = wide(table[here * (HEAD / 2) + d]), sine = wide(table[rope + here * (HEAD / 2) + d]);
                key_pair = pair_bf16(a * cosine - b * sine, b * cosine + a * sine);
            }
            if (h < group) {
                const u16* q = p.x + (head * group + h) * HEAD + d;
                const float a = wide(far16(q)), b = wide(far16(q + HEAD / 2));
                const float cosine = wide(table[here * (HEAD / 2) + d]), sine = wide(table[rope + here * (HEAD / 2) + d]);
                both = pair_bf16((a * cosine - b * sine) * factor, (b * cosine + a * sine) * factor);
            }
            sts16(room + h * ROW + d * 2, both), sts16(room + h * ROW + (d + HEAD / 2) * 2, both >> 16);
            asm volatile("st.shared.u32 [%0], %1;" :: "r"(room + SHARES + h * ROW + d * 4), "r"(0));
        }
        if (threadIdx.x < QUERIES) asm volatile("st.shared.f32 [%0], %1;" :: "r"(room + STATES + threadIdx.x * 4), "f"(1.0f));
        float o[4] = {}, top = minus, weight = 0;
        for (int chunk = first; chunk < end; chunk++) {
            const u32 keys = ring.at(), key_full = ring.loaded(), key_free = ring.freed();
            wait(key_full, ring.turn);
            ring.next();
            const u32 values = ring.at(), value_free = ring.freed();
            wait(ring.loaded(), ring.turn);
            ring.next();
            if (here / TOKENS == chunk && threadIdx.x < HEAD / 2) {
                const int d = threadIdx.x, token = here % TOKENS;
                const u32 at = token / LINE * TOKENS_PITCH + token % LINE * (HEAD * 2) + d * 2;
                const long long place = (head * p.k + here) * HEAD + d;
                u16 *key = (u16*)p.w + place, *value = (u16*)p.scale + place;
                key[0] = (u16)key_pair, key[HEAD / 2] = (u16)(key_pair >> 16);
                value[0] = (u16)value_pair, value[HEAD / 2] = (u16)(value_pair >> 16);
                sts16(keys + at, key_pair), sts16(keys + at + HEAD, key_pair >> 16);
                sts16(values + at, value_pair), sts16(values + at + HEAD, value_pair >> 16);
                asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            }
            meet();
            // A warp's eight tokens are of eight rows of the stage, whose banks differ.
            if (warp < TOKENS / 8) {
            const u32 from = keys + (line + 8 * (warp & 1)) * TOKENS_PITCH + (warp >> 1) * (HEAD * 2) + part * 16;
            float s[4] = {};
#pragma unroll
            for (int i = 0; i < HEAD / 32; i++) {
                const uint4 a = lds(room + line * ROW + i * 64 + part * 16), b = lds(from + i * 64);
                mma_bf16(s, a.x, 0, a.y, 0, b.x, b.y);
                mma_bf16(s, a.z, 0, a.w, 0, b.z, b.w);
            }
            sts64(room + SCORES + line * SCORE_ROW + (8 * warp + 2 * part) * 4, __float_as_uint(s[0]), __float_as_uint(s[1]));
            }
            meet();
            if (warp < group) {
                float v[TOKENS / 32], most = top, sum = 0;
#pragma unroll
                for (int i = 0; i < TOKENS / 32; i++) {
                    v[i] = __uint_as_float(lds32(room + SCORES + warp * SCORE_ROW + (lane + 32 * i) * 4));
                    most = fmaxf(most, v[i]);
                }
#pragma unroll
                for (int by = 16; by; by /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, by));
#pragma unroll
                for (int i = 0; i < TOKENS / 32; i++) {
                    const float share = __expf(v[i] - most);
                    sum += share;
                    sts16(room + SHARES + warp * ROW + (lane + 32 * i) * 2, pair_bf16(share, 0));
                }
#pragma unroll
                for (int by = 16; by; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
                const float less = __expf(top - most);
                weight = weight * less + sum, top = most;
                if (lane == 0) asm volatile("st.shared.f32 [%0], %1;" :: "r"(room + STATES + warp * 4), "f"(less));
            }
            meet();
            const float less = __uint_as_float(lds32(room + STATES + line * 4));
            o[0] *= less, o[1] *= less;
            // Eight of 128 elements of a value a warp, of all tokens in the order in which warps took them above.
#pragma unroll
            for (int i = 0; i < TOKENS / 32; i++) {
                const int m = 4 * i + (lane >> 3);
                const u32 at = values + ((lane & 7) + 8 * (m & 1)) * TOKENS_PITCH + (m >> 1) * (HEAD * 2) + warp * 16;
                u32 b[4];
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                             : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3]) : "r"(at));
                const u32 share = room + SHARES + line * ROW + i * 64 + part * 4;
                mma_bf16(o, lds32(share), 0, lds32(share + 16), 0, b[0], b[1]);
                mma_bf16(o, lds32(share + 32), 0, lds32(share + 48), 0, b[2], b[3]);
            }
            __syncwarp();
            if (lane == 0) arrive(key_free), arrive(value_free);
        }
        const int row = head * group;
        STAMP(4 * phase + 2)
        if (line < group) {
            float2* to = (float2*)(p.part + ((long long)(row + line) * splits + split) * HEAD + warp * 8 + part * 2);
            *to = make_float2(o[0], o[1]);
        }
        if (warp < group && lane == 0) *(float2*)(pairs + 2 * ((row + warp) * splits + split)) = make_float2(top, weight);
        meet();
        // Whoever ends a head's last part joins them.
        if (threadIdx.x == 0) {
            __threadfence();
            const int before = atomicAdd(counters + 2 + head, 1);
            if (before == splits - 1) counters[2 + head] = 0;
            __threadfence();
            asm volatile("st.shared.u32 [%0], %1;" :: "r"(room + STATES + 64), "r"((u32)(before == splits - 1)));
        }
        meet();
        if (lds32(room + STATES + 64)) {
            for (int i = threadIdx.x; i < group * HEAD; i += THREADS) {
                const int h = row + i / HEAD, d = i % HEAD;
                float most = minus, total = 0, all = 0;
#pragma unroll 8
                for (int j = 0; j < splits; j++) most = fmaxf(most, far(pairs + 2 * (h * splits + j)));
#pragma unroll 8
                for (int j = 0; j < splits; j++) {
                    const float share = __expf(far(pairs + 2 * (h * splits + j)) - most);
                    all += share * far(pairs + 2 * (h * splits + j) + 1);
                    total += share * far(p.part + ((long long)h * splits + j) * HEAD + d);
                }
                p.y[h * HEAD + d] = (u16)pair_bf16(total / all, 0);
            }
        }
        meet();
    }
}


extern "C" __global__ void __launch_bounds__(THREADS + 32, 1)
decode_step(const Phase* phases, int count, int* counters, const long long* position, const u16* table, int rope,
            int stage_bytes, int stages, int under_way, int room_bytes) {
    extern __shared__ __align__(128) u8 memory[];
    __shared__ Phase now[2];
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const u32 start = shared_at(memory), room = start + stages * stage_bytes, after = room + room_bytes;
    Ring ring = {start, after, after + 8 * stages, (u32)stage_bytes, (u32)stages, 0, 0};
    if (threadIdx.x == 0) {
        for (int i = 0; i < stages; i++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(ring.full + 8 * i) : "memory");
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(ring.empty + 8 * i), "n"(WARPS) : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    constexpr int WORDS = sizeof(Phase) / 8;
    const long long* words = (const long long*)phases;
    if (threadIdx.x < WORDS) ((long long*)now)[threadIdx.x] = words[threadIdx.x];
    __syncthreads();
    if (warp == WARPS) {
        if (lane) return;
        Bringer bringer = {ring, ring, 0, under_way};
        asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(bringer.policy));
        // Phases are read two ahead, what their maps are one ahead.
        Phase p = phases[0], next = phases[count > 1];
        for (int i = 0; i < count; i++) {
            Phase later;
            later.read(phases + min(i + 2, count - 1));
            if (next.kind != ATTENTION) {
                asm volatile("prefetch.tensormap [%0];" :: "l"(next.w) : "memory");
                if (next.kind >= INT4) asm volatile("prefetch.tensormap [%0];" :: "l"(next.scale) : "memory");
                if (next.kind == INT4) asm volatile("prefetch.tensormap [%0];" :: "l"(next.zero) : "memory");
            }
            switch (p.kind) {
                case BF16: bring_product<BF16>(p, bringer); break;
                case INT8: bring_product<INT8>(p, bringer); break;
                case FP8: bring_product<FP8>(p, bringer); break;
                case INT4: bring_product<INT4>(p, bringer); break;
                case MXFP4: bring_product<MXFP4>(p, bringer); break;
                case NVFP4: bring_product<NVFP4>(p, bringer); break;
                default: bring_cache(p, bringer);
            }
            p = next, next = later;
        }
        return;
    }
    // Of the room: sums over warps, squares, units of 128 inputs, sums of those that share a scale, inputs.
    const Room rooms = {room + 7680, room + 2304, room + 3328, room, room + 2048};
    const int here = (int)*position;
    for (int i = 0; i < count; i++) {
        const Phase& p = now[i & 1];
        long long next = 0;
        if (threadIdx.x < WORDS && i + 1 < count)
            asm volatile("ld.global.b64 %0, [%1];" : "=l"(next) : "l"(words + (i + 1) * WORDS + threadIdx.x));
        STAMP(4 * i)
        if (i) {
            // All blocks have written what this phase reads.
            if (threadIdx.x == 0) {
                const int all = i * gridDim.x;
                int seen;
                do asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(counters) : "memory");
                while (seen < all);
            }
            meet();
        }
        STAMP(4 * i + 1)
        switch (p.kind) {
            case BF16: product<BF16>(p, ring, rooms, i, counters); break;
            case INT8: product<INT8>(p, ring, rooms, i, counters); break;
            case FP8: product<FP8>(p, ring, rooms, i, counters); break;
            case INT4: product<INT4>(p, ring, rooms, i, counters); break;
            case MXFP4: product<MXFP4>(p, ring, rooms, i, counters); break;
            case NVFP4: product<NVFP4>(p, ring, rooms, i, counters); break;
            default: attention(p, ring, rooms.x, here, table, rope, counters, i);
        }
        if (threadIdx.x < WORDS) ((long long*)(now + (i + 1 & 1)))[threadIdx.x] = next;
        meet();
        STAMP(4 * i + 3)
        if (threadIdx.x == 0) {
            if (i + 1 < count)
                asm volatile("red.release.gpu.global.add.s32 [%0], 1;" :: "l"(counters) : "memory");
            else if (atomicAdd(counters + 1, 1) == gridDim.x - 1)
                counters[0] = 0, counters[1] = 0;  // for the next step
        }
    }
}
