//! Arrays put together from others.

use crate::array::GpuArray;
use crate::element::Element;
use crate::error::{Error, ErrorKind, Result};
use crate::shape::Shape;
use crate::view::{GpuView, GpuViewMut};

/// The axis that `axis` names of `ndim`, counted from the last one if negative.
fn axis_of(axis: isize, ndim: usize) -> Result<usize> {
    let at = if axis < 0 {
        axis.checked_add_unsigned(ndim)
    } else {
        Some(axis)
    };
    at.and_then(|at| usize::try_from(at).ok())
        .filter(|&at| at < ndim)
        .ok_or_else(|| {
            let message = format!("there is no axis {axis} among {ndim} to join arrays along");
            Error::new(ErrorKind::Shape, message)
        })
}

/// The first of the parts, which tells shape and stream.
fn first<'p, 'a, T>(parts: &'p [GpuView<'a, T>]) -> Result<&'p GpuView<'a, T>> {
    parts
        .first()
        .ok_or_else(|| Error::new(ErrorKind::Shape, "there are no arrays to join"))
}

/// The parts one after the other along an axis (counted from the last one if negative), as a new row-major array on the home stream of the
/// first. Any strides will do.
///
/// ```
/// # use cuprum_gpuarray::{GpuArray, concatenate};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let stream = cuprum_driver_core::Device::by_name("soft:0")?.context()?.default_stream();
/// let x = GpuArray::from_slice(&stream, &[1, 2, 3, 4], (2, 2))?;
/// assert_eq!(concatenate(&[x.view(), x.t()], -1)?.to_vec()?, [1, 2, 1, 3, 3, 4, 2, 4]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If there are no parts or no such axis, or their shapes differ in another axis; as [`eval`](crate::Operand::eval).
pub fn concatenate<T: Element>(parts: &[GpuView<'_, T>], axis: isize) -> Result<GpuArray<T>> {
    let lead = first(parts)?;
    let axis = axis_of(axis, lead.ndim())?;
    let mut lengths = lead.shape().to_vec();
    lengths[axis] = 0;
    for part in parts {
        let alike = part.ndim() == lengths.len()
            && (0..lengths.len()).all(|at| at == axis || part.shape()[at] == lengths[at]);
        if !alike {
            let message = format!(
                "shapes {:?} and {:?} differ in other axes than {axis}, along which they are joined",
                lead.shape(),
                part.shape()
            );
            return Err(Error::new(ErrorKind::Shape, message));
        }
        lengths[axis] = lengths[axis]
            .checked_add(part.shape()[axis])
            .ok_or_else(|| Error::too_large(part.shape()))?;
    }
    let mut joined = GpuArray::uninit(lead.stream(), Shape::new(&lengths))?;
    let mut start = 0;
    for part in parts {
        let end = start + part.shape()[axis];
        let mut whole = joined.view_mut();
        let mut layout = whole.layout().clone();
        layout.slice_axis(axis, start..end, 1)?;
        GpuViewMut::new(whole.device_view_mut(), &layout).assign(part)?;
        start = end;
    }
    Ok(joined)
}

/// The parts, all of one shape, along a new axis, which is the given one of the result (counted from the last one if negative).
///
/// # Errors
/// If there are no parts or no such axis, or their shapes differ; as [`eval`](crate::Operand::eval).
pub fn stack<T: Element>(parts: &[GpuView<'_, T>], axis: isize) -> Result<GpuArray<T>> {
    let lead = first(parts)?;
    let axis = axis_of(axis, lead.ndim() + 1)?;
    let mut lengths = lead.shape().to_vec();
    lengths.insert(axis, parts.len());
    if let Some(other) = parts.iter().find(|part| part.shape() != lead.shape()) {
        return Err(Error::shapes_differ(lead.shape(), other.shape()));
    }
    let mut joined = GpuArray::uninit(lead.stream(), Shape::new(&lengths))?;
    for (at, part) in parts.iter().enumerate() {
        let mut whole = joined.view_mut();
        let mut layout = whole.layout().clone();
        layout.index_axis(axis, at)?;
        GpuViewMut::new(whole.device_view_mut(), &layout).assign(part)?;
    }
    Ok(joined)
}
