//! From coordinates to texels, one axis at a time.

/// What is outside of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressMode {
    Wrap,
    Clamp,
    Mirror,
    Border,
}

/// One axis: how it is addressed, and how many texels it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    pub(super) mode: AddressMode,
    /// Whether coordinates go from 0 to 1.
    pub(super) normalized: bool,
    /// Texels, at least one.
    pub(super) size: u32,
}

/// The two texels of linear filtering, `None` for the border, and the weight of the second in 256ths.
pub(super) type Pair = ([Option<u32>; 2], u32);

/// Fractions of a texel that weights are made of: eight bits (programming guide, "Linear filtering": 1.8 fixed point).
pub(super) const STEPS: f64 = 256.0;

impl Axis {
    /// The mode in force: repeating needs normalised coordinates, and clamps without them.
    fn mode(self) -> AddressMode {
        match self.mode {
            AddressMode::Wrap | AddressMode::Mirror if !self.normalized => AddressMode::Clamp,
            mode => mode,
        }
    }

    /// The coordinate in texels. What is not a number counts as 0.
    fn place(self, coordinate: f32) -> f64 {
        let size = f64::from(self.size);
        let place = if self.normalized {
            let whole = coordinate.floor();
            let folded = match self.mode() {
                AddressMode::Wrap => coordinate - whole,
                // Every other repetition runs backwards.
                AddressMode::Mirror if whole.rem_euclid(2.0) == 1.0 => 1.0 - (coordinate - whole),
                AddressMode::Mirror => coordinate - whole,
                AddressMode::Clamp | AddressMode::Border => coordinate,
            };
            f64::from(folded) * size
        } else {
            f64::from(coordinate)
        };
        if place.is_nan() {
            0.0
        } else {
            // Far outside is outside: this keeps what follows within the range of integers.
            place.clamp(-2.0, size + 2.0)
        }
    }

    /// The texel at an index, which may be outside; `None` for the border.
    fn texel(self, index: i64) -> Option<u32> {
        let size = i64::from(self.size);
        match self.mode() {
            AddressMode::Wrap => Some(index.rem_euclid(size) as u32),
            AddressMode::Border if index < 0 || index >= size => None,
            // A mirrored edge repeats its last texel, as clamping does.
            _ => Some(index.clamp(0, size - 1) as u32),
        }
    }

    /// The texel that holds the coordinate.
    pub(super) fn nearest(self, coordinate: f32) -> Option<u32> {
        self.texel(self.place(coordinate).floor() as i64)
    }

    /// The texel at an integer coordinate.
    pub(super) fn exact(self, index: i32) -> Option<u32> {
        self.texel(i64::from(index))
    }

    /// The coordinate's distance from the first texel's centre in 256ths, rounded, ties up, as measured on an H200.
    fn steps(self, coordinate: f32) -> i64 {
        ((self.place(coordinate) - 0.5) * STEPS + 0.5).floor() as i64
    }

    /// The index of the first of the texels on both sides of the coordinate; it may be outside.
    pub(super) fn first(self, coordinate: f32) -> i64 {
        self.steps(coordinate) >> 8
    }

    /// The texels on both sides of the coordinate.
    pub(super) fn pair(self, coordinate: f32) -> Pair {
        let fixed = self.steps(coordinate);
        let first = fixed >> 8;
        (
            [self.texel(first), self.texel(first + 1)],
            (fixed & 0xff) as u32,
        )
    }
}
