//! PyCUDA re-thought in Rust: compile CUDA C++ at run time and run it on a GPU, or on the built-in software device.
