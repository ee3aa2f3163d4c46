//! Which types may live in device memory.

use cuprum_driver_sys::CUdeviceptr;

/// Plain data: may be copied to and from a device byte for byte, and passed to kernels by value.
///
/// Implemented for the primitive numbers, `bool`, `f16`, `bf16`, `num_complex::Complex` of floating-point numbers, arrays of such
/// types, and [`DevicePtr`]. For a
/// `#[repr(C)]` structure of plain fields, `unsafe impl` it.
///
/// # Safety
/// - The type has a fixed layout that device code knows: a primitive, `#[repr(C)]` or `#[repr(transparent)]`.
/// - All bytes zero is a valid value.
/// - It holds no references or pointers to host memory that device code would follow or that copying would duplicate
///   unsoundly.
///
/// Not every bit pattern must be valid (`bool` is plain). Who launches a kernel vouches that what it writes are
/// values of the type: launching is `unsafe` for that reason too.
pub unsafe trait DeviceCopy: Copy + 'static {}

macro_rules! plain {
    ($($ty:ty),* $(,)?) => {
        // SAFETY: primitive numbers and their transparent wrappers have a fixed layout, are valid when zero, and hold
        // no pointers.
        $(unsafe impl DeviceCopy for $ty {})*
    };
}

plain!(
    u8,
    u16,
    u32,
    u64,
    u128,
    usize,
    i8,
    i16,
    i32,
    i64,
    i128,
    isize,
    f32,
    f64,
    bool,
    half::f16,
    half::bf16
);

// SAFETY: `repr(C)`, two numbers, valid when zero, no pointers.
unsafe impl DeviceCopy for num_complex::Complex<f32> {}
// SAFETY: as above.
unsafe impl DeviceCopy for num_complex::Complex<f64> {}

// SAFETY: an array lays its elements out one after the other, so it is plain if they are.
unsafe impl<T: DeviceCopy, const N: usize> DeviceCopy for [T; N] {}

/// A raw device address, as a kernel argument or as part of a structure.
///
/// Nothing is tracked for it: who passes it keeps the memory alive and orders its uses.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DevicePtr(pub CUdeviceptr);

// SAFETY: a transparent 64-bit number: fixed layout, valid when zero, and no pointer to host memory.
unsafe impl DeviceCopy for DevicePtr {}
