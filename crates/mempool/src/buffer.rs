//! Bytes lent by a pool.

use std::fmt;
use std::ops::{Deref, DerefMut};

use cuprum_driver_core::{DeviceBuffer, Result};

/// Bytes of device memory that a [`Pool`](crate::Pool) lent. Dropping it gives them back, after all their uses.
///
/// It is a [`DeviceBuffer`] of bytes in all that one can do with it: `&*buffer` and `&mut *buffer` are arguments of
/// kernels. Its contents are undefined until they are written.
///
/// ```
/// use cuprum_driver_core::Device;
/// use cuprum_mempool::Pool;
///
/// let context = Device::by_name("soft:0")?.context()?;
/// let stream = context.new_stream()?;
/// let pool = Pool::new(&context)?;
/// let mut buffer = pool.allocate(&stream, 1000)?;
/// buffer.fill(7)?;
/// assert_eq!((buffer.len(), buffer.to_vec()?[999]), (1000, 7));
/// buffer.free()?; // using it again is an error of the compiler
/// assert_eq!(pool.active_blocks(), 0);
/// # Ok::<(), cuprum_driver_core::Error>(())
/// ```
///
/// ```compile_fail,E0382
/// # use cuprum_driver_core::Device;
/// # let context = Device::by_name("soft:0").unwrap().context().unwrap();
/// # let stream = context.new_stream().unwrap();
/// # let pool = cuprum_mempool::Pool::new(&context).unwrap();
/// let buffer = pool.allocate(&stream, 1000).unwrap();
/// buffer.free().unwrap();
/// buffer.free().unwrap();
/// ```
pub struct PooledBuffer {
    buffer: DeviceBuffer<u8>,
}

impl PooledBuffer {
    #[inline]
    pub(crate) fn new(buffer: DeviceBuffer<u8>) -> Self {
        Self { buffer }
    }

    /// The device address; 0 if there are no bytes.
    #[must_use]
    pub fn addr(&self) -> u64 {
        self.buffer.address()
    }

    /// Gives the bytes back, as dropping does.
    ///
    /// # Errors
    /// What dropping would keep to itself.
    pub fn free(self) -> Result<()> {
        self.buffer.close()
    }

    /// The buffer that this is.
    #[must_use]
    pub fn into_buffer(self) -> DeviceBuffer<u8> {
        self.buffer
    }
}

impl Deref for PooledBuffer {
    type Target = DeviceBuffer<u8>;

    fn deref(&self) -> &DeviceBuffer<u8> {
        &self.buffer
    }
}

impl DerefMut for PooledBuffer {
    fn deref_mut(&mut self) -> &mut DeviceBuffer<u8> {
        &mut self.buffer
    }
}

impl fmt::Debug for PooledBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PooledBuffer({:#x}, {} bytes)", self.addr(), self.len())
    }
}
