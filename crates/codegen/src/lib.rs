//! Run-time compilation of CUDA C++ with NVRTC, and the on-disk cache of its results.
