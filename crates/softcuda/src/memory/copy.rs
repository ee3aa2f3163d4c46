//! Copies: geometry of rectangles and boxes, and moving the bytes.

use std::ffi::c_void;

use cuprum_driver_sys::{CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUarray, CUmemorytype, CUresult};

use super::Space;
use crate::error::{Outcome, fail};
use crate::texture::Level;

/// One end of a box copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Side {
    /// Address of the first byte to copy.
    pub(crate) address: u64,
    /// Bytes from a row to the next.
    pub(crate) pitch: u64,
    /// Bytes from a slice to the next.
    pub(crate) slice: u64,
    /// Whether the address names device memory (or memory the device can reach), checked against its allocation.
    pub(crate) is_device: bool,
}

/// A copy of `depth` slices of `height` rows of `width` bytes. Checked: both ends lie in their allocations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BoxCopy {
    /// Where to.
    pub(crate) dst: Side,
    /// Where from.
    pub(crate) src: Side,
    /// Bytes of a row.
    pub(crate) width: u64,
    /// Rows of a slice.
    pub(crate) height: u64,
    /// Slices.
    pub(crate) depth: u64,
}

/// The greatest pitch that `cuMemcpy2D` takes (`CU_DEVICE_ATTRIBUTE_MAX_PITCH`).
pub(crate) const MAX_PITCH: u64 = i32::MAX as u64;

/// One end as the C structures give it.
struct Given {
    name: &'static str,
    kind: CUmemorytype,
    host: u64,
    device: u64,
    array: CUarray,
    x: u64,
    y: u64,
    z: u64,
    pitch: u64,
    height: u64,
}

fn address(pointer: *const c_void) -> u64 {
    pointer.expose_provenance() as u64
}

impl BoxCopy {
    /// A plain copy of `len` bytes; the caller has checked both ends.
    pub(crate) fn line(dst: u64, src: u64, len: u64) -> Self {
        let side = |address| Side {
            address,
            pitch: len,
            slice: len,
            is_device: true,
        };
        Self {
            dst: side(dst),
            src: side(src),
            width: len,
            height: 1,
            depth: 1,
        }
    }

    /// The copy that a 2-D structure describes, or why it describes none.
    pub(crate) fn from_2d(space: &Space, c: &CUDA_MEMCPY2D, any_pitch: bool) -> Outcome<Self> {
        let src = Given {
            name: "source",
            kind: c.srcMemoryType,
            host: address(c.srcHost),
            device: c.srcDevice,
            array: c.srcArray,
            x: c.srcXInBytes as u64,
            y: c.srcY as u64,
            z: 0,
            pitch: c.srcPitch as u64,
            height: 0,
        };
        let dst = Given {
            name: "destination",
            kind: c.dstMemoryType,
            host: address(c.dstHost),
            device: c.dstDevice,
            array: c.dstArray,
            x: c.dstXInBytes as u64,
            y: c.dstY as u64,
            z: 0,
            pitch: c.dstPitch as u64,
            height: 0,
        };
        if !any_pitch && src.pitch.max(dst.pitch) > MAX_PITCH {
            return fail(
                CUresult::INVALID_VALUE,
                format!(
                    "a pitch of {} bytes: at most {MAX_PITCH}",
                    src.pitch.max(dst.pitch)
                ),
            );
        }
        Self::build(space, dst, src, [c.WidthInBytes as u64, c.Height as u64, 1])
    }

    /// The copy that a 3-D structure describes, or why it describes none.
    pub(crate) fn from_3d(space: &Space, c: &CUDA_MEMCPY3D) -> Outcome<Self> {
        if !c.reserved0.is_null() || !c.reserved1.is_null() {
            return fail(CUresult::INVALID_VALUE, "the reserved fields must be null");
        }
        if c.srcLOD != 0 || c.dstLOD != 0 {
            return fail(CUresult::INVALID_VALUE, "the mip levels must be zero");
        }
        let src = Given {
            name: "source",
            kind: c.srcMemoryType,
            host: address(c.srcHost),
            device: c.srcDevice,
            array: c.srcArray,
            x: c.srcXInBytes as u64,
            y: c.srcY as u64,
            z: c.srcZ as u64,
            pitch: c.srcPitch as u64,
            height: c.srcHeight as u64,
        };
        let dst = Given {
            name: "destination",
            kind: c.dstMemoryType,
            host: address(c.dstHost),
            device: c.dstDevice,
            array: c.dstArray,
            x: c.dstXInBytes as u64,
            y: c.dstY as u64,
            z: c.dstZ as u64,
            pitch: c.dstPitch as u64,
            height: c.dstHeight as u64,
        };
        Self::build(
            space,
            dst,
            src,
            [c.WidthInBytes as u64, c.Height as u64, c.Depth as u64],
        )
    }

    fn build(space: &Space, dst: Given, src: Given, extent: [u64; 3]) -> Outcome<Self> {
        let [width, height, depth] = extent;
        Ok(Self {
            dst: dst.check(space, extent)?,
            src: src.check(space, extent)?,
            width,
            height,
            depth,
        })
    }

    /// Whether there is nothing to copy.
    pub(crate) fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    /// Bytes that move.
    pub(crate) fn bytes(&self) -> u64 {
        self.width
            .saturating_mul(self.height)
            .saturating_mul(self.depth)
    }

    /// Copies the source of the box into fresh memory, and answers the box with that as its source.
    pub(crate) fn stage(&self) -> (Vec<u8>, Self) {
        let mut staged = vec![0u8; usize::try_from(self.bytes()).unwrap_or(usize::MAX)];
        let at = staged.as_mut_ptr().expose_provenance() as u64;
        let compact = Side {
            address: at,
            pitch: self.width,
            slice: self.width * self.height,
            is_device: false,
        };
        Self {
            dst: compact,
            ..*self
        }
        .run();
        (
            staged,
            Self {
                src: compact,
                ..*self
            },
        )
    }

    /// Moves the bytes. Overlapping ends copy each row as if through a buffer.
    pub(crate) fn run(&self) {
        if self.is_empty() {
            return;
        }
        let compact =
            |side: &Side| side.pitch == self.width && side.slice == self.width * self.height;
        if compact(&self.dst) && compact(&self.src) {
            return move_bytes(self.dst.address, self.src.address, self.bytes());
        }
        for z in 0..self.depth {
            for y in 0..self.height {
                let at = |side: &Side| side.address + z * side.slice + y * side.pitch;
                move_bytes(at(&self.dst), at(&self.src), self.width);
            }
        }
    }
}

impl Given {
    /// Finds the first byte in an array and checks that the box lies in it.
    fn check_array(&self, [width, height, depth]: [u64; 3]) -> Outcome<Side> {
        let array = crate::context::array(self.array)?;
        let texel = u64::from(array.shape.format.bytes());
        let Level {
            address,
            extent,
            pitch,
            slice,
        } = *array.base();
        let [x, y, z] = [self.x, self.y, self.z];
        let rows = u64::from(extent[1]);
        let slices = u64::from(extent[2]);
        let fits = |from: u64, count: u64, limit: u64| {
            from.checked_add(count).is_some_and(|end| end <= limit)
        };
        if !fits(x, width, pitch) || !fits(y, height, rows) || !fits(z, depth, slices) {
            return fail(
                CUresult::INVALID_VALUE,
                format!(
                    "the {}: {width} bytes, {height} rows and {depth} slices from ({x}, {y}, {z}) leave the array of {pitch} \
                     bytes, {rows} rows and {slices} slices",
                    self.name
                ),
            );
        }
        if !x.is_multiple_of(texel) || !width.is_multiple_of(texel) {
            return fail(
                CUresult::INVALID_VALUE,
                format!(
                    "the {}: {width} bytes from byte {x} of an array's row are no whole texels of {texel} bytes",
                    self.name
                ),
            );
        }
        Ok(Side {
            address: address + z * slice + y * pitch + x,
            pitch,
            slice,
            is_device: true,
        })
    }

    /// Finds the first byte and checks that all rows lie in the allocation, for device memory.
    fn check(&self, space: &Space, [width, height, depth]: [u64; 3]) -> Outcome<Side> {
        let name = self.name;
        let (base, is_device) = match self.kind {
            CUmemorytype::HOST => (self.host, false),
            CUmemorytype::DEVICE => (self.device, true),
            CUmemorytype::UNIFIED => (self.device, space.contains(self.device)),
            CUmemorytype::ARRAY => return self.check_array([width, height, depth]),
            CUmemorytype(other) => {
                return fail(
                    CUresult::INVALID_VALUE,
                    format!("the {name} has memory type {other}"),
                );
            }
        };
        if width == 0 || height == 0 || depth == 0 {
            return Ok(Side {
                address: base,
                pitch: self.pitch,
                slice: 0,
                is_device,
            });
        }
        let overflow = || {
            crate::error::Failure::new(
                CUresult::INVALID_VALUE,
                format!("the {name}'s extent overflows"),
            )
        };
        let right = self.x.checked_add(width).ok_or_else(overflow)?;
        let rows = height > 1 || depth > 1 || self.y > 0 || self.z > 0;
        if rows && self.pitch < right {
            return fail(
                CUresult::INVALID_VALUE,
                format!(
                    "the {name}'s pitch of {} bytes is less than x + width = {right}",
                    self.pitch
                ),
            );
        }
        let slices = depth > 1 || self.z > 0;
        let lower = self.y.checked_add(height).ok_or_else(overflow)?;
        if slices && self.height < lower {
            return fail(
                CUresult::INVALID_VALUE,
                format!(
                    "the {name}'s height of {} rows is less than y + height = {lower}",
                    self.height
                ),
            );
        }
        let pitch = if rows { self.pitch } else { width };
        let slice = if slices {
            pitch.checked_mul(self.height).ok_or_else(overflow)?
        } else {
            pitch.saturating_mul(height)
        };
        // Every row is checked through the first and the last byte, since rows and slices do not run backwards.
        let offset = |z: u64, y: u64, x: u64| {
            z.checked_mul(slice)?
                .checked_add(y.checked_mul(pitch)?)?
                .checked_add(x)
        };
        let first = offset(self.z, self.y, self.x)
            .and_then(|o| base.checked_add(o))
            .ok_or_else(overflow)?;
        let last = offset(depth - 1, height - 1, width).ok_or_else(overflow)?;
        if base == 0 {
            return fail(CUresult::INVALID_VALUE, format!("the {name} is null"));
        }
        first.checked_add(last).ok_or_else(overflow)?;
        if is_device {
            let block = space.check(name, base, 1);
            // Memory that the program registered may be named by its host address.
            if block.is_err() && space.is_page_locked(first, last) {
                return Ok(Side {
                    address: first,
                    pitch,
                    slice,
                    is_device,
                });
            }
            block?;
            space.check(name, first, last)?;
        }
        Ok(Side {
            address: first,
            pitch,
            slice,
            is_device,
        })
    }
}

/// Copies `len` bytes between two addresses of the process, as if through a buffer.
fn move_bytes(dst: u64, src: u64, len: u64) {
    let to = std::ptr::with_exposed_provenance_mut::<u8>(dst as usize);
    let from = std::ptr::with_exposed_provenance::<u8>(src as usize);
    // SAFETY: device ends were checked to lie in an allocation, whose pages stay accessible for the life of the
    // process; host ends are pointers that the caller of the entry point promised to be valid for the copy. Whoever
    // touches the same bytes meanwhile breaks the ordering rules of the driver API.
    unsafe { std::ptr::copy(from, to, len as usize) };
}

/// Fills `height` rows, `pitch` bytes apart, with `width` elements of `N` bytes.
pub(crate) fn fill_rows<const N: usize>(
    dst: u64,
    pitch: u64,
    element: [u8; N],
    width: u64,
    height: u64,
) {
    for y in 0..height {
        let row = std::ptr::with_exposed_provenance_mut::<[u8; N]>((dst + y * pitch) as usize);
        if element.iter().all(|&byte| byte == element[0]) {
            // SAFETY: as below; equal bytes can be written as bytes.
            unsafe { row.cast::<u8>().write_bytes(element[0], width as usize * N) };
            continue;
        }
        for x in 0..width as usize {
            // SAFETY: the caller checked that all rows lie in one allocation, whose pages stay accessible; an array of
            // bytes needs no alignment.
            unsafe { row.add(x).write(element) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_moves_only_its_bytes() {
        let source: Vec<u8> = (0..4 * 5 * 6).collect();
        let mut target = vec![0xffu8; 3 * 7 * 8];
        let at = |v: *const u8| v.expose_provenance() as u64;
        let copy = BoxCopy {
            src: Side {
                address: at(source.as_ptr()) + 1,
                pitch: 6,
                slice: 30,
                is_device: false,
            },
            dst: Side {
                address: at(target.as_mut_ptr()) + 2,
                pitch: 8,
                slice: 56,
                is_device: false,
            },
            width: 3,
            height: 4,
            depth: 3,
        };
        let mut expected = target.clone();
        for (z, y, x) in
            (0..3).flat_map(|z| (0..4).flat_map(move |y| (0..3).map(move |x| (z, y, x))))
        {
            expected[z * 56 + y * 8 + x + 2] = source[z * 30 + y * 6 + x + 1];
        }
        let (staged, from_stage) = copy.stage();
        copy.run();
        assert_eq!(target, expected);
        target.fill(0xff);
        from_stage.run();
        assert_eq!(target, expected);
        assert_eq!(staged.len(), 36);
    }

    #[test]
    fn rows_are_filled_and_gaps_kept() {
        let mut target = [0u8; 30];
        let at = target.as_mut_ptr().expose_provenance() as u64;
        fill_rows(at + 1, 10, [1, 2], 3, 2);
        assert_eq!(target[..11], [0, 1, 2, 1, 2, 1, 2, 0, 0, 0, 0]);
        assert_eq!(target[11..20], [1, 2, 1, 2, 1, 2, 0, 0, 0]);
        fill_rows(at, 10, [7], 30, 1);
        assert_eq!(target, [7; 30]);
    }
}
