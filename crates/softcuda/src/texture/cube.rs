//! Cube maps: from directions to faces.

/// A face (+x, -x, +y, -y, +z, -z), the coordinates on it, and the length along its axis (programming guide, "Cubemap
/// textures"): `s / m` and `t / m` go from -1 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Face {
    pub(super) number: u32,
    pub(super) s: f32,
    pub(super) t: f32,
    pub(super) m: f32,
}

impl Face {
    /// Coordinates on the face from 0 to 1.
    pub(super) fn coordinates(self) -> [f32; 2] {
        [(self.s / self.m + 1.0) / 2.0, (self.t / self.m + 1.0) / 2.0]
    }
}

/// The face that a direction points to: that of its longest component, the first of equal ones.
pub(super) fn face([x, y, z]: [f32; 3]) -> Face {
    let (ax, ay, az) = (x.abs(), y.abs(), z.abs());
    let number = if ax >= ay && ax >= az {
        u32::from(x < 0.0)
    } else if ay >= az {
        2 + u32::from(y < 0.0)
    } else {
        4 + u32::from(z < 0.0)
    };
    on(number, [x, y, z])
}

/// A direction as seen on a given face.
pub(super) fn on(number: u32, [x, y, z]: [f32; 3]) -> Face {
    let (s, t, m) = match number {
        0 => (-z, -y, x),
        1 => (z, -y, -x),
        2 => (x, z, y),
        3 => (x, -z, -y),
        4 => (x, -y, z),
        _ => (-x, -y, -z),
    };
    Face { number, s, t, m }
}

/// The direction of a point on a face, with a length of 1 along the face's axis.
pub(super) fn direction(number: u32, [s, t]: [f32; 2]) -> [f32; 3] {
    match number {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    }
}
