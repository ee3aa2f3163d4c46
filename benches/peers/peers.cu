// The C++ side of the side-by-side benchmarks: plain driver-API loops that a Rust bench opens as a shared object, so
// that both sides alternate in one process on the same buffers. Every function returns a CUresult.
//
// nvcc -O3 -std=c++17 -arch=native --shared -Xcompiler -fPIC peers.cu -o libpeers.so -lcuda
#include <cuda.h>

// Launches `function`, which takes (float*, float*, float, int), `count` times with one thread on `stream`.
extern "C" int peer_launch_loop(CUfunction function, CUstream stream, CUdeviceptr a, CUdeviceptr b, float c, int n, int count)
{
    void *arguments[] = {&a, &b, &c, &n};
    for (int i = 0; i < count; ++i) {
        CUresult result = cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
        if (result != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
}
