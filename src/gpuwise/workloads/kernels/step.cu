// One decoding step of one sequence as one kernel, for Hopper: products of a row and attention over its cache.
//
// A block for each multiprocessor goes through the phases of the step. What a phase multiplies by does not depend on
// the phase before, so one thread, the bringer, copies weights and cache into a ring of stages in shared memory
// without waiting for anybody. Results go from block to block as words that hold a number and a tag, which says of
// which phase it is: who reads one waits until the tag is right, and nothing else needs to be ordered. Nobody writes
// where others have yet to read: it takes all results of the phases between to write there again.
//
// A stage is 1,024 bytes of 16 rows, as eight boxes of 128 bytes whose 16-byte pieces are swizzled as the copies do.
// Four teams of four warps take turns to multiply one by matrix units (mma), a warp its segments of 64 bytes of all
// rows. Integers and four-bit floats are bytes, times an input that is written with 16 bits below the
// largest of each 128, as two signed bytes: the columns of the product, of which one row needs only one, hold the
// upper and the lower ones. Segments of rows are summed over the warps in the end.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

constexpr int WARPS = 16, THREADS = 32 * WARPS;  // without the bringer
constexpr int TEAMS = 4, MATES = WARPS / TEAMS;
constexpr int TILES = 8;  // whose sums are kept: so far warps are apart at most
constexpr int ROWS = 16, CHUNK = 1024, STAGE = ROWS * CHUNK, SEGMENT = 64, SEGMENTS = CHUNK / SEGMENT;
constexpr int MINE = SEGMENTS / MATES;  // segments of a warp
constexpr int HEAD = 128, TOKENS = STAGE / HEAD / 2, QUERIES = 8;  // size of a head, tokens of a stage, most queries
enum { BF16, INT8, FP8, INT4, MXFP4, NVFP4, ATTENTION };

// Of formats with a scale for some weights `w`, `scale` and `zero` (int4's) are maps of tensors; else `scale` is a
// number for each row; `zero` of four-bit floats are their levels.
struct Phase {
    long long kind, n, k, gated;  // of attention: key heads, tokens, queries of each
    const u8 *w, *scale, *zero;   // of attention: keys, values
    const u32* x;
    const u16* norm;
    const u32* residual;
    u32* y;
    uint2* part;  // of attention
    long long each, splits;  // of attention: stages of tokens of a part, parts of a head
    long long eps;  // bits of a float; of attention the factor of its scores
    long long turn;  // the block that begins: tiles go round
    long long x_from, residual_from;  // the phases whose results these are; -1: rows of the embedding, bf16
    u16 *keys, *values;
    long long more[4];
    __device__ void read(const Phase* from) {
        long long* to = (long long*)this;
#pragma unroll
        for (int i = 0; i < (int)sizeof(Phase) / 8; i++) asm volatile("ld.global.b64 %0, [%1];" : "=l"(to[i]) : "l"((const long long*)from + i));
    }
    __device__ int first() const {
        const int mine = blockIdx.x - (int)turn;
        return mine < 0 ? mine + gridDim.x : mine;
    }
};


struct Ring {
    u32 stages, beside, full, empty, done, besides, count, slot, turn, tiles;
    __device__ u32 at() const { return stages + slot * STAGE; }
    __device__ u32 sizes() const { return beside + slot * besides; }  // scales and zero points
    __device__ u32 loaded() const { return full + 8 * slot; }
    __device__ u32 freed() const { return empty + 8 * slot; }
    __device__ void next() {
        if (++slot == count) slot = 0, turn ^= 1;
    }
};

__device__ __forceinline__ u32 shared_at(const void* p) { return (u32)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void wait(u32 barrier, u32 parity) {
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
__device__ __forceinline__ void meet() { asm volatile("bar.sync 1, %0;" :: "n"(THREADS) : "memory"); }

__device__ __forceinline__ uint4 lds(u32 at) {
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(at));
    return v;
}
// Pieces of eight rows, a word of each row and piece a lane.
__device__ __forceinline__ uint4 matrices(u32 at) {
    uint4 v;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(at));
    return v;
}
__device__ __forceinline__ uint4 transposed(u32 at) {
    uint4 v;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(at));
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
// Words of a number and its tag, as another block wrote them: in the L2.
__device__ __forceinline__ u32 told(const u32* p, u32 tag) {
    u32 v;
    do {
        asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    } while ((v ^ tag) & 0xFFFF);
    return v;
}
__device__ __forceinline__ uint4 look(const void* p) {
    uint4 v;
    asm volatile("ld.volatile.global.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p) : "memory");
    return v;
}
__device__ __forceinline__ void tell(void* p, uint4 v) {
    asm volatile("st.volatile.global.v4.u32 [%0], {%1,%2,%3,%4};" :: "l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
__device__ __forceinline__ bool all_are(uint4 v, u32 tag) {
    return !(((v.x ^ tag) | (v.y ^ tag) | (v.z ^ tag) | (v.w ^ tag)) & 0xFFFF);
}

__device__ __forceinline__ float wide(u32 bf16) { return __uint_as_float(bf16 << 16); }
__device__ __forceinline__ float number(u32 word) { return __uint_as_float(word & 0xFFFF0000); }
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

__device__ __forceinline__ void bring_rows(u32 to, const u8* map, int at, int row, u32 barrier, u64 policy) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint"
        " [%0], [%1, {0, %3, 0, %2}], [%4], %5;"
        :: "r"(to), "l"(map), "r"(at), "r"(row), "r"(barrier), "l"(policy) : "memory");
}
__device__ __forceinline__ void bring_sizes(u32 to, const u8* map, int at, int row, u32 barrier, u64 policy) {
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
            const u32 sizes = bringer.ring.sizes();
            expect(full, STAGE + ROWS * SEGMENTS * (SIZES + LEVELS));
            bring_rows(to, w, at / 128, out, full, bringer.policy);
            if (SIZES) bring_sizes(sizes, scale, at / SEGMENT * SIZES, out, full, bringer.policy);
            if (LEVELS) bring_sizes(sizes + ROWS * SEGMENTS * SIZES, zero, at / SEGMENT, out, full, bringer.policy);
            bringer.ring.next();
        }
}

__device__ __forceinline__ void bring_cache(const Phase& p, Bringer& bringer) {
    for (int item = p.first(); item < p.n * p.splits; item += gridDim.x) {
        const int head = item / (int)p.splits, first = item % (int)p.splits * p.each;
        const int end = min(first + (int)p.each, (int)p.k / (2 * TOKENS));
        for (int i = first * 4; i < end * 4; i++) {
            // Two stages of keys, two of values
            bringer.make_room();
            const int row = head * (int)p.k + (i / 4 * 2 + i % 2) * TOKENS;
            expect(bringer.ring.loaded(), STAGE);
            bring_rows(bringer.ring.at(), i & 2 ? p.scale : p.w, 0, row, bringer.ring.loaded(), bringer.policy);
            bringer.ring.next();
        }
    }
}

// Bytes of four lanes, a row each, as columns: `upper` and `lower` are the masks of lanes that differ.
__device__ __forceinline__ u32 across(u32 v, int lane) {
    const bool upper = lane & 16, odd = lane & 8;
    u32 got = __shfl_xor_sync(~0u, __byte_perm(v, 0, upper ? 0x4410 : 0x4432), 16);
    v = __byte_perm(v, got, upper ? 0x3254 : 0x5410);
    got = __shfl_xor_sync(~0u, __byte_perm(v, 0, odd ? 0x4420 : 0x4431), 8);
    return __byte_perm(v, got, odd ? 0x3514 : 0x5240);
}
// Bytes of two lanes that differ by the mask `by`, interleaved: the lane without it has the first halves.
__device__ __forceinline__ u32 woven(u32 v, int lane, int by) {
    const bool second = lane & by;
    const u32 got = __shfl_xor_sync(~0u, __byte_perm(v, 0, second ? 0x4410 : 0x4432), by);
    return __byte_perm(v, got, second ? 0x3524 : 0x5140);
}

struct Room { u32 x, unit, sum, partial, squares; };

// Lay groups of 128 inputs out in shared memory as the matrix units take them, N of a warp at a time: a lane has four
// inputs of a group. Returns the lane's sum of squares.
template <int KIND, int N>
__device__ __forceinline__ float lay_groups(const Phase& p, const Room& room, const u16* plain, u32 tag, int first, bool begins) {
    const int lane = threadIdx.x & 31;
    const bool normed = p.norm;
    uint2 weight[N];
    float v[N][4];
    float squares = 0;
    if (normed)
#pragma unroll
        for (int i = 0; i < N; i++)
            asm volatile("ld.global.nc.v2.u32 {%0,%1}, [%2];" : "=r"(weight[i].x), "=r"(weight[i].y)
                         : "l"(p.norm + (first + i * WARPS) * 128 + lane * 4));
    if (plain) {
#pragma unroll
        for (int i = 0; i < N; i++) {
            const uint2 x = *(const uint2*)(plain + (first + i * WARPS) * 128 + lane * 4);
            v[i][0] = wide(x.x), v[i][1] = wide(x.x >> 16), v[i][2] = wide(x.y), v[i][3] = wide(x.y >> 16);
        }
    } else {
        const u32* from = p.x + first * 128 + lane * 4;
        uint4 x[N];
#pragma unroll
        for (int i = 0; i < N; i++) x[i] = look(from + i * WARPS * 128);
#pragma unroll
        for (int i = 0; i < N; i++) {
            while (!all_are(x[i], tag)) {
                x[i] = look(from + i * WARPS * 128);
            }
            v[i][0] = number(x[i].x), v[i][1] = number(x[i].y), v[i][2] = number(x[i].z), v[i][3] = number(x[i].w);
        }
    }
    if (begins) meet();  // All have done with the input before.
    float most[N];
#pragma unroll
    for (int i = 0; i < N; i++) {
        if (normed) {
            squares += v[i][0] * v[i][0] + v[i][1] * v[i][1] + v[i][2] * v[i][2] + v[i][3] * v[i][3];
            v[i][0] *= wide(weight[i].x), v[i][1] *= wide(weight[i].x >> 16);
            v[i][2] *= wide(weight[i].y), v[i][3] *= wide(weight[i].y >> 16);
        }
        const float most4 = fmaxf(fmaxf(fabsf(v[i][0]), fabsf(v[i][1])), fmaxf(fabsf(v[i][2]), fabsf(v[i][3])));
        most[i] = KIND == BF16 ? 0 : fmaxf(__uint_as_float(__reduce_max_sync(~0u, __float_as_uint(most4))), 1e-25f);
    }
    // `part` of four lanes multiplies by them, with its word of `piece`, of int4 and floats its upper or lower half.
    int part = lane & 3, piece = lane >> 3, half = lane >> 2 & 1;
    if (KIND == INT4) part = lane >> 3, piece = lane & 3;
    if (KIND == NVFP4) part = (lane >> 2 & 1) * 2 + (lane & 1), half = lane >> 1 & 1;
    u32 place = part * 16 + (piece >> 1) * 128 + (piece & 1) * 8 + half * 4;
    if (KIND == INT8) place = part * 16 + (lane >> 4) * 128 + (lane >> 2 & 3) * 4;
    if (KIND == FP8) place = part * 16 + (lane >> 4) * 128 + (lane >> 3 & 1) * 64 + (lane >> 2 & 1) * 8;
    if (KIND == BF16) place = (lane >> 3) * 64 + (lane & 1) * 32 + (lane >> 1 & 3) * 4;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const int group = first + i * WARPS;
        const u32 at = room.x + group * 256 + place;
        if (KIND == BF16) {
            // What rounding takes from normed inputs is multiplied as well.
            const u32 a = pair_bf16(v[i][0], v[i][1]), b = pair_bf16(v[i][2], v[i][3]);
            sts32(at, a), sts32(at + 16, b);
            if (normed) {
                const u32 rest = at + (u32)p.k * 2;
                sts32(rest, pair_bf16(v[i][0] - wide(a), v[i][1] - wide(a >> 16)));
                sts32(rest + 16, pair_bf16(v[i][2] - wide(b), v[i][3] - wide(b >> 16)));
            }
            continue;
        }
        if (KIND == FP8) {
            const u32 power = __float_as_uint(most[i]) & 0x7F800000;  // the power of two below it
            const float inverse = __uint_as_float(0x7F000000 - power);
            sts64(at, pair_fp16(v[i][0] * inverse, v[i][2] * inverse), pair_fp16(v[i][1] * inverse, v[i][3] * inverse));
            // Weights stand 2^8 too low.
            if (lane == 0) sts32(room.unit + group * 4, power + (8 << 23));
            continue;
        }
        const float inverse = __fdividef(32512.0f, most[i]);
        int whole[4];
#pragma unroll
        for (int j = 0; j < 4; j++) whole[j] = __float2int_rn(v[i][j] * inverse);
        // Lower bytes are signed, too: upper ones are rounded to the nearest.
        u32 high = __byte_perm(__byte_perm(whole[0] + 128, whole[1] + 128, 0x51),
                               __byte_perm(whole[2] + 128, whole[3] + 128, 0x51), 0x5410);
        u32 low = __byte_perm(__byte_perm(whole[0], whole[1], 0x40), __byte_perm(whole[2], whole[3], 0x40), 0x5410);
        if (KIND == INT4) high = across(high, lane), low = across(low, lane);
        if (KIND == MXFP4) high = woven(high, lane, 4), low = woven(low, lane, 4);
        if (KIND == NVFP4) high = woven(high, lane, 2), low = woven(low, lane, 2);
        sts32(at, high), sts32(at + 64, low);
        if (lane == 0) sts32(room.unit + group * 4, __float_as_uint(most[i] * (1.0f / 32512.0f)));
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
    return squares;
}

template <int KIND>
__device__ __forceinline__ void lay_out(const Phase& p, const Room& room, const u16* plain, u32 tag) {
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, groups = (int)p.k / 128;
    float squares = 0;
    if (groups == 7 * WARPS)
        squares = lay_groups<KIND, 7>(p, room, plain, tag, warp, true);
    else if (groups % (2 * WARPS) == 0)
        for (int first = warp; first < groups; first += 2 * WARPS)
            squares += lay_groups<KIND, 2>(p, room, plain, tag, first, first == warp);
    else {
        meet();
        for (int first = warp; first < groups; first += WARPS)
            squares += lay_groups<KIND, 1>(p, room, plain, tag, first, false);
    }
    if (p.norm) {
#pragma unroll
        for (int by = 16; by; by /= 2) squares += __shfl_xor_sync(~0u, squares, by);
        if (lane == 0) sts32(room.squares + warp * 4, __float_as_uint(squares));
    }
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

// Of four a lane's own.
template <typename T> __device__ __forceinline__ T of_four(int part, T a, T b, T c, T d) {
    const T low = part & 1 ? b : a, high = part & 1 ? d : c;
    return part & 2 ? high : low;
}

// Sums of the warp's segments of a stage, added to those of rows `line` and `line` + 8: of int4 and floats a lane adds
// those of its groups, else each of four lanes has all.
template <int KIND>
__device__ __forceinline__ void multiply(
    bool normed, int k, const Room& room, u32 stage, u32 sizes, int before, float& low, float& high, float (*c)[4]
) {
    const int mate = (threadIdx.x >> 5) % MATES, lane = threadIdx.x & 31, line = lane >> 2, part = lane & 3;
    const u32 from = stage + mate * (MINE / 2 * ROWS * 128) + (lane & 7) * 128 + (((lane >> 3) ^ (lane & 7)) << 4);
    const u32 digit = (line & 1) * 64 + part * 16;
    int sums[4][4] = {};
    float wides[4][4] = {};
    uint4 a[MINE], b[MINE];
#pragma unroll
    for (int j = 0; j < MINE; j++) {
        const u32 at = (from ^ (j & 1) * 64) + (j >> 1) * (ROWS * 128);
        a[j] = matrices(at), b[j] = matrices(at + 8 * 128);
    }
#pragma unroll
    for (int j = 0; j < MINE; j++) {
        const int segment = mate * MINE + j, whole = before + segment;
        if (KIND == BF16) {
            const uint4 x = lds(room.x + whole * 64 + part * 16 + (normed && (line & 1) ? k * 2 : 0));
            mma_bf16(c[0], a[j].x, b[j].x, a[j].y, b[j].y, x.x, x.y);
            mma_bf16(c[1], a[j].z, b[j].z, a[j].w, b[j].w, x.z, x.w);
        } else if (KIND == FP8) {
            const uint4 x = lds(room.x + whole * 128 + part * 16), y = lds(room.x + whole * 128 + 64 + part * 16);
            float *sum = wides[j / 2], *other = wides[2 + j / 2];
            mma_fp16(sum, even(a[j].x), even(b[j].x), odd(a[j].x), odd(b[j].x), x.x, x.y);
            mma_fp16(other, even(a[j].y), even(b[j].y), odd(a[j].y), odd(b[j].y), x.z, x.w);
            mma_fp16(sum, even(a[j].z), even(b[j].z), odd(a[j].z), odd(b[j].z), y.x, y.y);
            mma_fp16(other, even(a[j].w), even(b[j].w), odd(a[j].w), odd(b[j].w), y.z, y.w);
            if (j & 1) {
                const float unit = __uint_as_float(lds32(room.unit + (whole >> 1) * 4));
                low += (sum[0] + other[0]) * unit, high += (sum[2] + other[2]) * unit;
            }
        } else if (KIND == INT8) {
            const uint4 x = lds(room.x + whole * 128 + digit);
            int *sum = sums[j / 2], *other = sums[2 + j / 2];
            mma_bytes(sum, a[j].x, b[j].x, a[j].y, b[j].y, x.x, x.y);
            mma_bytes(other, a[j].z, b[j].z, a[j].w, b[j].w, x.z, x.w);
            if (j & 1) {
                const float unit = __uint_as_float(lds32(room.unit + (whole >> 1) * 4));
                low += (float)((sum[0] + other[0]) * 256 + sum[1] + other[1]) * unit;
                high += (float)((sum[2] + other[2]) * 256 + sum[3] + other[3]) * unit;
            }
        } else if (KIND == INT4) {
            const u32 at = room.x + whole * 256 + digit;
            const uint4 x = lds(at), y = lds(at + 128);
            constexpr u32 M = 0x0F0F0F0F;
            mma_bytes(sums[j], a[j].x & M, b[j].x & M, a[j].x >> 4 & M, b[j].x >> 4 & M, x.x, x.y);
            mma_bytes(sums[j], a[j].y & M, b[j].y & M, a[j].y >> 4 & M, b[j].y >> 4 & M, x.z, x.w);
            mma_bytes(sums[j], a[j].z & M, b[j].z & M, a[j].z >> 4 & M, b[j].z >> 4 & M, y.x, y.y);
            mma_bytes(sums[j], a[j].w & M, b[j].w & M, a[j].w >> 4 & M, b[j].w >> 4 & M, y.z, y.w);
        } else {
            uint4 x = {}, y = {};
            // Halves of four lanes have groups of their own (NVFP4), for which the others' inputs are zero.
            if (KIND == MXFP4 || (line >> 1 & 1) == part >> 1) {
                x = lds(room.x + whole * 256 + digit), y = lds(room.x + whole * 256 + digit + 128);
            }
            int of[4][4] = {};
            mma_bytes(of[0], e2m1(a[j].x), e2m1(b[j].x), e2m1(a[j].x >> 16), e2m1(b[j].x >> 16), x.x, x.y);
            mma_bytes(of[1], e2m1(a[j].y), e2m1(b[j].y), e2m1(a[j].y >> 16), e2m1(b[j].y >> 16), x.z, x.w);
            mma_bytes(of[2], e2m1(a[j].z), e2m1(b[j].z), e2m1(a[j].z >> 16), e2m1(b[j].z >> 16), y.x, y.y);
            mma_bytes(of[3], e2m1(a[j].w), e2m1(b[j].w), e2m1(a[j].w >> 16), e2m1(b[j].w >> 16), y.z, y.w);
            const float unit = __uint_as_float(lds32(room.unit + whole * 4));
            constexpr int GROUPS = KIND == NVFP4 ? 8 : 4;  // of a segment
#pragma unroll
            for (int g = 0; g < GROUPS / 4; g++) {
                const int group = KIND == MXFP4 ? part : 2 * ((part >> 1) + 2 * g) + (part & 1);
                const int known = 12 * (int)lds32(room.sum + (whole * GROUPS + group) * 4);
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    int upper, rest;
                    if (KIND == MXFP4) {
                        upper = of_four(part, of[0][2 * i], of[1][2 * i], of[2][2 * i], of[3][2 * i]);
                        rest = of_four(part, of[0][2 * i + 1], of[1][2 * i + 1], of[2][2 * i + 1], of[3][2 * i + 1]);
                    } else {
                        upper = part & 2 ? of[2 * g + 1][2 * i] : of[2 * g][2 * i];
                        rest = part & 2 ? of[2 * g + 1][2 * i + 1] : of[2 * g][2 * i + 1];
                    }
                    const u32 code = lds8(sizes + (line + 8 * i) * (SEGMENTS * GROUPS) + segment * GROUPS + group);
                    const float size = KIND == MXFP4
                        ? __uint_as_float(code << 23)  // 2^(code - 127)
                        : __uint_as_float((code & 127) << 20) * 1329227995784915872903807060280344576.0f;  // e4m3
                    (i ? high : low) += (float)(upper * 256 + rest - known) * (size * unit);
                }
            }
        }
    }
    if (KIND == INT4) {
        const int segment = mate * MINE + part, group = before + segment;
        const float unit = __uint_as_float(lds32(room.unit + group * 4));
        const int known = lds32(room.sum + group * 4);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int row = line + 8 * i;
            const int level = lds8(sizes + ROWS * SEGMENTS * 2 + row * SEGMENTS + segment);
            const float size = wide(lds16(sizes + (row * SEGMENTS + segment) * 2));
            const int upper = of_four(part, sums[0][2 * i], sums[1][2 * i], sums[2][2 * i], sums[3][2 * i]);
            const int rest = of_four(part, sums[0][2 * i + 1], sums[1][2 * i + 1], sums[2][2 * i + 1], sums[3][2 * i + 1]);
            (i ? high : low) += (float)(upper * 256 + rest - level * known) * (size * unit);
        }
    }
}

// What a phase is told: of which step it is, the embedding's row, and the phase after it.
struct Told {
    u32 epoch;
    int index, count;
    const u16* row;
    long long next;
    Phase* later;
    __device__ u32 tag(long long phase) const { return epoch + (u32)phase & 0xFFFF; }
    // Called when all have left the phase before, whose place the next one takes.
    __device__ void keep() const {
        if (threadIdx.x < sizeof(Phase) / 8) ((long long*)later)[threadIdx.x] = next;
    }
};

template <int KIND>
__device__ __noinline__ Ring product(const Phase& p, Ring ring, Room room, Told told_of, int* counters) {
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, line = lane >> 2, part = lane & 3;
    const int team = warp / MATES, mate = warp % MATES, phase = told_of.index;
    const bool gated = p.gated, normed = p.norm, last = phase + 1 == told_of.count;
    const int k = (int)p.k, n = (int)p.n, width = (int)row_bytes<KIND>(k), step = gated ? ROWS / 2 : ROWS, by = step * gridDim.x;
    const u32* residual = p.residual;
    u32* y = p.y;
    const float *scale = (const float*)p.scale, *levels = (const float*)p.zero;
    const float eps = __uint_as_float((u32)p.eps);
    const u32 tag = told_of.tag(phase), residual_tag = told_of.tag(p.residual_from);
    const u16* added_row = p.residual_from < 0 ? told_of.row : nullptr;
    // Who has no tile reads nothing: perhaps it is no longer there.
    if (p.first() * step < n) lay_out<KIND>(p, room, p.x_from < 0 ? told_of.row : nullptr, told_of.tag(p.x_from));
    else meet();
    told_of.keep();
    meet();
    const int chunks = width / CHUNK, teams = min(chunks, TEAMS);
    int whose = 0;  // the team of the next stage
    for (int out = p.first() * step; out < n; out += by, ring.tiles++) {
        const int begins = whose;
        const bool takes_part = (team - begins & TEAMS - 1) < teams;
        // One warp sums the rows of all; what it needs besides is asked for early.
        const bool mine = ((begins + chunks - 1) & TEAMS - 1) == team && ring.tiles % MATES == mate;
        const bool there = mine && lane < step && out + lane < n;
        float size = 1, added = 0;
        if (mine && lane < ROWS && (KIND == INT8 || KIND == FP8) && out + lane % step < n)
            // With a gate every output has two rows, eight apart here and n in the matrix.
            size = scale[out + lane % step + lane / step * n];
        if (KIND > INT4 && mine) size = levels[14] / 12.0f;  // Levels go up to six, twelve here.
        if (there && residual) added = added_row ? wide(added_row[out + lane]) : number(told(residual + out + lane, residual_tag));
        float low = 0, high = 0, c[2][4] = {};
        for (int at = 0; at < width; at += CHUNK) {
            if (whose == team) {
                wait(ring.loaded(), ring.turn);
                multiply<KIND>(normed, k, room, ring.at(), ring.sizes(), at / SEGMENT, low, high, c);
                __syncwarp();
                if (lane == 0) arrive(ring.freed());
            }
            ring.next();
            whose = whose + 1 & TEAMS - 1;
        }
        if (KIND == BF16) {
            low = c[0][0] + c[1][0], high = c[0][2] + c[1][2];
            if (normed) low += c[0][1] + c[1][1], high += c[0][3] + c[1][3];
        }
        if (KIND >= INT4) {
            low += __shfl_xor_sync(~0u, low, 1), high += __shfl_xor_sync(~0u, high, 1);
            low += __shfl_xor_sync(~0u, low, 2), high += __shfl_xor_sync(~0u, high, 2);
        }
        const u32 sums = room.partial + ring.tiles % TILES * (WARPS * ROWS * 4), done = ring.done + ring.tiles % TILES * 8;
        if (part < 2 && takes_part) sts32(sums + (warp * ROWS + line + 8 * part) * 4, __float_as_uint(part ? high : low));
        __syncwarp();
        if (lane == 0) arrive(done);
        if (mine) {
            wait(done, ring.tiles / TILES & 1);
            float total = 0, squares = 0;
#pragma unroll
            for (int i = 0; i < WARPS; i++)
                if ((i / MATES - begins & TEAMS - 1) < teams) total += __uint_as_float(lds32(sums + (i * ROWS + (lane & 15)) * 4));
            if (normed) {
#pragma unroll
                for (int i = 0; i < WARPS; i += 4) {
                    const uint4 four = lds(room.squares + i * 4);
                    squares += __uint_as_float(four.x) + __uint_as_float(four.y) + __uint_as_float(four.z) + __uint_as_float(four.w);
                }
                size *= rsqrtf(squares / k + eps);
            }
            total *= size;
            const float up = __shfl_down_sync(~0u, total, 8);
            if (gated) total = total / (1.0f + __expf(-total)) * up;
            const u32 word = pair_bf16(0, total + added) | tag;
            if (there && last) ((u16*)y)[out + lane] = (u16)(word >> 16);
            else if (there) asm volatile("st.volatile.global.u32 [%0], %1;" :: "l"(y + out + lane), "r"(word) : "memory");
        }
    }
    return ring;
}

// Where element `d` of a token's row is in a pair of stages.
__device__ __forceinline__ u32 element(u32 first, u32 second, int token, int d) {
    const u32 row = (token < TOKENS ? first : second) + d / 64 * (TOKENS * 128) + token % TOKENS * 128;
    return row + ((d / 8 % 8 ^ token % 8) << 4) + d % 8 * 2;
}

__device__ __noinline__ Ring attention(
    const Phase& p, Ring ring, u32 room, int here, const u16* table, int rope, Told told_of, int* counters
) {
    constexpr int BOTH = 2 * TOKENS, ROW = BOTH * 2 + 16, SCORE_ROW = (BOTH + 4) * 4;
    constexpr int SCORES = QUERIES * HEAD * 2, SHARES = SCORES + QUERIES * SCORE_ROW, STATES = SHARES + QUERIES * ROW;
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, line = lane >> 2, part = lane & 3;
    const int heads = (int)p.n, tokens = (int)p.k, group = (int)p.gated, splits = (int)p.splits, each = (int)p.each;
    const float factor = __uint_as_float((u32)p.eps), minus = __uint_as_float(0xFF800000);
    const int h = threadIdx.x / (HEAD / 2), d = threadIdx.x % (HEAD / 2);  // of queries: 512 pairs
    const float cosine = wide(table[here * (HEAD / 2) + d]), sine = wide(table[rope + here * (HEAD / 2) + d]);
    const u32 from = told_of.tag(p.x_from), tag = told_of.tag(told_of.index);
    const int phase = told_of.index;
    const u32* x = p.x;
    uint2 *sums = p.part, *pairs = sums + heads * group * splits * HEAD;  // largest and sum
    bool begins = true;
    for (int item = p.first(); item < heads * splits; item += gridDim.x) {
        const int head = item / splits, split = item % splits, first = split * each, end = min(first + each, tokens / BOTH);
        u32 key_pair = 0, value_pair = 0, both = 0;
        const bool own = h == 0 && here / BOTH >= first && here / BOTH < end;
        const u32 *q = x + (head * group + h) * HEAD + d, *k = x + (heads * group + head) * HEAD + d, *v = k + heads * HEAD;
        float a = 0, b = 0, c = 0, e = 0;
        if (h < group) a = number(told(q, from)), b = number(told(q + HEAD / 2, from));
        if (own) {
            c = number(told(k, from)), e = number(told(k + HEAD / 2, from));
            value_pair = told(v, from) >> 16 | told(v + HEAD / 2, from) & 0xFFFF0000;
        }
        if (begins) {
            meet();
            told_of.keep();
            begins = false;
        }
        both = pair_bf16((a * cosine - b * sine) * factor, (b * cosine + a * sine) * factor);
        key_pair = pair_bf16(c * cosine - e * sine, e * cosine + c * sine);
        // As matrix units take them: of 32 elements eight of a lane, pairs of four pieces.
        const u32 at = room + h * (HEAD * 2) + d / 32 * 64 + d % 8 / 2 * 16 + d % 32 / 8 * 4 + d % 2 * 2;
        sts16(at, both), sts16(at + HEAD, both >> 16);
        sts32(room + SHARES + h * ROW + d * 4, 0);
        if (threadIdx.x < QUERIES) sts32(room + STATES + threadIdx.x * 4, __float_as_uint(1.0f));
        float o[4] = {}, top = minus, weight = 0;
        for (int chunk = first; chunk < end; chunk++) {
            u32 stage[4], freed[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                stage[i] = ring.at(), freed[i] = ring.freed();
                wait(ring.loaded(), ring.turn);
                ring.next();
            }
            if (here / BOTH == chunk && own) {
                // The token's own key and value: into the cache, and into the copy of it.
                const int token = here % BOTH;
                const long long place = ((long long)head * tokens + here) * HEAD + d;
                u16 *key = p.keys + place, *value = p.values + place;
                key[0] = (u16)key_pair, key[HEAD / 2] = (u16)(key_pair >> 16);
                value[0] = (u16)value_pair, value[HEAD / 2] = (u16)(value_pair >> 16);
                sts16(element(stage[0], stage[1], token, d), key_pair);
                sts16(element(stage[0], stage[1], token, d + HEAD / 2), key_pair >> 16);
                sts16(element(stage[2], stage[3], token, d), value_pair);
                sts16(element(stage[2], stage[3], token, d + HEAD / 2), value_pair >> 16);
                asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            }
            meet();
            // Eight tokens a warp
            float s[4] = {};
#pragma unroll
            for (int i = 0; i < HEAD / 32; i++) {
                const uint4 q4 = lds(room + line * (HEAD * 2) + i * 64 + part * 16);
                const uint4 k4 = matrices(element(stage[0], stage[1], warp * 8 + (lane & 7), i * 32 + (lane >> 3) * 8));
                mma_bf16(s, q4.x, 0, q4.y, 0, k4.x, k4.y);
                mma_bf16(s, q4.z, 0, q4.w, 0, k4.z, k4.w);
            }
            sts64(room + SCORES + line * SCORE_ROW + (8 * warp + 2 * part) * 4, __float_as_uint(s[0]), __float_as_uint(s[1]));
            meet();
            if (warp < group) {
                float of[BOTH / 32], most = top, sum = 0;
#pragma unroll
                for (int i = 0; i < BOTH / 32; i++) {
                    of[i] = __uint_as_float(lds32(room + SCORES + warp * SCORE_ROW + (lane + 32 * i) * 4));
                    most = fmaxf(most, of[i]);
                }
#pragma unroll
                for (int by = 16; by; by /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, by));
#pragma unroll
                for (int i = 0; i < BOTH / 32; i++) {
                    const float share = __expf(of[i] - most);
                    sum += share;
                    sts16(room + SHARES + warp * ROW + (lane + 32 * i) * 2, pair_bf16(share, 0));
                }
#pragma unroll
                for (int by = 16; by; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
                const float less = __expf(top - most);
                weight = weight * less + sum, top = most;
                if (lane == 0) sts32(room + STATES + warp * 4, __float_as_uint(less));
            }
            meet();
            const float less = __uint_as_float(lds32(room + STATES + line * 4));
            o[0] *= less, o[1] *= less;
            // Eight of a value's elements a warp, of all tokens.
#pragma unroll
            for (int i = 0; i < BOTH / 32; i++) {
                const uint4 v4 = transposed(element(stage[2], stage[3], i * 32 + lane, warp * 8));
                const u32 share = room + SHARES + line * ROW + i * 64 + part * 4;
                mma_bf16(o, lds32(share), 0, lds32(share + 16), 0, v4.x, v4.y);
                mma_bf16(o, lds32(share + 32), 0, lds32(share + 48), 0, v4.z, v4.w);
            }
            meet();
            if (threadIdx.x < MATES)
#pragma unroll
                for (int i = 0; i < 4; i++) arrive(freed[i]);
        }
        // Each block of a head joins its share of the results.
        const int row = head * group, all = group * HEAD;
        if (line < group)
            tell(sums + ((row + line) * splits + split) * HEAD + warp * 8 + part * 2,
                 make_uint4(__float_as_uint(o[0]), tag, __float_as_uint(o[1]), tag));
        if (warp < group && lane == 0)
            tell(pairs + 2 * ((row + warp) * splits + split), make_uint4(__float_as_uint(top), tag, __float_as_uint(weight), tag));
        for (int i = split * all / splits + warp; i < (split + 1) * all / splits; i += WARPS) {
            const int query = row + i / HEAD;
            float most = minus, total = 0, weights = 0;
            for (int j = lane; j < splits; j += 32) {
                const uint2* at = sums + (query * splits + j) * HEAD + i % HEAD;
                uint4 pair;
                u32 of, seen;
                do {
                    pair = look(pairs + 2 * (query * splits + j));
                    asm volatile("ld.volatile.global.v2.u32 {%0,%1}, [%2];" : "=r"(of), "=r"(seen) : "l"(at) : "memory");
                } while (pair.y != tag || pair.w != tag || seen != tag);
                const float higher = fmaxf(most, __uint_as_float(pair.x));
                const float less = __expf(most - higher), share = __expf(__uint_as_float(pair.x) - higher);
                weights = weights * less + share * __uint_as_float(pair.z);
                total = total * less + share * __uint_as_float(of);
                most = higher;
            }
            float highest = most;
#pragma unroll
            for (int by = 16; by; by /= 2) highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, by));
            const float share = __expf(most - highest);
            weights *= share, total *= share;
#pragma unroll
            for (int by = 16; by; by /= 2)
                weights += __shfl_xor_sync(~0u, weights, by), total += __shfl_xor_sync(~0u, total, by);
            if (lane == 0)
                asm volatile("st.volatile.global.u32 [%0], %1;" :: "l"(p.y + query * HEAD + i % HEAD), "r"(pair_bf16(0, total / weights) | tag) : "memory");
        }
        meet();
    }
    if (begins) {
        meet();
        told_of.keep();
        meet();
    }
    return ring;
}

extern "C" __global__ void __launch_bounds__(THREADS + 32, 1)
decode_step(const Phase* phases, int count, int* counters, const long long* position, const u16* table, int rope,
            const long long* token, const u16* embedding, int hidden,
            int besides, int stages, int under_way, int room_bytes) {
    extern __shared__ u8 memory[];
    __shared__ Phase now[2];
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const u32 start = (shared_at(memory) + 1023) / 1024 * 1024, beside = start + stages * STAGE;
    const u32 room = beside + stages * besides, after = room + room_bytes;
    Ring ring = {start, beside, after, after + 8 * stages, after + 16 * stages, (u32)besides, (u32)stages, 0, 0, 0};
    if (threadIdx.x == 0) {
        for (int i = 0; i < stages; i++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(ring.full + 8 * i) : "memory");
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(ring.empty + 8 * i), "n"(MATES) : "memory");
        }
        for (int i = 0; i < TILES; i++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(ring.done + 8 * i), "n"(WARPS) : "memory");
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
            asm volatile("prefetch.tensormap [%0];" :: "l"(next.w) : "memory");
            if (next.kind >= INT4) asm volatile("prefetch.tensormap [%0];" :: "l"(next.scale) : "memory");
            if (next.kind == INT4) asm volatile("prefetch.tensormap [%0];" :: "l"(next.zero) : "memory");
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
    const Room rooms = {room + 12864, room + 8256, room + 9280, room, room + 8192};
    const int here = (int)*position;
    Told told_of = {(u32)counters[0] * count + 1, 0, count, embedding + *token * hidden, 0, nullptr};
    for (int i = 0; i < count; i++) {
        const Phase& p = now[i & 1];
        told_of.index = i, told_of.later = now + (i + 1 & 1);
        if (threadIdx.x < WORDS && i + 1 < count)
            asm volatile("ld.global.b64 %0, [%1];" : "=l"(told_of.next) : "l"(words + (i + 1) * WORDS + threadIdx.x));
        switch (p.kind) {
            case BF16: ring = product<BF16>(p, ring, rooms, told_of, counters); break;
            case INT8: ring = product<INT8>(p, ring, rooms, told_of, counters); break;
            case FP8: ring = product<FP8>(p, ring, rooms, told_of, counters); break;
            case INT4: ring = product<INT4>(p, ring, rooms, told_of, counters); break;
            case MXFP4: ring = product<MXFP4>(p, ring, rooms, told_of, counters); break;
            case NVFP4: ring = product<NVFP4>(p, ring, rooms, told_of, counters); break;
            default: ring = attention(p, ring, rooms.x, here, table, rope, told_of, counters);
        }
    }
    // The last block to end makes the next step's tags others.
    if (threadIdx.x == 0 && atomicAdd(counters + 1, 1) == gridDim.x - 1) counters[0]++, counters[1] = 0;
}
