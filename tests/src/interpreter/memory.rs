//! Memory of the interpreter: regions of bytes at given addresses.

use super::Stop;

/// Global memory: regions that do not overlap. Give a region the address that the buffer has on a device, and kernels that store or compute with
/// pointers behave the same on both.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    regions: Vec<(u64, Vec<u8>)>,
}

impl Memory {
    /// No memory at all.
    #[must_use]
    pub fn new() -> Self {
        Memory::default()
    }

    /// Adds a region.
    ///
    /// # Panics
    /// If it overlaps another.
    pub fn add(&mut self, address: u64, bytes: Vec<u8>) {
        let end = address + bytes.len() as u64;
        assert!(
            self.regions
                .iter()
                .all(|(start, old)| end <= *start || *start + old.len() as u64 <= address),
            "regions overlap"
        );
        self.regions.push((address, bytes));
    }

    /// The region that starts at an address.
    #[must_use]
    pub fn region(&self, address: u64) -> Option<&[u8]> {
        self.regions
            .iter()
            .find(|(start, _)| *start == address)
            .map(|(_, bytes)| bytes.as_slice())
    }

    pub(super) fn slice(&mut self, address: u64, size: usize) -> Result<&mut [u8], Stop> {
        self.regions
            .iter_mut()
            .find_map(|(start, bytes)| {
                let offset = usize::try_from(address.checked_sub(*start)?).ok()?;
                bytes.get_mut(offset..offset.checked_add(size)?)
            })
            .ok_or_else(|| Stop::Fault(format!("no memory at {address:#x} ({size} bytes)")))
    }
}

/// Reads a little-endian number.
pub(super) fn read(bytes: &[u8]) -> u128 {
    bytes
        .iter()
        .rev()
        .fold(0, |value, &byte| value << 8 | u128::from(byte))
}

/// Writes a little-endian number.
pub(super) fn write(bytes: &mut [u8], value: u128) {
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = (value >> (8 * i)) as u8;
    }
}
