//! The shape of a launch.

/// Grid, block and dynamic shared memory of a launch.
///
/// ```
/// use cuprum_driver_core::LaunchConfig;
///
/// let config = LaunchConfig::for_elements(1000);
/// assert_eq!((config.grid, config.block), ((4, 1, 1), (256, 1, 1)));
/// let tiles = LaunchConfig::for_elements_2d(100, 30, (16, 16)).with_shared_bytes(1024);
/// assert_eq!((tiles.grid, tiles.shared_bytes), ((7, 2, 1), 1024));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaunchConfig {
    /// Blocks in x, y and z. No blocks in any of them is a launch of nothing.
    pub grid: (u32, u32, u32),
    /// Threads of a block in x, y and z.
    pub block: (u32, u32, u32),
    /// Dynamic shared memory of a block in bytes.
    pub shared_bytes: u32,
}

/// Threads of a block when nobody says otherwise: full occupancy on every device, and a multiple of every warp size.
const BLOCK: u32 = 256;

impl LaunchConfig {
    /// A grid and a block, without dynamic shared memory.
    #[must_use]
    pub const fn new(grid: (u32, u32, u32), block: (u32, u32, u32)) -> Self {
        Self {
            grid,
            block,
            shared_bytes: 0,
        }
    }

    /// One thread for each of `count` elements, in blocks of 256.
    ///
    /// # Panics
    /// If that is more blocks than a grid can have in x (2^31 - 1, so half a trillion elements).
    #[must_use]
    pub const fn for_elements(count: usize) -> Self {
        Self::for_elements_in(count, BLOCK)
    }

    /// One thread for each of `count` elements, in blocks of `block`.
    ///
    /// # Panics
    /// If `block` is 0, or if that is more blocks than a grid can have in x (2^31 - 1).
    #[must_use]
    #[track_caller]
    pub const fn for_elements_in(count: usize, block: u32) -> Self {
        assert!(block > 0, "a block has at least one thread");
        let blocks = count.div_ceil(block as usize);
        assert!(
            blocks <= i32::MAX as usize,
            "a grid has at most 2147483647 blocks in x"
        );
        Self::new((blocks as u32, 1, 1), (block, 1, 1))
    }

    /// One thread for each of `width` x `height` elements, in blocks of `block`.
    ///
    /// # Panics
    /// If a block extent is 0, or if the grid would be larger than a device allows (2^31 - 1 by 65535).
    #[must_use]
    #[track_caller]
    pub const fn for_elements_2d(width: usize, height: usize, block: (u32, u32)) -> Self {
        assert!(
            block.0 > 0 && block.1 > 0,
            "a block has at least one thread"
        );
        let (x, y) = (
            width.div_ceil(block.0 as usize),
            height.div_ceil(block.1 as usize),
        );
        assert!(
            x <= i32::MAX as usize && y <= 65_535,
            "a grid has at most 2147483647 x 65535 blocks"
        );
        Self::new((x as u32, y as u32, 1), (block.0, block.1, 1))
    }

    /// A grid of `blocks` blocks of `threads` threads, both in x.
    #[must_use]
    pub const fn grid_1d(blocks: u32, threads: u32) -> Self {
        Self::new((blocks, 1, 1), (threads, 1, 1))
    }

    /// The same shape with `bytes` of dynamic shared memory for each block.
    #[must_use]
    pub const fn with_shared_bytes(self, bytes: u32) -> Self {
        Self {
            shared_bytes: bytes,
            ..self
        }
    }

    /// Threads of a block; the largest `u64` if that overflows.
    #[must_use]
    pub const fn threads_per_block(&self) -> u64 {
        (self.block.0 as u64 * self.block.1 as u64).saturating_mul(self.block.2 as u64)
    }

    /// Blocks of the grid.
    #[must_use]
    pub const fn blocks(&self) -> u128 {
        self.grid.0 as u128 * self.grid.1 as u128 * self.grid.2 as u128
    }
}
