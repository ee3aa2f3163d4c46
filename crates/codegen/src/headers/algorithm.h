// <algorithm> for NVRTC: min and max, the two that kernels use.
#ifndef CUPRUM_ALGORITHM
#define CUPRUM_ALGORITHM
namespace std {
template <class T> __host__ __device__ constexpr const T &min(const T &a, const T &b) { return b < a ? b : a; }
template <class T> __host__ __device__ constexpr const T &max(const T &a, const T &b) { return a < b ? b : a; }
}
#endif
