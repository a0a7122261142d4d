// Device functions of CUDA C++: a kernel's text has the blocks that it uses, and those that these name. A block ends at an
// empty line, and goes by the names of all that it defines.

template <typename To, typename From> __device__ To bitcast(From x) {
    static_assert(sizeof(To) == sizeof(From), "bits of another width");
    To y;
    memcpy(&y, &x, sizeof(y));
    return y;
}

__device__ unsigned quotient(unsigned a, unsigned b) { return b == 0u ? a : a / b; }
__device__ int quotient(int a, int b) { return b == 0 || (b == -1 && a == -2147483647 - 1) ? a : a / b; }

__device__ unsigned remainder(unsigned a, unsigned b) { return b == 0u ? 0u : a % b; }
__device__ int remainder(int a, int b) { return b == 0 || b == -1 ? 0 : a % b; }

__device__ int wrapping_add(int a, int b) { return int(unsigned(a) + unsigned(b)); }

__device__ int wrapping_sub(int a, int b) { return int(unsigned(a) - unsigned(b)); }

__device__ int wrapping_mul(int a, int b) { return int(unsigned(a) * unsigned(b)); }

__device__ int to_i32(float x, float most) {  // 0 for NaN
    return x != x ? 0 : int(fminf(fmaxf(x, fmaxf(-most, -2147483648.0f)), fminf(most, 2147483520.0f)));
}

__device__ unsigned to_u32(float x, float most) {  // 0 for NaN
    return x > 0.0f ? unsigned(fminf(x, fminf(most, 4294967040.0f))) : 0u;
}

template <typename T> __device__ T clamp(T x, T low, T high) { return min(max(x, low), high); }
__device__ float clamp(float x, float low, float high) { return fminf(fmaxf(x, low), high); }

__device__ float sign(float x) { return float(x > 0.0f) - float(x < 0.0f); }
__device__ int sign(int x) { return int(x > 0) - int(x < 0); }

__device__ float fract(float x) { return x - floorf(x); }

__device__ float degrees(float x) { return x * 57.29577951308232f; }

__device__ float radians(float x) { return x * 0.017453292519943295f; }

__device__ float nan_min(float a, float b) { return a != a ? a : b != b ? b : fminf(a, b); }

__device__ float nan_max(float a, float b) { return a != a ? a : b != b ? b : fmaxf(a, b); }

template <typename T> __device__ T count_ones(T x) { return T(__popc(unsigned(x))); }

template <typename T> __device__ T leading_zeros(T x) { return T(__clz(int(x))); }

template <typename T> __device__ T trailing_zeros(T x) { return x == T(0) ? T(32) : T(__ffs(int(x)) - 1); }

template <typename T> __device__ T reverse_bits(T x) { return T(__brev(unsigned(x))); }

__device__ int dot4I8Packed(unsigned a, unsigned b) { return __dp4a(int(a), int(b), 0); }

__device__ unsigned dot4U8Packed(unsigned a, unsigned b) { return __dp4a(a, b, 0u); }

__device__ unsigned pack4x(int a, int b, int c, int d) {
    return (a & 255) | (b & 255) << 8 | (c & 255) << 16 | unsigned(d & 255) << 24;
}

__device__ int signed_byte(unsigned word, int at) { return int(word << (24 - 8 * at)) >> 24; }
__device__ unsigned byte_of(unsigned word, int at) { return word >> 8 * at & 255u; }

template <typename T> __device__ T atomic_load(const T* at) { return *(const volatile T*)at; }
template <typename T> __device__ void atomic_store(T* at, T value) { *(volatile T*)at = value; }

template <typename F> __device__ float atomic_float(float* at, F update) {  // until no other thread came between
    unsigned seen = *(volatile unsigned*)at, before;
    do {
        before = seen;
        seen = atomicCAS((unsigned*)at, before, __float_as_uint(update(__uint_as_float(before))));
    } while (seen != before);
    return __uint_as_float(seen);
}

template <typename T, typename F> __device__ T over_lanes(unsigned mask, T value, T start, F combine) {
    for (unsigned rest = mask; rest != 0u; rest &= rest - 1u)
        start = combine(start, __shfl_sync(mask, value, __ffs(rest) - 1));
    return start;
}
__device__ unsigned lane_id() {
    unsigned id;
    asm("mov.u32 %0, %%laneid;" : "=r"(id));
    return id;
}

template <typename T> struct alignas(2 * sizeof(T)) vec2 {
    T x, y;
    vec2() = default;
    __device__ vec2(T x, T y) : x(x), y(y) {}
    __device__ explicit vec2(T all) : x(all), y(all) {}
    template <typename U> __device__ explicit vec2(vec2<U> v)
        : x(T(v.x)), y(T(v.y)) {}
    __device__ T operator[](unsigned lane) const { return (&x)[lane]; }
};

template <typename T> struct alignas(4 * sizeof(T)) vec4 {
    T x, y, z, w;
    vec4() = default;
    __device__ vec4(T x, T y, T z, T w) : x(x), y(y), z(z), w(w) {}
    __device__ explicit vec4(T all) : x(all), y(all), z(all), w(all) {}
    template <typename U> __device__ explicit vec4(vec4<U> v)
        : x(T(v.x)), y(T(v.y)), z(T(v.z)), w(T(v.w)) {}
    __device__ T operator[](unsigned lane) const { return (&x)[lane]; }
};

__device__ unsigned pack4xI8(int a, int b, int c, int d) { return pack4x(a, b, c, d); }

__device__ unsigned pack4xU8(unsigned a, unsigned b, unsigned c, unsigned d) { return pack4x(a, b, c, d); }

__device__ int snorm(float x) { return int(floorf(0.5f + 127.0f * fminf(fmaxf(x, -1.0f), 1.0f))); }
__device__ unsigned pack4x8snorm(float a, float b, float c, float d) {
    return pack4x(snorm(a), snorm(b), snorm(c), snorm(d));
}

__device__ int unorm(float x) { return int(floorf(0.5f + 255.0f * fminf(fmaxf(x, 0.0f), 1.0f))); }
__device__ unsigned pack4x8unorm(float a, float b, float c, float d) {
    return pack4x(unorm(a), unorm(b), unorm(c), unorm(d));
}

__device__ unsigned pack2x16float(float a, float b) {
    return unsigned(__half_as_ushort(__half(a))) | unsigned(__half_as_ushort(__half(b))) << 16;
}

__device__ vec2<float> unpack2x16float(unsigned word) {
    return vec2<float>(float(__ushort_as_half(word & 65535u)), float(__ushort_as_half(word >> 16)));
}

__device__ vec4<unsigned> subgroup_ballot(unsigned mask, bool holds) {
    return vec4<unsigned>(__ballot_sync(mask, holds), 0u, 0u, 0u);
}

__device__ vec4<int> unpack4xI8(unsigned word) {
    return vec4<int>(signed_byte(word, 0), signed_byte(word, 1), signed_byte(word, 2), signed_byte(word, 3));
}

__device__ vec4<unsigned> unpack4xU8(unsigned word) {
    return vec4<unsigned>(byte_of(word, 0), byte_of(word, 1), byte_of(word, 2), byte_of(word, 3));
}

__device__ vec4<float> unpack4x8snorm(unsigned word) {
    return vec4<float>(fmaxf(signed_byte(word, 0) / 127.0f, -1.0f), fmaxf(signed_byte(word, 1) / 127.0f, -1.0f), fmaxf(signed_byte(word, 2) / 127.0f, -1.0f), fmaxf(signed_byte(word, 3) / 127.0f, -1.0f));
}

__device__ vec4<float> unpack4x8unorm(unsigned word) {
    return vec4<float>(byte_of(word, 0) / 255.0f, byte_of(word, 1) / 255.0f, byte_of(word, 2) / 255.0f, byte_of(word, 3) / 255.0f);
}

template <typename T> __device__ T subgroup_add(unsigned mask, T value) {
    return over_lanes(mask, value, T(0), [](T a, T b) { return a + b; });
}

template <typename T> __device__ T subgroup_mul(unsigned mask, T value) {
    return over_lanes(mask, value, T(1), [](T a, T b) { return a * b; });
}

template <typename T> __device__ T subgroup_min(unsigned mask, T value) {
    return over_lanes(mask, value, value, [](T a, T b) { return b < a ? b : a; });
}

template <typename T> __device__ T subgroup_max(unsigned mask, T value) {
    return over_lanes(mask, value, value, [](T a, T b) { return a < b ? b : a; });
}

template <typename T> __device__ T subgroup_and(unsigned mask, T value) {
    return over_lanes(mask, value, value, [](T a, T b) { return a & b; });
}

template <typename T> __device__ T subgroup_or(unsigned mask, T value) {
    return over_lanes(mask, value, value, [](T a, T b) { return a | b; });
}

template <typename T> __device__ T subgroup_inclusive_add(unsigned mask, T value) {
    T sum = T(0);
    for (unsigned rest = mask; rest != 0u; rest &= rest - 1u) {
        const T other = __shfl_sync(mask, value, __ffs(rest) - 1);
        if (((rest & -rest) & ((2u << lane_id()) - 1u)) != 0u) sum = sum + other;
    }
    return sum;
}

template <typename T> __device__ T subgroup_exclusive_add(unsigned mask, T value) {
    T sum = T(0);
    for (unsigned rest = mask; rest != 0u; rest &= rest - 1u) {
        const T other = __shfl_sync(mask, value, __ffs(rest) - 1);
        if (((rest & -rest) & ((1u << lane_id()) - 1u)) != 0u) sum = sum + other;
    }
    return sum;
}

template <typename T> __device__ T subgroup_shuffle(unsigned mask, T value, unsigned lane) {
    return __shfl_sync(mask, value, lane);
}

template <typename T> __device__ T subgroup_shuffle_xor(unsigned mask, T value, unsigned lane) {
    return __shfl_xor_sync(mask, value, lane);
}

template <typename T> __device__ T subgroup_shuffle_down(unsigned mask, T value, unsigned lane) {
    return __shfl_down_sync(mask, value, lane);
}

template <typename T> __device__ T subgroup_shuffle_up(unsigned mask, T value, unsigned lane) {
    return __shfl_up_sync(mask, value, lane);
}

template <typename T> __device__ T subgroup_broadcast(unsigned mask, T value, unsigned lane) {
    return __shfl_sync(mask, value, lane);
}

template <typename T> __device__ T subgroup_broadcast_first(unsigned mask, T value) {
    return __shfl_sync(mask, value, __ffs(mask) - 1);
}

__device__ bool subgroup_any(unsigned mask, bool holds) { return __any_sync(mask, holds) != 0; }

__device__ bool subgroup_all(unsigned mask, bool holds) { return __all_sync(mask, holds) != 0; }
