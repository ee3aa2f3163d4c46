//! A software CUDA device: the driver API, executing PTX on the CPU.
