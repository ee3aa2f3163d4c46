//! CUDA C++ sources of the kernels that Cuprum ships.
