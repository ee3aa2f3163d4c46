//! What a texture or surface instruction asks for, as a number that compiled code can pass.

/// The shape that an instruction takes its object for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Geometry {
    D1 = 0,
    D2 = 1,
    D3 = 2,
    /// Layers of one dimension.
    A1 = 3,
    /// Layers of two dimensions.
    A2 = 4,
    Cube = 5,
    /// Layers of cubes.
    Acube = 6,
}

impl Geometry {
    const ALL: [Self; 7] = [
        Self::D1,
        Self::D2,
        Self::D3,
        Self::A1,
        Self::A2,
        Self::Cube,
        Self::Acube,
    ];

    /// Coordinates besides the layer.
    pub(crate) fn coordinates(self) -> usize {
        match self {
            Self::D1 | Self::A1 => 1,
            Self::D2 | Self::A2 => 2,
            Self::D3 | Self::Cube | Self::Acube => 3,
        }
    }

    pub(crate) fn is_layered(self) -> bool {
        matches!(self, Self::A1 | Self::A2 | Self::Acube)
    }

    pub(crate) fn is_cube(self) -> bool {
        matches!(self, Self::Cube | Self::Acube)
    }
}

/// How a texture read chooses the level of detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The base level.
    Base,
    /// A level, in slot 4.
    Level,
    /// Gradients in x and y of the target, in slots 4 to 6 and 8 to 10.
    Gradient,
    /// No level: one channel of the four texels that linear filtering of the base level would read.
    Gather(u32),
}

/// A texture read. Slots: the layer if there are layers, then the coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextureRequest {
    pub(crate) geometry: Geometry,
    /// Whether the coordinates are integers: texels, not filtered.
    pub(crate) integer: bool,
    pub(crate) detail: Detail,
}

impl TextureRequest {
    pub(crate) fn to_bits(self) -> u32 {
        let detail = match self.detail {
            Detail::Base => 0,
            Detail::Level => 1,
            Detail::Gradient => 2,
            Detail::Gather(channel) => 3 | channel << 2,
        };
        self.geometry as u32 | u32::from(self.integer) << 3 | detail << 4
    }

    pub(crate) fn from_bits(bits: u32) -> Self {
        Self {
            geometry: Geometry::ALL[(bits & 7) as usize % Geometry::ALL.len()],
            integer: bits & 8 != 0,
            detail: match bits >> 4 & 3 {
                0 => Detail::Base,
                1 => Detail::Level,
                2 => Detail::Gradient,
                _ => Detail::Gather(bits >> 6 & 3),
            },
        }
    }
}

/// What a surface instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum SurfaceAction {
    Load = 0,
    /// Stores bytes.
    Store = 1,
    /// Stores a texel, converted to the array's format.
    StoreFormatted = 2,
    Add = 3,
    Min = 4,
    Max = 5,
    And = 6,
    Or = 7,
}

impl SurfaceAction {
    const ALL: [Self; 8] = [
        Self::Load,
        Self::Store,
        Self::StoreFormatted,
        Self::Add,
        Self::Min,
        Self::Max,
        Self::And,
        Self::Or,
    ];
}

/// A surface access. Slots: the layer if there are layers, the coordinates, and from slot 4 the bytes to store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SurfaceRequest {
    pub(crate) geometry: Geometry,
    pub(crate) action: SurfaceAction,
    pub(crate) outside: super::Outside,
    /// Bytes: a power of two up to 16. For formatted stores, four for each channel given.
    pub(crate) bytes: u32,
    /// Whether a reduction compares signed numbers.
    pub(crate) signed: bool,
}

impl SurfaceRequest {
    pub(crate) fn to_bits(self) -> u32 {
        self.geometry as u32
            | (self.action as u32) << 3
            | (self.outside as u32) << 6
            | self.bytes.trailing_zeros() << 8
            | u32::from(self.signed) << 11
    }

    pub(crate) fn from_bits(bits: u32) -> Self {
        use super::Outside;
        Self {
            geometry: Geometry::ALL[(bits & 7) as usize % Geometry::ALL.len()],
            action: SurfaceAction::ALL[(bits >> 3 & 7) as usize],
            outside: match bits >> 6 & 3 {
                0 => Outside::Trap,
                1 => Outside::Clamp,
                _ => Outside::Zero,
            },
            bytes: 1 << (bits >> 8 & 7),
            signed: bits & 1 << 11 != 0,
        }
    }
}

/// What `txq` and `suq` ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Query {
    Width = 0,
    Height = 1,
    Depth = 2,
    ChannelDataType = 3,
    ChannelOrder = 4,
    NormalizedCoordinates = 5,
    ArraySize = 6,
    MipmapLevels = 7,
    Samples = 8,
}

impl Query {
    pub(crate) fn from_bits(bits: u32) -> Self {
        [
            Self::Width,
            Self::Height,
            Self::Depth,
            Self::ChannelDataType,
            Self::ChannelOrder,
            Self::NormalizedCoordinates,
            Self::ArraySize,
            Self::MipmapLevels,
            Self::Samples,
        ]
        .into_iter()
        .find(|query| *query as u32 == bits)
        .unwrap_or(Self::Samples)
    }
}
