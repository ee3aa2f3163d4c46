//! RAII over the CUDA driver API, on NVIDIA devices and on the software device.
