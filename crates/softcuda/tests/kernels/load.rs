//! Modules: what loads, what is refused and why, variables, unloading.

use std::ffi::{CStr, CString, c_void};
use std::sync::{Arc, Mutex};

use crate::common::*;
use crate::{PTX, arg, cu, function, init, launch, load, no, ok};

/// Loads text and gives the code.
fn try_load(text: &str) -> CUresult {
    let text = CString::new(text).expect("no zero inside");
    let mut module = CUmodule::NULL;
    cu!(cuModuleLoadData(&mut module, text.as_ptr().cast()))
}

#[test]
fn images_that_are_no_ptx_are_refused_with_a_reason() {
    init();
    let _context = TestContext::on(0);
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n";
    for (text, code, told) in [
        (
            "\x7fELF\x02\x01\x01".to_owned(),
            CUresult::NO_BINARY_FOR_GPU,
            "cubin",
        ),
        ("int x;".to_owned(), CUresult::INVALID_IMAGE, "neither"),
        (
            format!("{head}.visible .entry k( {{ ret; }}"),
            CUresult::INVALID_PTX,
            "4",
        ),
        (
            head.replace("8.0", "99.0"),
            CUresult::UNSUPPORTED_PTX_VERSION,
            "99.0",
        ),
        (
            head.replace("sm_80", "sm_90"),
            CUresult::INVALID_PTX,
            "sm_90",
        ),
        (
            format!("{head}.extern .global .u32 elsewhere;"),
            CUresult::INVALID_PTX,
            "elsewhere",
        ),
        (
            format!("{head}.const .b8 big[65537];"),
            CUresult::INVALID_PTX,
            "65537",
        ),
    ] {
        assert_eq!(try_load(&text), code, "{text}: {:?}", last_error());
        let error = last_error().expect("failed");
        assert!(error.contains(told), "{error}");
    }
    let mut module = CUmodule::NULL;
    no!(
        NO_BINARY_FOR_GPU,
        cuModuleLoadData(
            &mut module,
            [0x50u8, 0xed, 0x55, 0xba, 1, 0, 16, 0].as_ptr().cast()
        )
    );
    no!(
        INVALID_VALUE,
        cuModuleLoadData(&mut module, std::ptr::null())
    );
    no!(
        INVALID_VALUE,
        cuModuleLoadData(std::ptr::null_mut(), PTX.as_ptr().cast())
    );
    no!(
        FILE_NOT_FOUND,
        cuModuleLoad(&mut module, c"/nowhere/at/all.ptx".as_ptr())
    );
    assert!(module.is_null());
}

#[test]
fn modules_load_from_files() {
    init();
    let _context = TestContext::on(0);
    let path = CString::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/kernels/kernels.ptx"
    ))
    .expect("no zero");
    let mut module = CUmodule::NULL;
    ok!(cuModuleLoad(&mut module, path.as_ptr()));
    function(module, "add");
    ok!(cuModuleUnload(module));
}

#[test]
fn logs_are_filled_and_cut() {
    init();
    let _context = TestContext::on(0);
    let run = |text: &str, size: usize| {
        let text = CString::new(text).expect("no zero inside");
        let (mut info, mut error) = ([0x7fu8; 400], [0x7fu8; 400]);
        let number = std::ptr::without_provenance_mut::<c_void>;
        let mut options = [
            CUjit_option::INFO_LOG_BUFFER,
            CUjit_option::INFO_LOG_BUFFER_SIZE_BYTES,
            CUjit_option::ERROR_LOG_BUFFER,
            CUjit_option::ERROR_LOG_BUFFER_SIZE_BYTES,
            CUjit_option::WALL_TIME,
            CUjit_option::OPTIMIZATION_LEVEL,
        ];
        let mut values = [
            info.as_mut_ptr().cast(),
            number(size),
            error.as_mut_ptr().cast(),
            number(size),
            NULL,
            number(4),
        ];
        let mut module = CUmodule::NULL;
        let (p, o, v) = (
            text.as_ptr().cast(),
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        );
        let code = cu!(cuModuleLoadDataEx(&mut module, p, 6, o, v));
        let text = |buffer: &[u8], len: usize| {
            let text = CStr::from_bytes_until_nul(buffer)
                .expect("terminated")
                .to_str()
                .expect("UTF-8")
                .to_owned();
            assert_eq!(text.len(), len);
            text
        };
        let milliseconds = f32::from_bits(values[4].addr() as u32);
        assert!(milliseconds > 0.0 && milliseconds < 60e3);
        (
            code,
            text(&info, values[1].addr()),
            text(&error, values[3].addr()),
        )
    };
    let (code, info, error) = run(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }",
        400,
    );
    assert_eq!(code, CUresult::SUCCESS);
    assert!(
        info.contains("`k`") && info.contains("registers") && error.is_empty(),
        "{info}"
    );
    let (code, info, error) = run(".version 8.0\n.target sm_80\n.entry k() { nonsense", 400);
    assert_eq!(code, CUresult::INVALID_PTX);
    assert!(info.is_empty() && error.contains('3'), "{error}");
    let (_, _, error) = run(".version 8.0\n.target sm_80\n.entry k() { nonsense", 8);
    assert_eq!(error.len(), 7);
    let mut module = CUmodule::NULL;
    let nothing = std::ptr::null_mut();
    no!(
        INVALID_VALUE,
        cuModuleLoadDataEx(
            &mut module,
            PTX.as_ptr().cast(),
            1,
            nothing,
            std::ptr::null_mut()
        )
    );
}

#[test]
fn what_cannot_run_is_told_when_it_is_looked_up() {
    init();
    let _context = TestContext::on(0);
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n\
                .visible .entry good() { ret; }\n\
                .visible .entry bad() {\n\tfrobnicate.u32 %r1;\n\tret;\n}\0";
    let mut module = CUmodule::NULL;
    ok!(cuModuleLoadData(&mut module, text.as_ptr().cast()));
    function(module, "good");
    let mut bad = CUfunction::NULL;
    let code = cu!(cuModuleGetFunction(&mut bad, module, c"bad".as_ptr()));
    assert!(
        matches!(code, CUresult::NOT_SUPPORTED | CUresult::INVALID_PTX),
        "{code:?}"
    );
    let error = last_error().expect("failed");
    assert!(
        error.contains("frobnicate") && error.contains('6'),
        "{error}"
    );
    assert!(bad.is_null());
}

/// PR-42 of the public reports.
#[test]
fn variables_have_an_address_a_size_and_contents() {
    init();
    let _context = TestContext::on(0);
    let module = load();
    let variable = |name: &CStr| {
        let (mut address, mut bytes) = (0, 0);
        ok!(cuModuleGetGlobal_v2(
            &mut address,
            &mut bytes,
            module,
            name.as_ptr()
        ));
        (address, bytes)
    };
    let (table, bytes) = variable(c"table");
    assert_eq!(bytes, 16);
    assert_eq!(download::<f32>(table, 4), [1.0, 2.0, 3.0, 4.0]);
    let (pointer, _) = variable(c"pointer");
    assert_eq!(download::<u64>(pointer, 1), [table + 8]);
    let (constants, bytes) = variable(c"coefficients");
    assert_eq!(bytes, 40);
    let values: Vec<f32> = (0..10u8).map(f32::from).collect();
    upload(constants, &values);
    no!(
        INVALID_VALUE,
        cuMemcpyHtoD_v2(constants, [0f32; 11].as_ptr().cast(), 44)
    );
    let out = alloc(60);
    let globals = function(module, "globals");
    launch(globals, 1, 1, CUstream::NULL, &[arg(&out)]);
    launch(globals, 1, 1, CUstream::NULL, &[arg(&out)]);
    let found = download::<f32>(out, 15);
    assert_eq!(found[..4], [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(found[4..14].iter().sum::<f32>(), 45.0);
    assert_eq!(found[14], 3.0, "through the relocated pointer");
    assert_eq!(download::<u32>(variable(c"counter").0, 1), [2]);

    let (mut address, mut bytes) = (7, 7);
    no!(
        NOT_FOUND,
        cuModuleGetGlobal_v2(&mut address, &mut bytes, module, c"tabel".as_ptr())
    );
    assert!(
        last_error().expect("failed").contains("coefficients"),
        "{:?}",
        last_error()
    );
    no!(
        NOT_FOUND,
        cuModuleGetFunction(&mut CUfunction(NULL), module, c"adds".as_ptr())
    );
    assert!(
        last_error().expect("failed").contains("add, poke"),
        "{:?}",
        last_error()
    );
    ok!(cuMemGetAddressRange_v2(
        &mut address,
        &mut bytes,
        table + 15
    ));
    assert_eq!((address, bytes), (table, 16));
    no!(INVALID_VALUE, cuMemFree_v2(table));
    // Each loading has variables of its own.
    let second = load();
    ok!(cuModuleGetGlobal_v2(
        &mut address,
        std::ptr::null_mut(),
        second,
        c"table".as_ptr()
    ));
    assert_ne!(address, table);
}

#[test]
fn kernels_are_enumerated() {
    init();
    let _context = TestContext::on(0);
    let module = load();
    let mut count = 0;
    ok!(cuModuleGetFunctionCount(&mut count, module));
    assert_eq!(count, 10);
    let mut functions = [CUfunction::NULL; 12];
    ok!(cuModuleEnumerateFunctions(
        functions.as_mut_ptr(),
        12,
        module
    ));
    assert!(!functions[9].is_null() && functions[10].is_null());
    assert_eq!(
        functions[0],
        function(module, "add"),
        "the same function has the same handle"
    );
    let mut two = [CUfunction::NULL; 3];
    ok!(cuModuleEnumerateFunctions(two.as_mut_ptr(), 2, module));
    assert!(two[1] == functions[1] && two[2].is_null());
    no!(
        INVALID_VALUE,
        cuModuleEnumerateFunctions(std::ptr::null_mut(), 2, module)
    );
}

#[test]
fn unloading_waits_and_takes_functions_along() {
    init();
    let _context = TestContext::on(0);
    let module = load();
    let (poke, out) = (function(module, "poke"), alloc(4));
    let stream = new_stream(flags::CU_STREAM_NON_BLOCKING);
    let gate = Gate::close(stream);
    launch(poke, 1, 1, stream, &[arg(&out), arg(&77u32)]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            gate.open();
        });
        ok!(cuModuleUnload(module));
    });
    assert_eq!(download::<u32>(out, 1), [77]);
    no!(INVALID_HANDLE, cuModuleUnload(module));
    no!(
        INVALID_HANDLE,
        cuFuncGetAttribute(&mut 0, CUfunction_attribute::NUM_REGS, poke)
    );
    let mut table = 0;
    no!(
        INVALID_HANDLE,
        cuModuleGetGlobal_v2(&mut table, std::ptr::null_mut(), module, c"table".as_ptr())
    );
}

/// PR-41 of the public reports; one test, since the handler belongs to the process.
#[test]
fn kernels_print_whole_lines() {
    init();
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = Arc::clone(&lines);
    cuprum_softcuda::set_printf_handler(Some(Box::new(move |text| {
        sink.lock()
            .expect("not poisoned")
            .push(String::from_utf8_lossy(text).into_owned());
    })));
    let take = || {
        let mut lines = std::mem::take(&mut *lines.lock().expect("not poisoned"));
        lines.sort_unstable();
        lines
    };
    let expected: Vec<String> = (0..4)
        .map(|i| format!("thread {i} of 9223372036854775808\n"))
        .collect();
    let context = TestContext::on(0);
    let module = load();
    let speak = function(module, "speak");
    launch(speak, 1, 4, CUstream::NULL, &[]);
    ok!(cuCtxSynchronize());
    assert_eq!(take(), expected);
    launch(speak, 1, 4, CUstream::NULL, &[]);
    ok!(cuModuleUnload(module));
    assert_eq!(take(), expected);
    launch(function(load(), "speak"), 1, 4, CUstream::NULL, &[]);
    drop(context);
    assert_eq!(take(), expected);

    // A small buffer keeps the newest whole lines, and says how many it lost.
    let _context = TestContext::on(0);
    ok!(cuCtxSetLimit(CUlimit::PRINTF_FIFO_SIZE, 100));
    launch(function(load(), "speak"), 8, 32, CUstream::NULL, &[]);
    ok!(cuCtxSynchronize());
    let mut kept = take();
    let told = kept.remove(0);
    let lost = 8 * 32 - kept.len();
    assert!(
        told.starts_with(&format!("[{lost} records of device printf are lost"))
            && told.ends_with("]\n"),
        "{told}"
    );
    assert!((2..=3).contains(&kept.len()), "{kept:?}");
    assert!(
        kept.iter()
            .all(|line| line.starts_with("thread ") && line.ends_with("of 9223372036854775808\n"))
    );
    cuprum_softcuda::set_printf_handler(None);
}
