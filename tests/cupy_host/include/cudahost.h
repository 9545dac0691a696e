// CUDA C++ for g++: what NVRTC knows by itself and a kernel's source takes for granted.
//
// A kernel compiled against this file is an ordinary function. The engine (engine.cpp) calls it once for every thread
// of the grid, having set threadIdx and blockIdx; barriers and warp operations go back to the engine, which runs the
// other threads of the block meanwhile. NVRTC has seen the source first, so nothing here needs to reject wrong code.
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <initializer_list>
#include <utility>

#define __CUDACC_VER_MAJOR__ 13  // with which cupy/float16.cuh takes NVIDIA's cuda_fp16.h

#include <vector_types.h>  // uint3, dim3, float4 …; also defines some of the words below for nvcc

#undef __global__
#undef __device__
#undef __host__
#undef __constant__
#undef __shared__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#undef __align__

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static __attribute__((aligned(16)))  // blocks run one after the other: one copy is enough
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

// ---------------------------------------------------------------------------------------------------- the engine

extern "C" {
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
extern char* host_dynamic_shared;      // what `extern __shared__ T name[]` becomes a pointer to
extern char host_exchange[1024][16];   // one place for every thread of the block, for shuffles
void host_block_barrier();
void host_warp_barrier(unsigned mask);
unsigned host_thread();                // its number in the block
void host_fail(const char* why, const char* file, int line);  // ends the launch, which raises in Python
}

static const int warpSize = 32;

#undef assert
#define assert(condition) ((condition) ? (void)0 : host_fail("assertion failed: " #condition, __FILE__, __LINE__))

static inline void __trap() { host_fail("trap", __FILE__, __LINE__); }

// ------------------------------------------------------------------------------------- barriers and warp operations

static inline void __syncthreads() { host_block_barrier(); }
static inline void __syncwarp(unsigned mask = 0xffffffffu) { host_warp_barrier(mask); }
static inline void __threadfence() {}
static inline void __threadfence_block() {}

// Every thread of the warp puts its value down and waits; then each reads the one it wants and waits again, so that
// nobody overwrites a value that is still to be read.
template <class T>
T host_shuffle(unsigned mask, T value, int lane) {
    static_assert(sizeof(T) <= sizeof(host_exchange[0]), "a value too large for a shuffle");
    const unsigned me = host_thread();
    memcpy(host_exchange[me], &value, sizeof(T));
    host_warp_barrier(mask);
    memcpy(&value, host_exchange[(me & ~31u) + lane], sizeof(T));
    host_warp_barrier(mask);
    return value;
}

static inline int host_lane() { return host_thread() % warpSize; }

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize) {
    return host_shuffle(mask, value, host_lane() / width * width + source % width);
}

template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
    const int lane = host_lane();
    return host_shuffle(mask, value, lane % width >= (int)delta ? lane - (int)delta : lane);
}

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
    const int lane = host_lane();
    return host_shuffle(mask, value, lane % width + (int)delta < width ? lane + (int)delta : lane);
}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = warpSize) {
    const int lane = host_lane(), other = lane ^ bits;
    return host_shuffle(mask, value, other / width == lane / width ? other : lane);
}

static inline unsigned __ballot_sync(unsigned mask, int predicate) {
    unsigned votes = 0;
    for (int lane = 0; lane < warpSize; lane++)
        if (mask >> lane & 1) votes |= (unsigned)(__shfl_sync(mask, predicate, lane) != 0) << lane;
    return votes;
}

static inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
static inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) == mask; }

// -------------------------------------------------------------------------------------------------------- atomics

// Threads change over at barriers only, so a plain read and write is atomic. As in CUDA there is no atomicAdd for
// long long and no atomicMax for floating point: cupy/atomics.cuh makes them from these.
#define HOST_ATOMIC(name, T, result)             \
    static inline T name(T* address, T value) {  \
        const T old = *address;                  \
        *address = (result);                     \
        return old;                              \
    }
#define HOST_ATOMICS_OF_INTEGERS(T)                              \
    HOST_ATOMIC(atomicMin, T, old < value ? old : value)         \
    HOST_ATOMIC(atomicMax, T, old > value ? old : value)         \
    HOST_ATOMIC(atomicAnd, T, old & value)                       \
    HOST_ATOMIC(atomicOr, T, old | value)                        \
    HOST_ATOMIC(atomicXor, T, old ^ value)                       \
    static inline T atomicCAS(T* address, T compare, T value) {  \
        const T old = *address;                                  \
        if (old == compare) *address = value;                    \
        return old;                                              \
    }

HOST_ATOMICS_OF_INTEGERS(int)
HOST_ATOMICS_OF_INTEGERS(unsigned)
HOST_ATOMICS_OF_INTEGERS(unsigned long long)
HOST_ATOMIC(atomicMin, long long, old < value ? old : value)
HOST_ATOMIC(atomicMax, long long, old > value ? old : value)
HOST_ATOMIC(atomicAdd, int, old + value)
HOST_ATOMIC(atomicAdd, unsigned, old + value)
HOST_ATOMIC(atomicAdd, unsigned long long, old + value)
HOST_ATOMIC(atomicAdd, float, old + value)
HOST_ATOMIC(atomicAdd, double, old + value)
HOST_ATOMIC(atomicSub, int, old - value)
HOST_ATOMIC(atomicSub, unsigned, old - value)
HOST_ATOMIC(atomicExch, int, value)
HOST_ATOMIC(atomicExch, unsigned, value)
HOST_ATOMIC(atomicExch, unsigned long long, value)
HOST_ATOMIC(atomicExch, float, value)

// ---------------------------------------------------------------------------------------------- bits and arithmetic

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }

template <class To, class From>
To host_bits(From value) {
    static_assert(sizeof(To) == sizeof(From), "bits are reinterpreted, not converted");
    To same;
    memcpy(&same, &value, sizeof(To));
    return same;
}

static inline float __int_as_float(int x) { return host_bits<float>(x); }
static inline int __float_as_int(float x) { return host_bits<int>(x); }
static inline float __uint_as_float(unsigned x) { return host_bits<float>(x); }
static inline unsigned __float_as_uint(float x) { return host_bits<unsigned>(x); }
static inline double __longlong_as_double(long long x) { return host_bits<double>(x); }
static inline long long __double_as_longlong(double x) { return host_bits<long long>(x); }

template <class T>
T __ldg(const T* address) {
    return *address;
}

// min and max of numbers of any two types; of floating-point ones the number, if the other is NaN.
template <class A, class B, class T = decltype(A(0) + B(0)), class = decltype(T(0) < T(0) ? A(0) : B(0))>
T min(A a, B b) {
    return b != b || a < b ? T(a) : a != a ? T(b) : T(b < a ? b : a);
}
template <class A, class B, class T = decltype(A(0) + B(0)), class = decltype(T(0) < T(0) ? A(0) : B(0))>
T max(A a, B b) {
    return b != b || a > b ? T(a) : a != a ? T(b) : T(b > a ? b : a);
}

static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline float rsqrt(float x) { return rsqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
#define __expf(x) expf(x)  // glibc has functions of these two names
#define __logf(x) logf(x)
static inline float __fdividef(float a, float b) { return a / b; }
static inline double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }
static inline float normcdf(float x) { return 0.5f * erfcf(-x * 0.70710678f); }

// ------------------------------------------------------------------------------------------------ from the engine

// cuLaunchKernel hands over one pointer for every argument; the kernel takes the values they point to.
template <class... P, size_t... I>
void host_call(void (*kernel)(P...), void** arguments, std::index_sequence<I...>) {
    kernel(*static_cast<std::remove_cv_t<std::remove_reference_t<P>>*>(arguments[I])...);
}
template <class... P>
void host_call(void (*kernel)(P...), void** arguments) {
    host_call(kernel, arguments, std::index_sequence_for<P...>{});
}
