//! What compiled code and kernels hold: requests as numbers, objects by handles.

use std::sync::Arc;

use super::handles::Handles;
use super::{Detail, Geometry, Outside, SurfaceAction, SurfaceRequest, TextureRequest};

const GEOMETRIES: [Geometry; 7] = [
    Geometry::D1,
    Geometry::D2,
    Geometry::D3,
    Geometry::A1,
    Geometry::A2,
    Geometry::Cube,
    Geometry::Acube,
];

#[test]
fn texture_requests_survive_as_numbers() {
    let details = [Detail::Base, Detail::Level, Detail::Gradient]
        .into_iter()
        .chain((0..4).map(Detail::Gather));
    for detail in details {
        for geometry in GEOMETRIES {
            for integer in [false, true] {
                let request = TextureRequest {
                    geometry,
                    integer,
                    detail,
                };
                assert_eq!(TextureRequest::from_bits(request.to_bits()), request);
            }
        }
    }
}

#[test]
fn surface_requests_survive_as_numbers() {
    use SurfaceAction as A;
    let actions = [
        A::Load,
        A::Store,
        A::StoreFormatted,
        A::Add,
        A::Min,
        A::Max,
        A::And,
        A::Or,
    ];
    for action in actions {
        for outside in [Outside::Trap, Outside::Clamp, Outside::Zero] {
            for (bytes, signed) in [(1, false), (2, true), (4, true), (8, false), (16, true)] {
                for geometry in GEOMETRIES {
                    let request = SurfaceRequest {
                        geometry,
                        action,
                        outside,
                        bytes,
                        signed,
                    };
                    assert_eq!(SurfaceRequest::from_bits(request.to_bits()), request);
                }
            }
        }
    }
}

#[test]
fn a_handle_finds_its_own_object_only() {
    let (one, other) = (Handles::new(1), Handles::<&str>::new(2));
    let first = one.insert(Arc::new("first")).expect("there is room");
    assert_eq!(one.get(first).as_deref(), Some(&"first"));
    assert_eq!(other.get(first), None, "a handle of another table");
    assert_eq!(one.remove(first).as_deref(), Some(&"first"));
    let second = one.insert(Arc::new("second")).expect("there is room");
    assert_ne!(first, second, "a place is used again under another handle");
    assert_eq!((one.get(first), one.remove(first)), (None, None));
    assert_eq!(one.get(second).as_deref(), Some(&"second"));
    for wrong in [0, 1, u64::MAX, second + 1, second ^ 1 << 52] {
        assert_eq!(one.get(wrong), None, "{wrong:#x}");
    }
}
