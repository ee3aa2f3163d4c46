//! Calls with what is not there: handles, ranges of memory, contexts and names.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::*;
use crate::kind::{Kind, arg, computes, good, load, look_up};
use crate::{cu, no, ok};

use CUresult as C;

fn stray() -> *mut c_void {
    std::ptr::without_provenance_mut(0x4_7110)
}

fn told(words: &str) {
    let text = last_error().expect("a call failed");
    assert!(text.contains(words), "{words:?} is not in {text}");
}

fn launch(function: CUfunction, stream: CUstream) -> CUresult {
    let mut args = [arg(&0u64), arg(&0u32)];
    let (p, none) = (args.as_mut_ptr(), std::ptr::null_mut());
    cu!(cuLaunchKernel(
        function, 1, 1, 1, 1, 1, 1, 0, stream, p, none
    ))
}

/// As [`Kind::calls`], after which the same context computes.
fn harmless(name: &str, body: impl FnOnce() + Send + 'static) -> Kind {
    Kind::calls(format!("calls::{name}"), move || {
        body();
        ok!(cuCtxSynchronize());
        computes().expect("the context is sound");
    })
}

pub(crate) fn kinds() -> Vec<Kind> {
    let mut kinds = vec![
        harmless("a_copy_past_the_end", || {
            let (a, host) = (alloc(1000), [0u8; 2000]);
            no!(
                INVALID_VALUE,
                cuMemcpyHtoD_v2(a, host.as_ptr().cast(), 1001)
            );
            told("1000 bytes");
            no!(
                INVALID_VALUE,
                cuMemcpyHtoD_v2(a + 999, host.as_ptr().cast(), 2)
            );
            no!(INVALID_VALUE, cuMemcpyDtoD_v2(a, alloc(10), 11));
            no!(
                INVALID_VALUE,
                cuMemcpyDtoHAsync_v2(host.as_ptr().cast_mut().cast(), a, 1001, CUstream::NULL)
            );
            no!(
                INVALID_VALUE,
                cuMemcpyHtoD_v2(a, host.as_ptr().cast(), usize::MAX)
            );
        }),
        harmless("a_fill_past_the_end", || {
            let a = alloc(1000);
            no!(INVALID_VALUE, cuMemsetD8_v2(a, 1, 1001));
            no!(INVALID_VALUE, cuMemsetD32_v2(a, 1, 251));
            no!(INVALID_VALUE, cuMemsetD32_v2(a, 1, usize::MAX));
            no!(INVALID_VALUE, cuMemsetD32Async(a + 2, 1, 1, CUstream::NULL));
            no!(INVALID_VALUE, cuMemsetD2D8_v2(a, 100, 1, 100, 11));
            assert_eq!(download::<u8>(a, 1000), vec![0; 1000]);
        }),
        harmless("a_copy_of_freed_memory", || {
            let (a, host) = (alloc(4 << 20), [0u8; 16]);
            ok!(cuMemFree_v2(a));
            no!(
                INVALID_VALUE,
                cuMemcpyHtoD_v2(a + (3 << 20), host.as_ptr().cast(), 16)
            );
        }),
        harmless("a_copy_of_null", || {
            let a = alloc(16);
            no!(INVALID_VALUE, cuMemcpyHtoD_v2(a, std::ptr::null(), 16));
            no!(INVALID_VALUE, cuMemcpyDtoH_v2(NULL, a, 16));
            no!(INVALID_VALUE, cuMemcpyDtoD_v2(0, a, 16));
            no!(INVALID_VALUE, cuMemcpy(0, a, 16));
        }),
        harmless("memory_freed_twice", || {
            let a = alloc(16);
            ok!(cuMemFree_v2(a));
            no!(INVALID_VALUE, cuMemFree_v2(a));
            no!(INVALID_VALUE, cuMemFree_v2(alloc(600) + 256));
            no!(INVALID_VALUE, cuMemFree_v2(12345));
            no!(
                INVALID_VALUE,
                cuMemFreeHost(std::ptr::without_provenance_mut(a as usize))
            );
            no!(INVALID_VALUE, cuMemFree_v2(0));
        }),
        harmless("more_memory_than_there_is", || {
            let mut a = 0;
            no!(OUT_OF_MEMORY, cuMemAlloc_v2(&mut a, 257 << 20));
            no!(OUT_OF_MEMORY, cuMemAlloc_v2(&mut a, usize::MAX));
            no!(INVALID_VALUE, cuMemAlloc_v2(&mut a, 0));
            no!(INVALID_VALUE, cuMemAlloc_v2(std::ptr::null_mut(), 16));
        }),
        harmless("a_stream_that_is_none", || {
            for stream in [
                CUstream(stray()),
                CUstream(std::ptr::without_provenance_mut(usize::MAX)),
            ] {
                no!(INVALID_HANDLE, cuStreamSynchronize(stream));
                no!(INVALID_HANDLE, cuStreamQuery(stream));
                no!(INVALID_HANDLE, cuStreamDestroy_v2(stream));
                assert_eq!(launch(good(), stream), C::INVALID_HANDLE);
            }
            no!(INVALID_HANDLE, cuStreamDestroy_v2(CUstream::NULL));
        }),
        harmless("a_stream_that_was_destroyed", || {
            let stream = new_stream(0);
            ok!(cuStreamDestroy_v2(stream));
            no!(INVALID_HANDLE, cuStreamDestroy_v2(stream));
            no!(INVALID_HANDLE, cuMemsetD8Async(alloc(4), 0, 4, stream));
            assert_eq!(launch(good(), stream), C::INVALID_HANDLE);
        }),
        harmless("an_event_that_is_none", || {
            let event = new_event(0);
            ok!(cuEventDestroy_v2(event));
            for event in [event, CUevent(stray()), CUevent::NULL] {
                no!(INVALID_HANDLE, cuEventRecord(event, CUstream::NULL));
                no!(INVALID_HANDLE, cuEventSynchronize(event));
                no!(INVALID_HANDLE, cuStreamWaitEvent(CUstream::NULL, event, 0));
                no!(INVALID_HANDLE, cuEventElapsedTime(&mut 0.0, event, event));
            }
        }),
        harmless("one_handle_for_another", || {
            let (stream, event) = (new_stream(0), new_event(0));
            no!(INVALID_HANDLE, cuEventQuery(CUevent(stream.0)));
            no!(INVALID_HANDLE, cuStreamQuery(CUstream(event.0)));
            assert_eq!(
                launch(CUfunction(stream.0), CUstream::NULL),
                C::INVALID_HANDLE
            );
            no!(INVALID_HANDLE, cuModuleUnload(CUmodule(event.0)));
        }),
        harmless("a_module_that_was_unloaded", || {
            let function = good();
            let mut module = CUmodule::NULL;
            ok!(cuFuncGetModule(&mut module, function));
            ok!(cuModuleUnload(module));
            no!(INVALID_HANDLE, cuModuleUnload(module));
            assert_eq!(launch(function, CUstream::NULL), C::INVALID_HANDLE);
            assert_eq!(look_up(module, "triple").0, C::INVALID_HANDLE);
            no!(
                INVALID_HANDLE,
                cuFuncSetCacheConfig(function, CUfunc_cache::PREFER_L1)
            );
        }),
        harmless("names_that_nobody_gave", || {
            let mut module = CUmodule::NULL;
            ok!(cuFuncGetModule(&mut module, good()));
            assert_eq!(look_up(module, "tripel").0, C::NOT_FOUND);
            told("it has: triple");
            assert_eq!(look_up(module, "").0, C::NOT_FOUND);
            let mut address = 0;
            no!(
                NOT_FOUND,
                cuModuleGetGlobal_v2(
                    &mut address,
                    std::ptr::null_mut(),
                    module,
                    c"triple".as_ptr()
                )
            );
            no!(
                INVALID_VALUE,
                cuModuleGetFunction(&mut CUfunction(NULL), module, std::ptr::null())
            );
            no!(
                INVALID_VALUE,
                cuModuleGetFunction(std::ptr::null_mut(), module, c"triple".as_ptr())
            );
        }),
        harmless("attributes_that_nothing_has", || {
            no!(
                INVALID_VALUE,
                cuDeviceGetAttribute(&mut 0, CUdevice_attribute(9999), 0)
            );
            no!(
                INVALID_DEVICE,
                cuDeviceGetAttribute(&mut 0, CUdevice_attribute::WARP_SIZE, 7)
            );
            no!(
                INVALID_VALUE,
                cuFuncGetAttribute(&mut 0, CUfunction_attribute(9999), good())
            );
            no!(UNSUPPORTED_LIMIT, cuCtxSetLimit(CUlimit(9999), 1));
            no!(INVALID_VALUE, cuStreamCreate(&mut CUstream(NULL), 99));
            no!(INVALID_VALUE, cuEventCreate(&mut CUevent(NULL), 99));
        }),
        harmless("an_event_that_was_never_recorded", || {
            let (a, b) = (new_event(0), new_event(flags::CU_EVENT_DISABLE_TIMING));
            no!(INVALID_HANDLE, cuEventElapsedTime(&mut 0.0, a, a));
            ok!(cuEventRecord(a, CUstream::NULL));
            ok!(cuEventRecord(b, CUstream::NULL));
            ok!(cuCtxSynchronize());
            no!(INVALID_HANDLE, cuEventElapsedTime(&mut 0.0, a, b));
        }),
        harmless("driver_calls_in_a_host_function", || {
            static SEEN: AtomicU32 = AtomicU32::new(0);
            unsafe extern "C" fn calls(_: *mut c_void) {
                SEEN.store(cu!(cuMemAlloc_v2(&mut 0, 8)).0, Ordering::SeqCst);
            }
            ok!(cuLaunchHostFunc(CUstream::NULL, Some(calls), NULL));
            ok!(cuCtxSynchronize());
            assert_eq!(CUresult(SEEN.load(Ordering::SeqCst)), C::NOT_PERMITTED);
            no!(INVALID_VALUE, cuLaunchHostFunc(CUstream::NULL, None, NULL));
        }),
        harmless("a_function_and_a_stream_of_two_contexts", || {
            let function = good();
            let other = TestContext::on(0);
            let stream = new_stream(0);
            assert_eq!(launch(function, stream), C::INVALID_HANDLE);
            told("different contexts");
            drop(other);
        }),
        harmless("peers_that_are_none", || {
            no!(
                INVALID_CONTEXT,
                cuCtxEnablePeerAccess(CUcontext(stray()), 0)
            );
            let (a, b) = (alloc(16), alloc(16));
            no!(
                INVALID_CONTEXT,
                cuMemcpyPeer(a, CUcontext(stray()), b, CUcontext(stray()), 16)
            );
            no!(
                INVALID_CONTEXT,
                cuMemcpyPeerAsync(a, CUcontext::NULL, b, CUcontext::NULL, 16, CUstream::NULL)
            );
        }),
    ];
    kinds.push(Kind::calls(
        "calls::a_launch_after_the_context_was_destroyed",
        || {
            let context = TestContext::on(0);
            let (function, stream) = (good(), new_stream(0));
            let handle = context.0;
            std::thread::scope(|scope| {
                scope
                    .spawn(|| ok!(cuCtxDestroy_v2(handle)))
                    .join()
                    .expect("it destroys");
            });
            // The context is still current here, and told apart from one that never was.
            assert_eq!(launch(function, stream), C::CONTEXT_IS_DESTROYED);
            no!(CONTEXT_IS_DESTROYED, cuCtxSynchronize());
            no!(CONTEXT_IS_DESTROYED, cuMemAlloc_v2(&mut 0, 16));
            drop(context);
            ok!(cuCtxPopCurrent_v2(std::ptr::null_mut()));
            no!(INVALID_CONTEXT, cuCtxSetCurrent(handle));
            // In another context, the old objects are nothing.
            assert_eq!(launch(function, CUstream::NULL), C::INVALID_HANDLE);
            no!(INVALID_HANDLE, cuStreamQuery(stream));
        },
    ));
    kinds.push(Kind::calls("calls::no_context_at_all", || {
        let function = good();
        std::thread::scope(|scope| {
            let outcome = scope.spawn(|| {
                assert_eq!(launch(function, CUstream::NULL), C::INVALID_CONTEXT);
                no!(INVALID_CONTEXT, cuMemAlloc_v2(&mut 0, 16));
                assert_eq!(load("").0, C::INVALID_CONTEXT);
            });
            outcome.join().expect("it is refused");
        });
    }));
    kinds
}
