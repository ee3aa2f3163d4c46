// Memory and its length in one argument: what `Span<&[T]>` of a typed kernel is in CUDA C++.
#pragma once

namespace cuprum {

template <class T> struct span {
    T *pointer;
    unsigned long long length;

    __device__ unsigned long long size() const { return length; }
    __device__ bool empty() const { return length == 0; }
    __device__ T *data() const { return pointer; }
    __device__ T *begin() const { return pointer; }
    __device__ T *end() const { return pointer + length; }
    __device__ T &operator[](unsigned long long index) const { return pointer[index]; }
    // Traps outside, as a Rust slice panics.
    __device__ T &at(unsigned long long index) const
    {
        if (index >= length) __trap();
        return pointer[index];
    }
};

} // namespace cuprum
