//! Buffers, views, copies and fills over host memory.

use super::mock::{self, PENDING, calls};
use crate::{Context, DeviceBuffer, ErrorKind, PinnedBuffer, Stream};

fn set_up() -> (Context, Stream) {
    let context = mock::context();
    let stream = context.new_stream().unwrap();
    calls();
    (context, stream)
}

#[test]
fn slices_go_there_and_back() {
    let (_, stream) = set_up();
    let mut buffer = DeviceBuffer::from_slice(&stream, &[1u16, 2, 3, 4, 5]).unwrap();
    assert_eq!(buffer.slice(1..=3).to_vec().unwrap(), [2, 3, 4]);
    buffer.slice_mut(3..).copy_from_slice(&[8, 9]).unwrap();
    let (mut left, right) = buffer.split_at_mut(2);
    left.copy_from(right.as_view().slice(1..)).unwrap();
    let mut host = [0; 5];
    buffer.copy_to_slice(&mut host).unwrap();
    assert_eq!(host, [8, 9, 3, 8, 9]);
    assert_eq!(buffer.try_clone().unwrap().to_vec().unwrap(), host);
}

#[test]
fn lengths_must_agree() {
    let (_, stream) = set_up();
    let mut buffer = DeviceBuffer::from_slice(&stream, &[1u16, 2]).unwrap();
    let error = buffer.copy_from_slice(&[1]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    insta::assert_snapshot!(error, @"cannot copy 1 elements to 2: the lengths must be equal");
    assert!(buffer.copy_to_slice(&mut [0; 3]).is_err());
}

#[test]
#[should_panic(expected = "range 1..4 is out of bounds of 3 elements")]
fn slicing_out_of_bounds_panics() {
    let (_, stream) = set_up();
    let buffer = DeviceBuffer::<u8>::zeros(&stream, 3).unwrap();
    let _ = buffer.slice(1..4);
}

#[test]
fn every_type_can_be_filled() {
    let (_, stream) = set_up();
    macro_rules! check {
        ($value:expr, $ty:ty, $calls:expr) => {{
            let mut buffer = DeviceBuffer::<$ty>::zeros(&stream, 10_001).unwrap();
            calls();
            buffer.slice_mut(1..).fill($value).unwrap();
            assert_eq!(calls(), $calls, "{}", stringify!($ty));
            let host = buffer.to_vec().unwrap();
            assert!(
                host[0] == <$ty>::default() && host[1..].iter().all(|&x| x == $value),
                "{}",
                stringify!($ty)
            );
        }};
    }
    check!(7, u8, ["cuMemsetD8Async"]);
    check!(true, bool, ["cuMemsetD8Async"]);
    check!(-7, i16, ["cuMemsetD16Async"]);
    check!(half::bf16::ONE, half::bf16, ["cuMemsetD16Async"]);
    check!(1.5, f32, ["cuMemsetD32Async"]);
    check!(0.0, f64, ["cuMemsetD32Async"]);
    check!(-1, i64, ["cuMemsetD32Async"]);
    // A pattern of eight bytes is doubled: 2048, 4096, 8192, 10000.
    let doubling = [
        "cuMemcpyHtoDAsync_v2",
        "cuStreamSynchronize",
        "cuMemcpyDtoDAsync_v2",
        "cuMemcpyDtoDAsync_v2",
        "cuMemcpyDtoDAsync_v2",
    ];
    check!(1.5, f64, doubling);
    check!(
        [1u8, 2, 3],
        [u8; 3],
        [
            "cuMemcpyHtoDAsync_v2",
            "cuStreamSynchronize",
            "cuMemcpyDtoDAsync_v2"
        ]
    );
}

#[test]
fn nothing_is_a_normal_length() {
    let (context, stream) = set_up();
    let mut buffer = DeviceBuffer::<f64>::from_slice(&stream, &[]).unwrap();
    buffer.copy_from_slice(&[]).unwrap();
    buffer.fill(1.0).unwrap();
    let other = buffer.try_clone().unwrap();
    buffer.copy_from(other.view()).unwrap();
    let mut pinned = PinnedBuffer::<f64>::zeros(&context, 0).unwrap();
    buffer.copy_to_pinned(&stream, &mut pinned).unwrap();
    buffer.copy_from_pinned(&stream, &pinned).unwrap();
    assert!(pinned.as_mut_slice().unwrap().is_empty() && buffer.to_vec().unwrap().is_empty());
    context
        .scope(|scope| scope.copy_to_device(&stream, &[], buffer.view_mut()))
        .unwrap();
    drop((buffer, other, pinned));
    assert_eq!(
        calls(),
        ["cuStreamSynchronize"],
        "only the scope's own wait"
    );
}

#[test]
fn sizes_that_overflow_are_refused() {
    let (context, stream) = set_up();
    let error = DeviceBuffer::<u64>::zeros(&stream, usize::MAX / 4).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let error = PinnedBuffer::<u64>::zeros(&context, usize::MAX / 8).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(calls(), [""; 0]);
}

#[test]
fn page_locked_memory_waits_for_what_conflicts_only() {
    let (context, stream) = set_up();
    let mut device = DeviceBuffer::<u32>::zeros(&stream, 4).unwrap();
    let mut host = PinnedBuffer::from_slice(&context, &[1, 2, 3, 4]).unwrap();
    PENDING.set(true);
    device.copy_from_pinned(&stream, &host).unwrap();
    calls();
    assert_eq!(host.try_as_slice().unwrap(), [1, 2, 3, 4]);
    assert_eq!(
        calls(),
        [""; 0],
        "reading beside a copy that reads needs no wait"
    );
    assert_eq!(host.try_as_mut_slice().unwrap_err().kind(), ErrorKind::Busy);
    calls();
    host.as_mut_slice().unwrap()[0] = 9;
    assert_eq!(calls(), ["cuEventSynchronize"]);
    device.copy_to_pinned(&stream, &mut host).unwrap();
    calls();
    assert_eq!(host.try_as_slice().unwrap_err().kind(), ErrorKind::Busy);
    PENDING.set(false);
    calls();
    assert_eq!(host.as_slice().unwrap(), [1, 2, 3, 4]);
    assert_eq!(calls(), ["cuEventSynchronize"]);
    assert_eq!(host.as_slice().unwrap(), [1, 2, 3, 4]);
    assert_eq!(calls(), [""; 0], "what was waited for is over");
}

#[test]
fn page_locked_memory_orders_streams() {
    let (context, a) = set_up();
    let b = context.new_stream().unwrap();
    let mut x = DeviceBuffer::<u32>::zeros(&a, 4).unwrap();
    let y = DeviceBuffer::<u32>::zeros(&b, 4).unwrap();
    let mut host = PinnedBuffer::<u32>::zeros(&context, 4).unwrap();
    x.copy_from_pinned(&a, &host).unwrap();
    mock::ORDERED.take();
    y.copy_to_pinned(&b, &mut host).unwrap();
    assert_eq!(mock::ORDERED.take(), [(a.raw().0.addr(), b.raw().0.addr())]);
}

#[test]
fn memory_short_is_tried_again_after_collecting() {
    let (context, stream) = set_up();
    mock::fail("cuMemAlloc_v2", cuprum_driver_sys::CUresult::OUT_OF_MEMORY);
    let error = DeviceBuffer::<u8>::zeros(&stream, 1 << 20).unwrap_err();
    mock::fail("cuMemAlloc_v2", cuprum_driver_sys::CUresult::SUCCESS);
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    insta::assert_snapshot!(error.to_string().replace(&stream.label(), "stream S"), @"
    cuMemAlloc_v2 failed: CUDA_ERROR_OUT_OF_MEMORY (2): not enough memory for the request (device custom:0 Mock, on stream S, bytes 1048576, free 1048576, total 1073741824)
    Hint: drop buffers that are no longer used and call Context::collect(), or work in smaller pieces; Context::memory_info() tells what is free.
    ");
    let tries = calls()
        .into_iter()
        .filter(|&name| name == "cuMemAlloc_v2")
        .count();
    assert_eq!(tries, 2);
    assert_eq!(context.parked(), 0);
}
