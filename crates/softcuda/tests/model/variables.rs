//! Variables of modules: each load has its own, kernels and host see each other's writes in stream order.

use std::ffi::CStr;

use crate::common::*;
use crate::{arg, function, init, launch, load, no, ok, zeros};

fn global(module: CUmodule, name: &CStr) -> (CUdeviceptr, usize) {
    let (mut address, mut bytes) = (0, 0);
    ok!(cuModuleGetGlobal_v2(
        &mut address,
        &mut bytes,
        module,
        name.as_ptr()
    ));
    (address, bytes)
}

#[test]
fn host_and_kernels_see_each_other_s_writes() {
    init();
    let _context = TestContext::on(0);
    let module = load();
    let (variables, out) = (function(module, "variables"), zeros(5));
    let ((counter, four), (factors, sixteen)) =
        (global(module, c"counter"), global(module, c"factors"));
    assert_eq!((four, sixteen), (4, 16));
    launch(variables, 1, 1, CUstream::NULL, &[arg(&out)]);
    assert_eq!(download::<u32>(out, 5), [5, 1, 2, 3, 4]);
    // Constants change between launches, by the host, in stream order.
    let stream = new_stream(1);
    for round in 0..20u32 {
        ok!(cuMemsetD32Async(factors, round, 4, stream));
        ok!(cuMemsetD32Async(counter, 100 * round, 1, stream));
        launch(variables, 1, 1, stream, &[arg(&out)]);
        ok!(cuStreamSynchronize(stream));
        assert_eq!(
            download::<u32>(out, 5),
            [100 * round, round, round, round, round]
        );
        assert_eq!(download::<u32>(counter, 1), [100 * round + 1]);
    }
}

#[test]
fn each_load_and_each_context_has_its_own() {
    init();
    let first = TestContext::on(0);
    let (a, b) = (load(), load());
    let (one, two) = (global(a, c"counter").0, global(b, c"counter").0);
    assert_ne!(one, two);
    let out = zeros(5);
    for _ in 0..3 {
        launch(function(a, "variables"), 1, 1, CUstream::NULL, &[arg(&out)]);
    }
    launch(function(b, "variables"), 1, 1, CUstream::NULL, &[arg(&out)]);
    assert_eq!(
        (download::<u32>(one, 1), download::<u32>(two, 1)),
        (vec![8], vec![6])
    );
    let second = TestContext::on(1);
    let module = load();
    let out = zeros(5);
    launch(
        function(module, "variables"),
        1,
        1,
        CUstream::NULL,
        &[arg(&out)],
    );
    assert_eq!(download::<u32>(out, 1), [5]);
    drop(second);
    drop(first);
}

#[test]
fn constants_are_written_by_the_host_only() {
    init();
    let _context = TestContext::on(0);
    let module = load();
    let (factors, _) = global(module, c"factors");
    upload(factors, &[9u32, 8, 7, 6]);
    let (a, b, n) = (1u32, 1u32, 4u32);
    launch(
        function(module, "linear"),
        1,
        4,
        CUstream::NULL,
        &[arg(&factors), arg(&a), arg(&b), arg(&n)],
    );
    no!(ILLEGAL_ADDRESS, cuCtxSynchronize());
    let mut current = CUcontext::NULL;
    ok!(cuCtxGetCurrent(&mut current));
    let text = cuprum_softcuda::last_fault(current).expect("lost");
    assert!(
        text.contains("which is constant memory") && text.contains("module constant of 16 bytes"),
        "{text}"
    );
}
