//! What devices say of themselves.

use cuprum_driver_sys::{CUdevice_attribute as A, CUresult};

use crate::device::{Device, PCI_DOMAIN};
use crate::error::{Outcome, fail};
use crate::memory::copy::MAX_PITCH;

/// Limits that depend on the compute capability (CUDA programming guide, table of technical specifications).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Threads resident on a multiprocessor.
    pub(crate) threads_per_sm: u32,
    /// Blocks resident on a multiprocessor.
    pub(crate) blocks_per_sm: u32,
    /// Shared memory of a multiprocessor in bytes.
    pub(crate) shared_per_sm: u32,
    /// Shared memory that a block may have after opting in, bytes.
    pub(crate) shared_per_block_optin: u32,
    /// Shared memory that each block costs on top, bytes.
    pub(crate) shared_reserved: u32,
    /// Registers of a multiprocessor.
    pub(crate) registers_per_sm: u32,
}

/// Threads of a block at most.
pub(crate) const MAX_BLOCK_THREADS: u32 = 1024;
/// Threads of a block at most, in each dimension.
pub(crate) const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
/// Blocks of a grid at most, in each dimension.
pub(crate) const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];
/// Shared memory of a block that needs no opting in, bytes.
pub(crate) const SHARED_PER_BLOCK: u32 = 48 << 10;
/// Registers of a block at most.
pub(crate) const REGISTERS_PER_BLOCK: u32 = 64 << 10;

/// The limits of a compute capability; of one that does not exist, those of the one below.
pub(crate) fn limits((major, minor): (u32, u32)) -> Limits {
    let (threads_per_sm, blocks_per_sm, shared_kib) = match (major, minor) {
        (..=6, _) => (2048, 32, 96),
        (7, 0..=4) => (2048, 32, 96),
        (7, _) => (1024, 16, 64),
        (8, 0) => (2048, 32, 164),
        (8, 7) => (1536, 16, 164),
        (8, 9) => (1536, 24, 100),
        (8, _) => (1536, 16, 100),
        (9..=11, _) => (2048, 32, 228),
        (12.., _) => (1536, 24, 100),
    };
    let reserved_kib = if major >= 8 { 1 } else { 0 };
    let optin_kib = if major <= 6 {
        48
    } else {
        shared_kib - reserved_kib
    };
    Limits {
        threads_per_sm,
        blocks_per_sm,
        shared_per_sm: shared_kib << 10,
        shared_per_block_optin: optin_kib << 10,
        shared_reserved: reserved_kib << 10,
        registers_per_sm: 64 << 10,
    }
}

impl Device {
    /// The limits of its compute capability.
    pub(crate) fn limits(&self) -> Limits {
        limits(self.config.compute_capability)
    }

    /// The value of an attribute. Every attribute of CUDA 13 has one; what a software device has not is zero.
    pub(crate) fn attribute(&self, attribute: A) -> Outcome<i32> {
        let limits = self.limits();
        let (major, minor) = self.config.compute_capability;
        let int = |value: u32| i32::try_from(value).unwrap_or(i32::MAX);
        Ok(match attribute {
            A::MAX_THREADS_PER_BLOCK => int(MAX_BLOCK_THREADS),
            A::MAX_BLOCK_DIM_X => int(MAX_BLOCK[0]),
            A::MAX_BLOCK_DIM_Y => int(MAX_BLOCK[1]),
            A::MAX_BLOCK_DIM_Z => int(MAX_BLOCK[2]),
            A::MAX_GRID_DIM_X => int(MAX_GRID[0]),
            A::MAX_GRID_DIM_Y => int(MAX_GRID[1]),
            A::MAX_GRID_DIM_Z => int(MAX_GRID[2]),
            A::MAX_SHARED_MEMORY_PER_BLOCK => int(SHARED_PER_BLOCK),
            A::TOTAL_CONSTANT_MEMORY => 64 << 10,
            A::WARP_SIZE => 32,
            A::MAX_PITCH => i32::try_from(MAX_PITCH).unwrap_or(i32::MAX),
            A::MAX_REGISTERS_PER_BLOCK => int(REGISTERS_PER_BLOCK),
            // Kilohertz: a stated number, for programs that divide by it.
            A::CLOCK_RATE => 1_000_000,
            A::MEMORY_CLOCK_RATE => 1_000_000,
            A::GLOBAL_MEMORY_BUS_WIDTH => 64,
            A::TEXTURE_ALIGNMENT | A::SURFACE_ALIGNMENT => {
                i32::try_from(crate::texture::ALIGNMENT).unwrap_or(i32::MAX)
            }
            A::TEXTURE_PITCH_ALIGNMENT => 32,
            // One copy and one kernel can always overlap, in both directions.
            A::GPU_OVERLAP => 1,
            A::ASYNC_ENGINE_COUNT => 2,
            A::CONCURRENT_KERNELS => 1,
            A::MULTIPROCESSOR_COUNT => int(self.config.multiprocessors),
            A::KERNEL_EXEC_TIMEOUT => i32::from(self.time_limit.is_some()),
            A::INTEGRATED => 0,
            A::CAN_MAP_HOST_MEMORY => 1,
            A::COMPUTE_MODE => 0,
            A::MAXIMUM_TEXTURE1D_WIDTH | A::MAXIMUM_TEXTURE2D_WIDTH => 131_072,
            A::MAXIMUM_TEXTURE2D_HEIGHT => 65_536,
            A::MAXIMUM_TEXTURE3D_WIDTH
            | A::MAXIMUM_TEXTURE3D_HEIGHT
            | A::MAXIMUM_TEXTURE3D_DEPTH => 16_384,
            A::MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE | A::MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE => 8192,
            A::MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE => 32_768,
            A::MAXIMUM_TEXTURE1D_LAYERED_WIDTH
            | A::MAXIMUM_TEXTURE2D_LAYERED_WIDTH
            | A::MAXIMUM_TEXTURE2D_LAYERED_HEIGHT
            | A::MAXIMUM_TEXTURE2D_GATHER_WIDTH
            | A::MAXIMUM_TEXTURE2D_GATHER_HEIGHT
            | A::MAXIMUM_TEXTURECUBEMAP_WIDTH
            | A::MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH
            | A::MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH
            | A::MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH
            | A::MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT
            | A::MAXIMUM_SURFACE1D_WIDTH
            | A::MAXIMUM_SURFACE1D_LAYERED_WIDTH
            | A::MAXIMUM_SURFACE2D_LAYERED_WIDTH
            | A::MAXIMUM_SURFACE2D_LAYERED_HEIGHT
            | A::MAXIMUM_SURFACECUBEMAP_WIDTH
            | A::MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH => 32_768,
            A::MAXIMUM_TEXTURE1D_LAYERED_LAYERS
            | A::MAXIMUM_TEXTURE2D_LAYERED_LAYERS
            | A::MAXIMUM_SURFACE1D_LAYERED_LAYERS
            | A::MAXIMUM_SURFACE2D_LAYERED_LAYERS => 2048,
            A::MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS | A::MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS => {
                2046
            }
            A::MAXIMUM_SURFACE2D_WIDTH => 131_072,
            A::MAXIMUM_SURFACE2D_HEIGHT => 65_536,
            A::MAXIMUM_SURFACE3D_WIDTH
            | A::MAXIMUM_SURFACE3D_HEIGHT
            | A::MAXIMUM_SURFACE3D_DEPTH => 16_384,
            A::MAXIMUM_TEXTURE1D_LINEAR_WIDTH => 1 << 28,
            A::MAXIMUM_TEXTURE2D_LINEAR_WIDTH => 131_072,
            A::MAXIMUM_TEXTURE2D_LINEAR_HEIGHT => 65_000,
            A::MAXIMUM_TEXTURE2D_LINEAR_PITCH => 2_097_120,
            A::CAN_TEX2D_GATHER => 1,
            A::ECC_ENABLED => 0,
            A::PCI_BUS_ID => i32::try_from(self.ordinal).unwrap_or(i32::MAX),
            A::PCI_DEVICE_ID => 0,
            A::PCI_DOMAIN_ID => PCI_DOMAIN,
            A::TCC_DRIVER => 0,
            A::L2_CACHE_SIZE => 4 << 20,
            A::MAX_THREADS_PER_MULTIPROCESSOR => int(limits.threads_per_sm),
            A::UNIFIED_ADDRESSING => 1,
            A::COMPUTE_CAPABILITY_MAJOR => int(major),
            A::COMPUTE_CAPABILITY_MINOR => int(minor),
            A::STREAM_PRIORITIES_SUPPORTED => 1,
            A::GLOBAL_L1_CACHE_SUPPORTED | A::LOCAL_L1_CACHE_SUPPORTED => 1,
            A::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR => int(limits.shared_per_sm),
            A::MAX_REGISTERS_PER_MULTIPROCESSOR => int(limits.registers_per_sm),
            A::MANAGED_MEMORY => 1,
            A::CONCURRENT_MANAGED_ACCESS => i32::from(self.config.concurrent_managed_access),
            A::MULTI_GPU_BOARD | A::MULTI_GPU_BOARD_GROUP_ID => 0,
            A::HOST_NATIVE_ATOMIC_SUPPORTED => 1,
            A::SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO => 2,
            A::PAGEABLE_MEMORY_ACCESS
            | A::PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES
            | A::DIRECT_MANAGED_MEM_ACCESS_FROM_HOST => 0,
            A::COMPUTE_PREEMPTION_SUPPORTED => 1,
            A::CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM => 1,
            A::HOST_REGISTER_SUPPORTED | A::READ_ONLY_HOST_REGISTER_SUPPORTED => 1,
            A::COOPERATIVE_LAUNCH => 1,
            A::COOPERATIVE_MULTI_DEVICE_LAUNCH => 0,
            A::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN => int(limits.shared_per_block_optin),
            A::MAX_BLOCKS_PER_MULTIPROCESSOR => int(limits.blocks_per_sm),
            A::RESERVED_SHARED_MEMORY_PER_BLOCK => int(limits.shared_reserved),
            A::MEMORY_POOLS_SUPPORTED => 1,
            A::UNIFIED_FUNCTION_POINTERS => 1,
            A::MEM_SYNC_DOMAIN_COUNT => 1,
            A::NUMA_ID | A::HOST_NUMA_ID => -1,
            A(1..=161) => 0,
            A(other) => {
                return fail(
                    CUresult::INVALID_VALUE,
                    format!("devices have no attribute {other}"),
                );
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_follows_the_compute_capability() {
        let shared = |cc| {
            let l = limits(cc);
            (l.shared_per_sm >> 10, l.shared_per_block_optin >> 10)
        };
        assert_eq!(shared((7, 0)), (96, 96));
        assert_eq!(shared((7, 5)), (64, 64));
        assert_eq!(shared((8, 0)), (164, 163));
        assert_eq!(shared((8, 6)), (100, 99));
        assert_eq!(shared((9, 0)), (228, 227));
        assert_eq!(shared((12, 0)), (100, 99));
    }
}
