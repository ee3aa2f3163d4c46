//! CUDA arrays and mipmapped arrays.

use std::sync::{Arc, Mutex};

use cuprum_driver_sys::{CUDA_ARRAY3D_DESCRIPTOR, CUresult, flags};

use super::Format;
use crate::context::Context;
use crate::driver::driver;
use crate::error::{Outcome, fail, lock};
use crate::memory::{Block, Kind, Request};
use crate::registry::next_id;

/// Texels in each direction that an array may have, as the device's attributes say.
const MAX_1D: usize = 131_072;
const MAX_2D: [usize; 2] = [131_072, 65_536];
const MAX_3D: usize = 16_384;
const MAX_LAYERED: usize = 32_768;
const MAX_LAYERS: usize = 2_048;
const MAX_CUBE: usize = 32_768;
const MAX_CUBE_LAYERS: usize = 2_046;

/// Each level begins at a multiple of this, as texture memory of hardware does.
const LEVEL_ALIGNMENT: u64 = 512;

/// One level of an array: rows of texels without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    /// Address of the first texel.
    pub(crate) address: u64,
    /// Texels of a row, rows, and slices, layers or faces: none is zero.
    pub(crate) extent: [u32; 3],
    /// Bytes from a row to the next.
    pub(crate) pitch: u64,
    /// Bytes from a slice, layer or face to the next.
    pub(crate) slice: u64,
}

/// What an array was created as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) format: Format,
    /// As given: zeros where the array has no such dimension.
    pub(crate) extent: [usize; 3],
    /// `CUDA_ARRAY3D_...`.
    pub(crate) flags: u32,
}

impl Shape {
    /// Reads a description, or says why there is no such array.
    pub(crate) fn new(description: &CUDA_ARRAY3D_DESCRIPTOR) -> Outcome<Self> {
        let d = description;
        let shape = Self {
            format: Format::new(d.Format, d.NumChannels)?,
            extent: [d.Width, d.Height, d.Depth],
            flags: d.Flags,
        };
        shape.check()?;
        Ok(shape)
    }

    pub(crate) fn is_layered(&self) -> bool {
        self.flags & flags::CUDA_ARRAY3D_LAYERED != 0
    }

    pub(crate) fn is_cube(&self) -> bool {
        self.flags & flags::CUDA_ARRAY3D_CUBEMAP != 0
    }

    /// Whether surfaces may be made of the array.
    pub(crate) fn is_writable(&self) -> bool {
        self.flags & flags::CUDA_ARRAY3D_SURFACE_LDST != 0
    }

    fn check(&self) -> Outcome {
        let invalid = |text: String| fail(CUresult::INVALID_VALUE, text);
        let unknown = self.flags & !0xff;
        if unknown != 0 {
            return invalid(format!("array flags {unknown:#x} have no meaning"));
        }
        let elsewhere = flags::CUDA_ARRAY3D_SPARSE
            | flags::CUDA_ARRAY3D_DEFERRED_MAPPING
            | flags::CUDA_ARRAY3D_DEPTH_TEXTURE;
        if self.flags & elsewhere != 0 {
            return fail(
                CUresult::NOT_SUPPORTED,
                format!(
                    "array flags {:#x}: the software device has no sparse arrays, deferred mapping or depth textures",
                    self.flags & elsewhere
                ),
            );
        }
        let [width, height, depth] = self.extent;
        if width == 0 {
            return invalid("an array with a width of 0 texels".to_owned());
        }
        let within = |limits: [usize; 3]| {
            let fits = (0..3).all(|axis| self.extent[axis] <= limits[axis]);
            if fits {
                Ok(())
            } else {
                invalid(format!(
                    "an array of {width} x {height} x {depth} texels: at most {} x {} x {}",
                    limits[0], limits[1], limits[2]
                ))
            }
        };
        if self.is_cube() {
            let faces_fit = if self.is_layered() {
                depth > 0 && depth.is_multiple_of(6)
            } else {
                depth == 6
            };
            if width != height || !faces_fit {
                return invalid(format!(
                    "a cube map of {width} x {height} x {depth}: faces are square, and there are six for each cube"
                ));
            }
            return within([MAX_CUBE, MAX_CUBE, MAX_CUBE_LAYERS]);
        }
        if self.is_layered() {
            if depth == 0 {
                return invalid("a layered array of 0 layers".to_owned());
            }
            return within([MAX_LAYERED, MAX_LAYERED, MAX_LAYERS]);
        }
        match (height, depth) {
            (0, 0) => within([MAX_1D, 0, 0]),
            (_, 0) => within([MAX_2D[0], MAX_2D[1], 0]),
            (0, _) => invalid(format!(
                "an array of height 0 and depth {depth} is one of layers: CUDA_ARRAY3D_LAYERED is missing"
            )),
            _ => within([MAX_3D, MAX_3D, MAX_3D]),
        }
    }

    /// Texels of a level in each direction; no zeros.
    fn level(&self, level: u32) -> [u32; 3] {
        let shrunk = |n: usize| (n >> level).max(1) as u32;
        let [width, height, depth] = self.extent;
        let whole = self.is_layered() || self.is_cube();
        [
            shrunk(width),
            shrunk(height),
            if whole {
                depth.max(1) as u32
            } else {
                shrunk(depth)
            },
        ]
    }

    /// How many levels a full mip chain has.
    fn most_levels(&self) -> u32 {
        let [width, height, depth] = self.extent;
        let whole = self.is_layered() || self.is_cube();
        let largest = width.max(height).max(if whole { 0 } else { depth });
        largest.ilog2() + 1
    }

    /// The description of one level.
    fn of_level(&self, level: u32) -> Self {
        let [width, height, depth] = self.level(level);
        let keep = |given: usize, now: u32| if given == 0 { 0 } else { now as usize };
        Self {
            extent: [
                width as usize,
                keep(self.extent[1], height),
                keep(self.extent[2], depth),
            ],
            ..*self
        }
    }

    /// As `cuArray3DGetDescriptor` answers.
    pub(crate) fn description(&self) -> CUDA_ARRAY3D_DESCRIPTOR {
        CUDA_ARRAY3D_DESCRIPTOR {
            Width: self.extent[0],
            Height: self.extent[1],
            Depth: self.extent[2],
            Format: self.format.channel.code(),
            NumChannels: self.format.channels,
            Flags: self.flags,
        }
    }
}

/// The memory of an array and of the levels that are arrays of their own; freed with the last of them.
#[derive(Debug)]
struct Storage {
    block: Block,
}

impl Drop for Storage {
    fn drop(&mut self) {
        // There is a driver, since there was one when the memory was allocated.
        if let Ok(driver) = driver() {
            driver.space.release(&self.block);
        }
    }
}

/// An array, a mipmapped array, or a level of one.
pub(crate) struct Array {
    /// A number unique in the process.
    pub(crate) id: u64,
    /// The context it belongs to.
    pub(crate) context: Arc<Context>,
    pub(crate) shape: Shape,
    /// Its levels, at least one.
    pub(crate) levels: Vec<Level>,
    /// Handles of the levels that were asked for.
    parts: Mutex<Vec<Option<u64>>>,
    /// Whether it is a level of a mipmapped array, which alone can be destroyed.
    pub(crate) is_part: bool,
    storage: Arc<Storage>,
}

impl std::fmt::Debug for Array {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Array")
            .field("id", &self.id)
            .field("shape", &self.shape)
            .field("levels", &self.levels.len())
            .finish_non_exhaustive()
    }
}

impl Array {
    /// Allocates an array of so many levels; as many as possible if there are to be more than that.
    pub(crate) fn new(context: &Arc<Context>, shape: Shape, levels: u32) -> Outcome<Self> {
        if levels == 0 {
            return fail(CUresult::INVALID_VALUE, "a mipmapped array of 0 levels");
        }
        let count = levels.min(shape.most_levels());
        let texel = u64::from(shape.format.bytes());
        let mut laid_out = Vec::with_capacity(count as usize);
        let mut bytes = 0u64;
        for number in 0..count {
            let extent = shape.level(number);
            let pitch = u64::from(extent[0]) * texel;
            let slice = pitch * u64::from(extent[1]);
            let address = bytes.next_multiple_of(LEVEL_ALIGNMENT);
            let Some(end) = slice
                .checked_mul(u64::from(extent[2]))
                .and_then(|size| address.checked_add(size))
            else {
                return fail(CUresult::OUT_OF_MEMORY, "an array of more than 2^64 bytes");
            };
            bytes = end;
            laid_out.push(Level {
                address,
                extent,
                pitch,
                slice,
            });
        }
        let block = driver()?.space.allocate(Request {
            size: bytes,
            kind: Kind::Array,
            device: context.device.ordinal,
            context: context.id,
            flags: shape.flags,
        })?;
        for level in &mut laid_out {
            level.address += block.address;
        }
        Ok(Self {
            id: next_id(),
            context: Arc::clone(context),
            shape,
            parts: Mutex::new(vec![None; laid_out.len()]),
            levels: laid_out,
            is_part: false,
            storage: Arc::new(Storage { block }),
        })
    }

    /// One level as an array, or the number of the one that was made of it before.
    pub(crate) fn part(&self, level: u32) -> Outcome<Result<Self, u64>> {
        let mut parts = lock(&self.parts);
        let count = parts.len();
        let Some(known) = parts.get_mut(level as usize) else {
            return fail(
                CUresult::INVALID_VALUE,
                format!("level {level} of a mipmapped array with {count} levels"),
            );
        };
        if let Some(id) = *known {
            return Ok(Err(id));
        }
        let part = Self {
            id: next_id(),
            context: Arc::clone(&self.context),
            shape: self.shape.of_level(level),
            levels: vec![self.levels[level as usize]],
            parts: Mutex::default(),
            is_part: true,
            storage: Arc::clone(&self.storage),
        };
        *known = Some(part.id);
        Ok(Ok(part))
    }

    /// The numbers of the levels that were made into arrays.
    pub(crate) fn part_ids(&self) -> Vec<u64> {
        lock(&self.parts).iter().flatten().copied().collect()
    }

    /// The base level.
    pub(crate) fn base(&self) -> &Level {
        &self.levels[0]
    }
}
