//! Launches that no device accepts: each is refused with its code and the numbers, and the context stays sound.

use crate::common::*;
use crate::kind::{Kind, arg, computes, good, load, look_up};
use crate::{cu, no, ok};

use CUresult as C;

const HEADER: &str = ".version 7.8\n.target sm_80\n.address_size 64\n";

/// The kernel `k` of a text without header.
fn kernel(text: &str) -> CUfunction {
    let (code, module) = load(&format!("{HEADER}{text}"));
    assert!(code.is_success(), "{:?}", last_error());
    let (code, function) = look_up(module, "k");
    assert!(code.is_success(), "{:?}", last_error());
    function
}

fn empty() -> CUfunction {
    kernel(".visible .entry k() { ret; }\n")
}

fn try_launch(function: CUfunction, grid: [u32; 3], block: [u32; 3], shared: u32) -> CUresult {
    let none = std::ptr::null_mut();
    let ([gx, gy, gz], [bx, by, bz]) = (grid, block);
    cu!(cuLaunchKernel(
        function,
        gx,
        gy,
        gz,
        bx,
        by,
        bz,
        shared,
        CUstream::NULL,
        none,
        none
    ))
}

/// A launch that is refused with `INVALID_VALUE` and these words, after which the same context computes.
fn refused(
    name: &str,
    text: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    told: &'static str,
) -> Kind {
    Kind::calls(format!("launches::{name}"), move || {
        let function = kernel(text);
        assert_eq!(try_launch(function, grid, block, shared), C::INVALID_VALUE);
        let text = last_error().expect("failed");
        assert!(
            text.contains(told) && text.contains("kernel `k`"),
            "{told:?} is not in {text}"
        );
        ok!(cuCtxSynchronize());
        computes().expect("the context is sound");
    })
}

const EMPTY: &str = ".visible .entry k() { ret; }\n";
const BOUNDED: &str = ".visible .entry k() .maxntid 128, 1, 1 { ret; }\n";
const REQUIRED: &str = ".visible .entry k() .reqntid 32, 2, 1 { ret; }\n";
const STATIC: &str = ".visible .entry k() { .shared .align 4 .b8 sh[40000]; .reg .b32 %r; mov.u32 %r, sh; st.shared.u32 [%r], 1; ret; }\n";

fn with_attribute(
    function: CUfunction,
    grid: u32,
    id: CUlaunchAttributeID,
    words: [u32; 3],
) -> CUresult {
    let mut pad = [0; 64];
    for (place, word) in pad.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    let mut attribute = CUlaunchAttribute {
        id,
        pad: [0; 4],
        value: CUlaunchAttributeValue { pad },
    };
    let config = CUlaunchConfig {
        gridDimX: grid,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1024,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 0,
        hStream: CUstream::NULL,
        attrs: &raw mut attribute,
        numAttrs: 1,
    };
    let none = std::ptr::null_mut();
    cu!(cuLaunchKernelEx(&config, function, none, none))
}

pub(crate) fn kinds() -> Vec<Kind> {
    let one = [1, 1, 1];
    let mut kinds = vec![
        refused("no_blocks", EMPTY, [0, 1, 1], one, 0, "a dimension is zero"),
        refused(
            "no_blocks_in_z",
            EMPTY,
            [1, 1, 0],
            one,
            0,
            "a dimension is zero",
        ),
        refused(
            "no_threads",
            EMPTY,
            one,
            [0, 1, 1],
            0,
            "a dimension is zero",
        ),
        refused(
            "no_threads_in_y",
            EMPTY,
            one,
            [1, 0, 1],
            0,
            "a dimension is zero",
        ),
        refused(
            "too_many_blocks_in_x",
            EMPTY,
            [1 << 31, 1, 1],
            one,
            0,
            "2147483648 blocks in x: at most 2147483647",
        ),
        refused(
            "too_many_blocks_in_y",
            EMPTY,
            [1, 65536, 1],
            one,
            0,
            "65536 blocks in y: at most 65535",
        ),
        refused(
            "too_many_blocks_in_z",
            EMPTY,
            [1, 1, u32::MAX],
            one,
            0,
            "blocks in z: at most 65535",
        ),
        refused(
            "too_many_threads",
            EMPTY,
            one,
            [1025, 1, 1],
            0,
            "1025 threads of a block in x: at most 1024",
        ),
        refused(
            "too_many_threads_in_z",
            EMPTY,
            one,
            [1, 1, 65],
            0,
            "65 threads of a block in z: at most 64",
        ),
        refused(
            "too_many_threads_in_all",
            EMPTY,
            one,
            [32, 32, 2],
            0,
            "2048 threads: at most 1024",
        ),
        refused(
            "threads_whose_product_overflows",
            EMPTY,
            one,
            [u32::MAX, u32::MAX, u32::MAX],
            0,
            "at most 1024",
        ),
        refused(
            "more_threads_than_the_kernel_is_bounded_to",
            BOUNDED,
            one,
            [129, 1, 1],
            0,
            "bounded to 128",
        ),
        refused(
            "another_block_than_the_kernel_requires",
            REQUIRED,
            one,
            [64, 1, 1],
            0,
            "requires [32, 2, 1]",
        ),
        refused(
            "too_much_dynamic_shared_memory",
            EMPTY,
            one,
            one,
            49_153,
            "49153 bytes of dynamic shared memory",
        ),
        refused(
            "too_much_shared_memory_in_all",
            STATIC,
            one,
            one,
            9_153,
            "(and 40000 of static): at most 9152",
        ),
        refused(
            "all_the_dynamic_shared_memory_there_could_be",
            EMPTY,
            one,
            one,
            u32::MAX,
            "4294967295 bytes of dynamic",
        ),
    ];
    kinds.extend([
        Kind::calls("launches::too_much_static_shared_memory", || {
            for bytes in [49_153u64, 1 << 20, 1 << 32, u64::MAX / 2] {
                let (code, _) = load(&format!(
                    "{HEADER}.visible .entry k() {{ .shared .align 4 .b8 sh[{bytes}]; .reg .b32 %r; mov.u32 %r, sh; \
                     st.shared.u32 [%r], 1; ret; }}\n"
                ));
                assert_eq!(code, C::INVALID_PTX, "{bytes}");
                assert!(last_error().expect("failed").contains("static shared memory"), "{:?}", last_error());
            }
        }),
        Kind::calls("launches::an_opt_in_to_more_than_the_device_has", || {
            let function = empty();
            let attribute = CUfunction_attribute::MAX_DYNAMIC_SHARED_SIZE_BYTES;
            no!(INVALID_VALUE, cuFuncSetAttribute(function, attribute, 163 * 1024 + 1));
            ok!(cuFuncSetAttribute(function, attribute, 163 * 1024));
            assert_eq!(try_launch(function, [1, 1, 1], [1, 1, 1], 163 * 1024), C::SUCCESS);
            assert_eq!(try_launch(function, [1, 1, 1], [1, 1, 1], 163 * 1024 + 1), C::INVALID_VALUE);
        }),
        Kind::calls("launches::no_arguments", || {
            assert_eq!(try_launch(good(), [1, 1, 1], [1, 1, 1], 0), C::INVALID_VALUE);
            assert!(last_error().expect("failed").contains("no arguments for 2 parameters"));
        }),
        Kind::calls("launches::a_null_argument", || {
            let mut args = [arg(&1u64), NULL];
            let (p, none) = (args.as_mut_ptr(), std::ptr::null_mut());
            no!(INVALID_VALUE, cuLaunchKernel(good(), 1, 1, 1, 1, 1, 1, 0, CUstream::NULL, p, none));
            assert!(last_error().expect("failed").contains("argument 1 is null"));
        }),
        Kind::calls("launches::packed_arguments_of_another_size", || {
            let function = good();
            for (mut size, expected) in [(12usize, C::SUCCESS), (8, C::INVALID_VALUE), (0, C::INVALID_VALUE), (48, C::INVALID_VALUE)] {
                let packed = [0u8; 48];
                let mut extra = [
                    std::ptr::without_provenance_mut(CU_LAUNCH_PARAM_BUFFER_POINTER),
                    packed.as_ptr().cast_mut().cast(),
                    std::ptr::without_provenance_mut(CU_LAUNCH_PARAM_BUFFER_SIZE),
                    (&raw mut size).cast(),
                    NULL,
                ];
                let (p, extra) = (std::ptr::null_mut(), extra.as_mut_ptr());
                // All arguments are zero: no elements, nothing is touched.
                let code = cu!(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, CUstream::NULL, p, extra));
                assert_eq!(code, expected, "{size} bytes");
            }
            ok!(cuCtxSynchronize());
        }),
        Kind::calls("launches::arguments_given_twice", || {
            let (mut args, mut extra) = ([arg(&1u64), arg(&1u32)], [NULL; 5]);
            let (p, extra) = (args.as_mut_ptr(), extra.as_mut_ptr());
            no!(INVALID_VALUE, cuLaunchKernel(good(), 1, 1, 1, 1, 1, 1, 0, CUstream::NULL, p, extra));
        }),
        Kind::calls("launches::a_cooperative_grid_that_is_not_resident", || {
            let function = empty();
            let none = std::ptr::null_mut();
            let launch = |grid| cu!(cuLaunchCooperativeKernel(function, grid, 1, 1, 1024, 1, 1, 0, CUstream::NULL, none));
            // Four multiprocessors of 2048 threads.
            assert_eq!(launch(8), C::SUCCESS);
            assert_eq!(launch(9), C::COOPERATIVE_LAUNCH_TOO_LARGE);
            assert!(last_error().expect("failed").contains("9 blocks, but 4 multiprocessors hold 8 at once"));
            assert_eq!(with_attribute(function, 9, CUlaunchAttributeID::COOPERATIVE, [1, 0, 0]), C::COOPERATIVE_LAUNCH_TOO_LARGE);
            assert_eq!(launch(0), C::INVALID_VALUE);
            ok!(cuCtxSynchronize());
        }),
        Kind::calls("launches::clusters_that_the_device_has_not", || {
            let function = empty();
            for words in [[2, 1, 1], [1, 1, 4], [u32::MAX; 3]] {
                assert_eq!(
                    with_attribute(function, 8, CUlaunchAttributeID::CLUSTER_DIMENSION, words),
                    C::NOT_SUPPORTED
                );
                assert!(last_error().expect("failed").contains("clusters"));
            }
            assert_eq!(with_attribute(function, 8, CUlaunchAttributeID(4711), [0; 3]), C::NOT_SUPPORTED);
        }),
        Kind::calls("launches::attributes_that_are_nowhere", || {
            let none = std::ptr::null_mut();
            no!(INVALID_VALUE, cuLaunchKernelEx(std::ptr::null(), empty(), none, none));
            let config = CUlaunchConfig {
                gridDimX: 1,
                gridDimY: 1,
                gridDimZ: 1,
                blockDimX: 1,
                blockDimY: 1,
                blockDimZ: 1,
                sharedMemBytes: 0,
                hStream: CUstream::NULL,
                attrs: std::ptr::null_mut(),
                numAttrs: 2,
            };
            no!(INVALID_VALUE, cuLaunchKernelEx(&config, empty(), none, none));
        }),
    ]);
    kinds
}
