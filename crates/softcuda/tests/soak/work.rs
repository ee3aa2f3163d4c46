//! What the threads of the soak test do.

use std::ffi::{CString, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use cuprum_softcuda::table_per_thread;

use crate::common::*;
use crate::ok;

/// How many kinds of steps there are.
pub(crate) const KINDS: usize = 13;

const PTX: &str = concat!(include_str!("../model/kernels.ptx"), "\0");
const SAY: &str = ".version 7.8\n.target sm_80\n.address_size 64\n\
    .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n\
    .global .align 1 .b8 text[8] = {115, 111, 97, 107, 10, 0, 0, 0};\n\
    .visible .entry say() {\n.reg .b64 %d;\nmov.u64 %d, text;\n\
    { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %d; st.param.b64 [a], 0; call (r), vprintf, (f, a); }\nret;\n}\n\0";

/// xorshift64*.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 32) % bound
    }

    fn words(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.next() as u32).collect()
    }
}

/// A context that all threads use, with its kernels.
struct Home {
    context: CUcontext,
    module: CUmodule,
}

// SAFETY: handles are numbers; the driver may be called from any thread.
unsafe impl Sync for Home {}
// SAFETY: as above.
unsafe impl Send for Home {}

impl Home {
    fn function(&self, name: &str) -> CUfunction {
        function(self.module, name)
    }
}

/// One context on each device, used by all threads.
pub(crate) struct Shared([Home; 2]);

impl Shared {
    pub(crate) fn new() -> Self {
        let home = |device| {
            let mut context = CUcontext::NULL;
            ok!(cuCtxCreate_v2(&mut context, 0, device));
            let module = load(PTX);
            ok!(cuCtxPopCurrent_v2(std::ptr::null_mut()));
            Home { context, module }
        };
        Self([home(0), home(1)])
    }

    pub(crate) fn destroy(self) {
        for home in self.0 {
            ok!(cuCtxDestroy_v2(home.context));
        }
    }
}

fn load(ptx: &str) -> CUmodule {
    let mut module = CUmodule::NULL;
    ok!(cuModuleLoadData(&mut module, ptx.as_ptr().cast()));
    module
}

fn function(module: CUmodule, name: &str) -> CUfunction {
    let name = CString::new(name).expect("no zero inside");
    let mut function = CUfunction::NULL;
    ok!(cuModuleGetFunction(&mut function, module, name.as_ptr()));
    function
}

fn arg<T>(value: &T) -> *mut c_void {
    std::ptr::from_ref(value).cast_mut().cast()
}

fn launch(function: CUfunction, grid: u32, block: u32, stream: CUstream, args: &[*mut c_void]) {
    let mut args = args.to_vec();
    let (p, none) = (args.as_mut_ptr(), std::ptr::null_mut());
    ok!(cuLaunchKernel(
        function, grid, 1, 1, block, 1, 1, 0, stream, p, none
    ));
}

fn free(address: CUdeviceptr) {
    ok!(cuMemFree_v2(address));
}

fn linear(x: &[u32], a: u32, b: u32) -> Vec<u32> {
    x.iter()
        .map(|x| x.wrapping_mul(a).wrapping_add(b))
        .collect()
}

/// One thread of the test: its stream, and what it keeps from step to step.
pub(crate) struct Worker<'a> {
    shared: &'a Shared,
    random: Random,
    streams: [CUstream; 2],
    /// Device memory on each device, with the contents that it must have.
    kept: [Vec<(CUdeviceptr, Vec<u32>)>; 2],
    counts: [u64; KINDS],
    said: u64,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(shared: &'a Shared, random: Random) -> Self {
        let streams = [0, 1].map(|device: usize| {
            ok!(cuCtxSetCurrent(shared.0[device].context));
            new_stream(if device == 0 {
                flags::CU_STREAM_NON_BLOCKING
            } else {
                flags::CU_STREAM_DEFAULT
            })
        });
        Self {
            shared,
            random,
            streams,
            kept: [Vec::new(), Vec::new()],
            counts: [0; KINDS],
            said: 0,
        }
    }

    /// One random step, on a random device.
    pub(crate) fn step(&mut self) {
        let device = self.random.below(2) as usize;
        ok!(cuCtxSetCurrent(self.shared.0[device].context));
        let kind = self.random.below(KINDS as u64) as usize;
        match kind {
            0 => self.compute(device),
            1 => self.keep(device),
            2 => self.look_at_kept(device),
            3 => self.through_pinned_memory(device),
            4 => self.two_streams_and_an_event(device),
            5 => self.host_functions(device),
            6 => self.peer_copy(device),
            7 => self.stream_ordered(device),
            8 => self.grid_barrier(device),
            9 => Self::a_fault(device),
            10 => self.a_module_of_its_own(),
            11 => self.own_default_stream(device),
            _ => self.heap_and_locks(device),
        }
        self.counts[kind] += 1;
    }

    /// Gives everything back; answers how often each kind of step was made, and how many lines were printed.
    pub(crate) fn finish(mut self) -> ([u64; KINDS], u64) {
        for device in 0..2 {
            ok!(cuCtxSetCurrent(self.shared.0[device].context));
            for (address, expected) in self.kept[device].drain(..) {
                assert!(download::<u32>(address, expected.len()) == expected);
                free(address);
            }
            ok!(cuStreamDestroy_v2(self.streams[device]));
        }
        ok!(cuCtxSetCurrent(CUcontext::NULL));
        (self.counts, self.said)
    }

    fn data(&mut self) -> Vec<u32> {
        let count = 1 + self.random.below(3000) as usize;
        self.random.words(count)
    }

    /// Queues `linear` on a buffer, with random factors; answers what it makes of `data`.
    fn queue_linear(
        &mut self,
        device: usize,
        x: CUdeviceptr,
        data: &[u32],
        stream: CUstream,
    ) -> Vec<u32> {
        let (a, b, n) = (
            self.random.next() as u32,
            self.random.next() as u32,
            data.len() as u32,
        );
        let block = 1 + self.random.below(256) as u32;
        let linear_kernel = self.shared.0[device].function("linear");
        launch(
            linear_kernel,
            n.div_ceil(block),
            block,
            stream,
            &[arg(&x), arg(&a), arg(&b), arg(&n)],
        );
        linear(data, a, b)
    }

    fn compute(&mut self, device: usize) {
        let data = self.data();
        let x = alloc(4 * data.len());
        upload(x, &data);
        let mut expected = data;
        for _ in 0..=self.random.below(4) {
            expected = self.queue_linear(device, x, &expected, self.streams[device]);
        }
        ok!(cuStreamSynchronize(self.streams[device]));
        assert!(download::<u32>(x, expected.len()) == expected);
        free(x);
    }

    fn keep(&mut self, device: usize) {
        if self.kept[device].len() > 20 {
            let index = self.random.below(20) as usize;
            let (address, _) = self.kept[device].swap_remove(index);
            free(address);
        }
        let data = self.data();
        let address = alloc(4 * data.len());
        upload(address, &data);
        self.kept[device].push((address, data));
    }

    fn look_at_kept(&mut self, device: usize) {
        if self.kept[device].is_empty() {
            return self.keep(device);
        }
        let index = self.random.below(self.kept[device].len() as u64) as usize;
        let (address, data) = self.kept[device].swap_remove(index);
        assert!(download::<u32>(address, data.len()) == data);
        let changed = self.queue_linear(device, address, &data, self.streams[device]);
        ok!(cuStreamSynchronize(self.streams[device]));
        self.kept[device].push((address, changed));
    }

    fn through_pinned_memory(&mut self, device: usize) {
        let data = self.data();
        let bytes = 4 * data.len();
        let (stream, host, x) = (
            self.streams[device],
            alloc_host(bytes).cast::<u32>(),
            alloc(bytes),
        );
        // SAFETY: just allocated, as long as the data, aligned to 256; nobody else uses it.
        unsafe { host.copy_from_nonoverlapping(data.as_ptr(), data.len()) };
        ok!(cuMemcpyHtoDAsync_v2(
            x,
            host.cast_const().cast(),
            bytes,
            stream
        ));
        let expected = self.queue_linear(device, x, &data, stream);
        ok!(cuMemcpyDtoHAsync_v2(host.cast(), x, bytes, stream));
        ok!(cuStreamSynchronize(stream));
        // SAFETY: the copy is done, and the memory holds as many words.
        let found = unsafe { std::slice::from_raw_parts(host, data.len()) };
        assert!(found == expected);
        free(x);
        ok!(cuMemFreeHost(host.cast()));
    }

    fn two_streams_and_an_event(&mut self, device: usize) {
        let data = self.data();
        let (x, other, event) = (alloc(4 * data.len()), new_stream(0), new_event(0));
        upload(x, &data);
        let first = self.queue_linear(device, x, &data, self.streams[device]);
        ok!(cuEventRecord(event, self.streams[device]));
        ok!(cuStreamWaitEvent(other, event, 0));
        let second = self.queue_linear(device, x, &first, other);
        ok!(cuStreamSynchronize(other));
        ok!(cuEventQuery(event));
        assert!(download::<u32>(x, second.len()) == second);
        ok!(cuEventDestroy_v2(event));
        ok!(cuStreamDestroy_v2(other));
        free(x);
    }

    fn host_functions(&mut self, device: usize) {
        let calls = 1 + self.random.below(20) as usize;
        let counter = AtomicUsize::new(0);
        for _ in 0..calls {
            ok!(cuLaunchHostFunc(
                self.streams[device],
                Some(count),
                counter_pointer(&counter)
            ));
        }
        ok!(cuStreamSynchronize(self.streams[device]));
        assert_eq!(counter.load(Ordering::SeqCst), calls);
    }

    fn peer_copy(&mut self, device: usize) {
        let data = self.data();
        let bytes = 4 * data.len();
        let (here, there) = (
            self.shared.0[device].context,
            self.shared.0[1 - device].context,
        );
        let x = alloc(bytes);
        upload(x, &data);
        let expected = self.queue_linear(device, x, &data, self.streams[device]);
        ok!(cuCtxSetCurrent(there));
        let y = alloc(bytes);
        ok!(cuCtxSetCurrent(here));
        ok!(cuMemcpyPeerAsync(
            y,
            there,
            x,
            here,
            bytes,
            self.streams[device]
        ));
        ok!(cuStreamSynchronize(self.streams[device]));
        ok!(cuCtxSetCurrent(there));
        assert!(download::<u32>(y, expected.len()) == expected);
        free(y);
        ok!(cuCtxSetCurrent(here));
        free(x);
    }

    fn stream_ordered(&mut self, device: usize) {
        let data = self.data();
        let (stream, mut x) = (self.streams[device], 0);
        ok!(cuMemAllocAsync(&mut x, 4 * data.len(), stream));
        ok!(cuMemcpyHtoDAsync_v2(
            x,
            data.as_ptr().cast(),
            4 * data.len(),
            stream
        ));
        let expected = self.queue_linear(device, x, &data, stream);
        let mut found = vec![0u32; data.len()];
        ok!(cuMemcpyDtoHAsync_v2(
            found.as_mut_ptr().cast(),
            x,
            4 * data.len(),
            stream
        ));
        ok!(cuMemFreeAsync(x, stream));
        ok!(cuStreamSynchronize(stream));
        assert!(found == expected);
        if self.random.below(10) == 0 {
            let mut pool = CUmemoryPool::NULL;
            ok!(cuDeviceGetDefaultMemPool(&mut pool, device as i32));
            ok!(cuMemPoolTrimTo(pool, 0));
        }
    }

    fn grid_barrier(&mut self, device: usize) {
        let blocks = 2 + self.random.below(7) as u32;
        let rounds = 1 + self.random.below(5) as u32;
        let mut slots = self.random.words(blocks as usize);
        let (x, arrived) = (alloc(8 * blocks as usize), alloc(4));
        upload(x, &slots);
        ok!(cuMemsetD32_v2(arrived, 0, 1));
        ok!(cuStreamSynchronize(CUstream::NULL));
        let kernel = self.shared.0[device].function("rounds");
        let mut args = [arg(&x), arg(&arrived), arg(&rounds)];
        let p = args.as_mut_ptr();
        let stream = self.streams[device];
        ok!(cuLaunchCooperativeKernel(
            kernel, blocks, 1, 1, 64, 1, 1, 0, stream, p
        ));
        ok!(cuStreamSynchronize(stream));
        let n = slots.len();
        for _ in 0..rounds {
            slots = (0..n)
                .map(|i| {
                    slots[i]
                        .wrapping_add(slots[(i + 1) % n])
                        .wrapping_add(slots[(i + n - 1) % n])
                })
                .collect();
        }
        // The halves of the buffer take turns.
        let result = x + 4 * u64::from(blocks * (rounds % 2));
        assert!(download::<u32>(result, n) == slots);
        free(x);
        free(arrived);
    }

    /// A context of its own is lost; the others are not.
    fn a_fault(device: usize) {
        let context = TestContext::on(device as i32);
        let kernel = function(load(PTX), "linear");
        let x = alloc(40);
        let (_stream, _event) = (new_stream(0), new_event(0));
        // Eleven elements of ten.
        launch(
            kernel,
            1,
            32,
            CUstream::NULL,
            &[arg(&x), arg(&1u32), arg(&1u32), arg(&11u32)],
        );
        let code = crate::cu!(cuCtxSynchronize());
        assert_eq!(code, CUresult::ILLEGAL_ADDRESS);
        drop(context);
    }

    fn a_module_of_its_own(&mut self) {
        let module = load(SAY);
        let (blocks, threads) = (
            1 + self.random.below(3) as u32,
            1 + self.random.below(5) as u32,
        );
        launch(
            function(module, "say"),
            blocks,
            threads,
            CUstream::NULL,
            &[],
        );
        self.said += u64::from(blocks * threads);
        ok!(cuModuleUnload(module));
    }

    fn own_default_stream(&mut self, device: usize) {
        let data = self.data();
        let x = alloc(4 * data.len());
        let entry = table_per_thread()
            .cuMemcpyHtoDAsync_v2
            .expect("it is provided");
        // SAFETY: the source lives until the stream is waited for.
        let code = unsafe { entry(x, data.as_ptr().cast(), 4 * data.len(), CUstream::NULL) };
        assert!(code.is_success(), "{code:?}: {:?}", last_error());
        let expected = self.queue_linear(device, x, &data, CUstream::PER_THREAD);
        ok!(cuStreamSynchronize(CUstream::PER_THREAD));
        assert!(download::<u32>(x, expected.len()) == expected);
        free(x);
    }

    fn heap_and_locks(&mut self, device: usize) {
        let (words, threads) = (alloc(8), 1 + self.random.below(64) as u32);
        ok!(cuMemsetD32_v2(words, 0, 2));
        ok!(cuStreamSynchronize(CUstream::NULL));
        let (lock, sum) = (words, words + 4);
        let locked = self.shared.0[device].function("locked");
        launch(
            locked,
            3,
            threads,
            self.streams[device],
            &[arg(&lock), arg(&sum)],
        );
        ok!(cuStreamSynchronize(self.streams[device]));
        assert_eq!(download::<u32>(words, 2), [0, 3 * threads]);
        free(words);
        // The heap of a context is gone with it.
        let context = TestContext::on(device as i32);
        let (take, out) = (function(load(PTX), "take"), alloc(4));
        launch(
            take,
            1,
            1,
            CUstream::NULL,
            &[arg(&out), arg(&1000u64), arg(&10u32)],
        );
        assert_eq!(download::<u32>(out, 1), [10]);
        drop(context);
    }
}
