//! Copies and fills: what arrives, what is refused.

use crate::common::*;
use crate::{init, no, ok};

fn numbers(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + i / 251) as u8).collect()
}

#[test]
fn lines_arrive() {
    init();
    let _context = TestContext::on(0);
    let data = numbers(100_000);
    let (a, b) = (alloc(data.len()), alloc(data.len()));
    upload(a, &data);
    ok!(cuMemcpyDtoD_v2(b, a, data.len()));
    assert_eq!(download::<u8>(b, data.len()), data);
    // Any address of the unified space, host included.
    let mut host = vec![0u8; data.len()];
    let at = |slice: &[u8]| slice.as_ptr().expose_provenance() as u64;
    ok!(cuMemsetD8_v2(b, 0, data.len()));
    ok!(cuMemcpy(b, at(&data), data.len()));
    ok!(cuMemcpy(
        host.as_mut_ptr().expose_provenance() as u64,
        b,
        data.len()
    ));
    assert_eq!(host, data);
    ok!(cuMemcpyAsync(a, at(&data) + 1, 99, CUstream::NULL));
    assert_eq!(download::<u8>(a, 99), data[1..100]);
    ok!(cuMemcpyDtoHAsync_v2(
        host.as_mut_ptr().cast(),
        a,
        99,
        CUstream::NULL
    ));
    assert_eq!(
        host[..99],
        data[1..100],
        "pageable memory is written before the call returns"
    );
}

#[test]
fn lines_are_checked_to_the_byte() {
    init();
    let _context = TestContext::on(0);
    let a = alloc(1000);
    let mut host = [0u8; 1001];
    let p = host.as_mut_ptr().cast();
    ok!(cuMemcpyHtoD_v2(a, p, 1000));
    no!(INVALID_VALUE, cuMemcpyHtoD_v2(a, p, 1001));
    let text = last_error().expect("failed");
    assert!(
        text.contains("destination") && text.contains("1001 bytes") && text.contains("1000 bytes"),
        "{text}"
    );
    no!(INVALID_VALUE, cuMemcpyHtoD_v2(a + 1, p, 1000));
    no!(INVALID_VALUE, cuMemcpyHtoD_v2(a - 1, p, 1));
    no!(INVALID_VALUE, cuMemcpyHtoD_v2(a + 1000, p, 1));
    no!(INVALID_VALUE, cuMemcpyDtoH_v2(p, a + 1, 1000));
    no!(INVALID_VALUE, cuMemcpyDtoH_v2(NULL, a, 10));
    no!(INVALID_VALUE, cuMemcpyHtoD_v2(a, std::ptr::null(), 10));
    no!(
        INVALID_VALUE,
        cuMemcpyHtoD_v2(p.expose_provenance() as u64, p, 10)
    );
    no!(INVALID_VALUE, cuMemcpyDtoD_v2(a, a + 500, 501));
    no!(INVALID_VALUE, cuMemcpy(0, a, 4));
    no!(INVALID_VALUE, cuMemcpyHtoD_v2(a, p, usize::MAX));
    // Nothing to copy is no error, whatever the addresses.
    ok!(cuMemcpyHtoD_v2(0, std::ptr::null(), 0));
    ok!(cuMemcpyDtoD_v2(7, 9, 0));
    no!(
        INVALID_HANDLE,
        cuMemcpyHtoDAsync_v2(a, p, 10, CUstream(std::ptr::without_provenance_mut(0x7770)))
    );
    let freed = alloc(64);
    ok!(cuMemFree_v2(freed));
    no!(INVALID_VALUE, cuMemcpyHtoD_v2(freed, p, 4));
    assert!(last_error().expect("failed").contains("freed memory"));
}

#[test]
fn fills_write_elements() {
    init();
    let _context = TestContext::on(0);
    let a = alloc(400);
    ok!(cuMemsetD32_v2(a, 0x0102_0304, 100));
    assert_eq!(download::<u32>(a, 100), [0x0102_0304; 100]);
    ok!(cuMemsetD16_v2(a + 2, 0xabcd, 3));
    ok!(cuMemsetD8_v2(a + 12, 0xee, 1));
    let bytes = download::<u8>(a, 14);
    assert_eq!(
        bytes,
        [
            4, 3, 0xcd, 0xab, 0xcd, 0xab, 0xcd, 0xab, 4, 3, 2, 1, 0xee, 3
        ]
    );
    let stream = new_stream(0);
    ok!(cuMemsetD32Async(a, 5, 100, stream));
    ok!(cuMemsetD16Async(a, 6, 1, stream));
    ok!(cuMemsetD8Async(a + 399, 7, 1, stream));
    ok!(cuStreamSynchronize(stream));
    let words = download::<u32>(a, 100);
    assert_eq!((words[0], words[1], words[99]), (6, 5, 5 | 7 << 24));
    no!(INVALID_VALUE, cuMemsetD32_v2(a + 2, 0, 1));
    no!(INVALID_VALUE, cuMemsetD16_v2(a + 1, 0, 1));
    no!(INVALID_VALUE, cuMemsetD32_v2(a, 0, 101));
    no!(INVALID_VALUE, cuMemsetD8_v2(0, 0, 1));
    no!(INVALID_VALUE, cuMemsetD32_v2(a, 0, usize::MAX));
    ok!(cuMemsetD8_v2(0, 0, 0));
}

#[test]
fn row_fills_keep_the_gaps() {
    init();
    let _context = TestContext::on(0);
    let a = alloc(64 * 4);
    ok!(cuMemsetD2D8_v2(a + 1, 64, 1, 10, 3));
    ok!(cuMemsetD2D16_v2(a + 16, 64, 0x0202, 5, 4));
    ok!(cuMemsetD2D32_v2(a + 32, 64, 0x0304_0506, 2, 4));
    let bytes = download::<u8>(a, 256);
    for (i, &byte) in bytes.iter().enumerate() {
        let (row, x) = (i / 64, i % 64);
        let expected = match x {
            1..11 if row < 3 => 1,
            16..26 => 2,
            32..40 => [6, 5, 4, 3][x % 4],
            _ => 0,
        };
        assert_eq!(byte, expected, "row {row}, byte {x}");
    }
    no!(INVALID_VALUE, cuMemsetD2D8_v2(a, 64, 1, 65, 2));
    no!(INVALID_VALUE, cuMemsetD2D8_v2(a, 64, 1, 64, 5));
    no!(INVALID_VALUE, cuMemsetD2D32_v2(a, 62, 1, 2, 2));
    ok!(cuMemsetD2D8_v2(a, 0, 1, 64, 1));
    ok!(cuMemsetD2D8_v2(0, 0, 1, 0, 9));
}

/// A 2-D description with everything zero.
fn flat() -> CUDA_MEMCPY2D {
    CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: CUmemorytype::HOST,
        srcHost: std::ptr::null(),
        srcDevice: 0,
        srcArray: CUarray::NULL,
        srcPitch: 0,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: CUmemorytype::DEVICE,
        dstHost: NULL,
        dstDevice: 0,
        dstArray: CUarray::NULL,
        dstPitch: 0,
        WidthInBytes: 0,
        Height: 0,
    }
}

/// PR-06 of the public reports, case (a): device [1:,2:] of 3x4 into host [:2,:2].
#[test]
fn a_rectangle_leaves_its_surroundings_alone() {
    init();
    let _context = TestContext::on(0);
    let mut host: Vec<i64> = (0..12).collect();
    let a = alloc(96);
    upload(a, &host);
    let mut copy = CUDA_MEMCPY2D {
        srcMemoryType: CUmemorytype::DEVICE,
        srcDevice: a,
        srcPitch: 32,
        srcXInBytes: 16,
        srcY: 1,
        dstMemoryType: CUmemorytype::HOST,
        dstHost: host.as_mut_ptr().cast(),
        dstPitch: 32,
        WidthInBytes: 16,
        Height: 2,
        ..flat()
    };
    ok!(cuMemcpy2D_v2(&copy));
    assert_eq!(host, [6, 7, 2, 3, 10, 11, 6, 7, 8, 9, 10, 11]);
    ok!(cuMemcpy2DUnaligned_v2(&copy));
    ok!(cuMemcpy2DAsync_v2(&copy, CUstream::NULL));

    copy.Height = 3;
    no!(INVALID_VALUE, cuMemcpy2D_v2(&copy));
    copy.Height = 2;
    copy.srcXInBytes = 17;
    no!(INVALID_VALUE, cuMemcpy2D_v2(&copy));
    assert!(
        last_error().expect("failed").contains("pitch of 32"),
        "{:?}",
        last_error()
    );
    copy.srcXInBytes = 16;
    copy.dstMemoryType = CUmemorytype::ARRAY;
    no!(INVALID_HANDLE, cuMemcpy2D_v2(&copy));
    copy.dstMemoryType = CUmemorytype(9);
    no!(INVALID_VALUE, cuMemcpy2D_v2(&copy));
    no!(INVALID_VALUE, cuMemcpy2D_v2(std::ptr::null()));
    copy.dstMemoryType = CUmemorytype::HOST;
    copy.srcPitch = 1 << 32;
    no!(INVALID_VALUE, cuMemcpy2D_v2(&copy));
    copy.Height = 0;
    copy.srcPitch = 32;
    ok!(cuMemcpy2D_v2(&copy));
}

#[test]
fn a_single_row_needs_no_pitch() {
    init();
    let _context = TestContext::on(0);
    let a = alloc(10);
    let data = numbers(10);
    let copy = CUDA_MEMCPY2D {
        srcHost: data.as_ptr().cast(),
        dstDevice: a,
        WidthInBytes: 10,
        Height: 1,
        ..flat()
    };
    ok!(cuMemcpy2D_v2(&copy));
    assert_eq!(download::<u8>(a, 10), data);
    let unified = CUDA_MEMCPY2D {
        srcMemoryType: CUmemorytype::UNIFIED,
        srcDevice: data.as_ptr().expose_provenance() as u64 + 1,
        dstMemoryType: CUmemorytype::UNIFIED,
        WidthInBytes: 9,
        ..copy
    };
    ok!(cuMemcpy2D_v2(&unified));
    assert_eq!(download::<u8>(a, 9), data[1..]);
}

#[test]
fn a_box_arrives() {
    init();
    let _context = TestContext::on(0);
    let (width, height, depth) = (6usize, 5usize, 4usize);
    let data = numbers(width * height * depth);
    let a = alloc(8 * 7 * 6);
    let mut copy = CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: CUmemorytype::HOST,
        srcHost: data.as_ptr().cast(),
        srcDevice: 0,
        srcArray: CUarray::NULL,
        reserved0: NULL,
        srcPitch: width,
        srcHeight: height,
        dstXInBytes: 1,
        dstY: 2,
        dstZ: 2,
        dstLOD: 0,
        dstMemoryType: CUmemorytype::DEVICE,
        dstHost: NULL,
        dstDevice: a,
        dstArray: CUarray::NULL,
        reserved1: NULL,
        dstPitch: 8,
        dstHeight: 7,
        WidthInBytes: width,
        Height: height,
        Depth: depth,
    };
    ok!(cuMemcpy3D_v2(&copy));
    let found = download::<u8>(a, 8 * 7 * 6);
    let mut expected = vec![0; 8 * 7 * 6];
    for (z, y, x) in
        (0..depth).flat_map(|z| (0..height).flat_map(move |y| (0..width).map(move |x| (z, y, x))))
    {
        expected[(z + 2) * 56 + (y + 2) * 8 + x + 1] = data[(z * height + y) * width + x];
    }
    assert_eq!(found, expected);
    ok!(cuMemcpy3DAsync_v2(&copy, CUstream::NULL));
    copy.dstZ = 3;
    no!(INVALID_VALUE, cuMemcpy3D_v2(&copy));
    copy.dstZ = 2;
    copy.dstHeight = 6;
    no!(INVALID_VALUE, cuMemcpy3D_v2(&copy));
    copy.dstHeight = 7;
    copy.reserved0 = (&raw mut copy).cast();
    no!(INVALID_VALUE, cuMemcpy3D_v2(&copy));
}

#[test]
fn copies_between_contexts() {
    init();
    let first = TestContext::on(0);
    let a = alloc(1000);
    let data = numbers(1000);
    upload(a, &data);
    let second = TestContext::on(1);
    let b = alloc(1000);
    ok!(cuMemcpyPeer(b, second.0, a, first.0, 1000));
    assert_eq!(download::<u8>(b, 1000), data);
    ok!(cuMemsetD8_v2(b, 0, 1000));
    ok!(cuMemcpyPeerAsync(
        b,
        second.0,
        a,
        first.0,
        500,
        CUstream::NULL
    ));
    assert_eq!(download::<u8>(b, 500), data[..500]);
    // The space is unified: a plain copy works as well.
    ok!(cuMemcpyDtoD_v2(b, a, 1000));
    assert_eq!(download::<u8>(b, 1000), data);
    no!(
        INVALID_CONTEXT,
        cuMemcpyPeer(b, CUcontext::NULL, a, first.0, 1000)
    );
    no!(INVALID_VALUE, cuMemcpyPeer(b, second.0, a, first.0, 1001));
    drop(second);
    no!(INVALID_VALUE, cuMemcpyDtoD_v2(a, b, 4));
}
