//! The whole crate on every device there is: the software device always, and each GPU.

#![cfg(feature = "soft")]
#![allow(clippy::unwrap_used, reason = "a failing test says where")]

use std::time::Duration;

use cuprum_driver_core::{
    Args, Context, Device, DeviceBuffer, DirectAllocator, ErrorKind, LaunchConfig, Module,
    PinnedBuffer,
};

/// `fill(data, value, count)`, `add(sum, a, b, count)`, `poke(address)` and a variable `table` of four numbers.
const PTX: &str = r"
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .b32 table[4] = {1, 2, 3, 4};
.visible .entry fill(.param .u64 data, .param .u32 value, .param .u32 count)
{
    .reg .pred %p;
    .reg .b32 %r<8>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [data];
    ld.param.u32 %r1, [value];
    ld.param.u32 %r2, [count];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r6, %r3, %r4, %r5;
    setp.ge.u32 %p, %r6, %r2;
    @%p bra done;
    mul.wide.u32 %d2, %r6, 4;
    add.s64 %d3, %d1, %d2;
    st.global.u32 [%d3], %r1;
done:
    ret;
}
.visible .entry add(.param .u64 sum, .param .u64 a, .param .u64 b, .param .u32 count)
{
    .reg .pred %p;
    .reg .b32 %r<10>;
    .reg .b64 %d<8>;
    ld.param.u64 %d1, [sum];
    ld.param.u64 %d2, [a];
    ld.param.u64 %d3, [b];
    ld.param.u32 %r2, [count];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r6, %r3, %r4, %r5;
    setp.ge.u32 %p, %r6, %r2;
    @%p bra done;
    mul.wide.u32 %d4, %r6, 4;
    add.s64 %d5, %d1, %d4;
    add.s64 %d6, %d2, %d4;
    add.s64 %d7, %d3, %d4;
    ld.global.u32 %r7, [%d6];
    ld.global.u32 %r8, [%d7];
    add.s32 %r9, %r7, %r8;
    st.global.u32 [%d5], %r9;
done:
    ret;
}
.visible .entry poke(.param .u64 address)
{
    .reg .b64 %d;
    ld.param.u64 %d, [address];
    st.global.u32 [%d], 1;
    ret;
}
";

/// Runs `check` in a context of every device, and says on which.
fn on_every_device(check: impl Fn(Context)) {
    let devices = Device::all();
    assert!(
        devices.iter().any(Device::is_software),
        "the software device is always there"
    );
    for device in devices {
        println!("on {device}");
        check(device.context().unwrap());
    }
}

#[test]
fn a_device_tells_what_it_is() {
    let device = Device::by_name("soft:0").unwrap();
    assert!(device.is_software());
    assert_eq!((device.label().as_str(), device.ordinal()), ("soft:0", 0));
    assert!(device.compute_capability() >= (5, 0));
    assert!(device.total_memory() > 0 && !device.name().is_empty());
    assert!(Device::all().contains(&device));
    assert_eq!(device.context().unwrap(), device.context().unwrap());
    assert_ne!(device.uuid().unwrap(), [0; 16]);
}

#[test]
fn copies_of_every_kind() {
    on_every_device(check_copies_of_every_kind);
}

fn check_copies_of_every_kind(context: Context) {
    let (a, b) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let source: Vec<u32> = (0..100_000).collect();
    let mut x = DeviceBuffer::from_slice(&a, &source).unwrap();
    assert_eq!(x.slice(10..20).to_vec().unwrap(), source[10..20]);

    let mut host = PinnedBuffer::<u32>::zeros(&context, source.len()).unwrap();
    x.copy_to_pinned(&b, &mut host).unwrap();
    assert_eq!(host.as_slice().unwrap(), source);
    host.as_mut_slice().unwrap().reverse();
    x.copy_from_pinned(&b, &host).unwrap();
    let mut y = DeviceBuffer::<u32>::zeros(&b, source.len()).unwrap();
    y.copy_from(x.view()).unwrap();
    let reversed: Vec<u32> = source.iter().rev().copied().collect();
    assert_eq!(y.to_vec().unwrap(), reversed);

    let mut there = vec![0; source.len()];
    context
        .scope(|scope| {
            scope.copy_to_device(&a, &source, x.view_mut())?;
            scope.copy_to_host(&b, x.view(), &mut there)
        })
        .unwrap();
    assert_eq!(there, source);

    let mut doubles = DeviceBuffer::<f64>::zeros(&a, 5000).unwrap();
    doubles.fill(0.1).unwrap();
    assert!(doubles.to_vec().unwrap().iter().all(|&x| x == 0.1));
}

#[test]
fn events_measure_and_order() {
    on_every_device(check_events_measure_and_order);
}

fn check_events_measure_and_order(context: Context) {
    let (a, b) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let before = a.record().unwrap();
    a.launch_host(|| std::thread::sleep(Duration::from_millis(30)))
        .unwrap();
    let after = a.record().unwrap();
    b.wait(&after).unwrap();
    assert!(!b.is_done().unwrap());
    assert_eq!(
        after.elapsed_since(&before).unwrap_err().kind(),
        ErrorKind::Busy
    );
    b.synchronize().unwrap();
    assert!(after.is_done().unwrap());
    assert!(after.elapsed_since(&before).unwrap() >= Duration::from_millis(25));
}

#[test]
fn work_on_a_second_stream_waits_for_the_first() {
    on_every_device(check_work_on_a_second_stream_waits_for_the_first);
}

fn check_work_on_a_second_stream_waits_for_the_first(context: Context) {
    let (a, b) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let mut x = DeviceBuffer::<u32>::zeros(&a, 1000).unwrap();
    a.launch_host(|| std::thread::sleep(Duration::from_millis(50)))
        .unwrap();
    x.fill(7).unwrap(); // on `a`, after the sleep
    let mut host = PinnedBuffer::<u32>::zeros(&context, 1000).unwrap();
    x.copy_to_pinned(&b, &mut host).unwrap();
    assert!(host.as_slice().unwrap().iter().all(|&value| value == 7));
}

#[test]
fn dropping_waits_for_nothing_and_frees_in_the_end() {
    on_every_device(check_dropping_waits_for_nothing_and_frees_in_the_end);
}

fn check_dropping_waits_for_nothing_and_frees_in_the_end(context: Context) {
    let stream = context.new_stream().unwrap();
    let module = Module::from_ptx(&context, PTX).unwrap();
    let direct = {
        context.set_allocator(Some(std::sync::Arc::new(DirectAllocator)));
        let buffer = DeviceBuffer::<u8>::zeros(&stream, 1 << 20);
        context.set_allocator(None);
        buffer.unwrap()
    };
    let ordered = DeviceBuffer::<u8>::zeros(&stream, 1 << 20).unwrap();
    let pinned = PinnedBuffer::<u8>::zeros(&context, 1 << 20).unwrap();
    stream.synchronize().unwrap();
    stream
        .launch_host(|| std::thread::sleep(Duration::from_millis(200)))
        .unwrap();
    let start = std::time::Instant::now();
    drop((direct, ordered, pinned, module, stream));
    assert!(
        start.elapsed() < Duration::from_millis(100),
        "{:?}",
        start.elapsed()
    );
    context.synchronize().unwrap();
    context.collect().unwrap();
}

#[test]
fn kernels_run_and_order_across_streams() {
    on_every_device(check_kernels_run_and_order_across_streams);
}

fn check_kernels_run_and_order_across_streams(context: Context) {
    let (a, b) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let module = Module::from_ptx(&context, PTX).unwrap();
    let (fill, add) = (
        module.function("fill").unwrap(),
        module.function("add").unwrap(),
    );
    assert_eq!(
        add.params()
            .iter()
            .map(|param| (param.offset, param.size))
            .collect::<Vec<_>>(),
        [(0, 8), (8, 8), (16, 8), (24, 4)]
    );
    let n = 10_000;
    let config = LaunchConfig::for_elements(n);
    let mut x = DeviceBuffer::<u32>::zeros(&a, n).unwrap();
    let mut y = DeviceBuffer::<u32>::zeros(&b, n).unwrap();
    let mut sum = DeviceBuffer::<u32>::zeros(&a, n).unwrap();
    for round in 0..20u32 {
        // SAFETY: `fill` writes the first `n` elements of a buffer, and `x` has as many.
        unsafe { fill.launch(&a, config, (&mut x, round, n as u32)) }.unwrap();
        // SAFETY: as above, for `y`.
        unsafe { fill.launch(&b, config, (&mut y, 1000u32, n as u32)) }.unwrap();
        let mut args = Args::new();
        args.write(sum.view_mut())
            .read(x.view())
            .read(y.view())
            .scalar(n as u32);
        // SAFETY: `add` accesses the first `n` elements of three buffers that have as many.
        unsafe { add.launch(if round % 2 == 0 { &a } else { &b }, config, args) }.unwrap();
    }
    assert!(sum.to_vec().unwrap().iter().all(|&value| value == 1019));
    assert_eq!(
        module.global::<u32>("table").unwrap().read(&a).unwrap(),
        [1, 2, 3, 4]
    );
    module
        .global::<u32>("table")
        .unwrap()
        .write(&a, &[5, 6, 7, 8])
        .unwrap();
    assert_eq!(
        module.global::<u32>("table").unwrap().read(&b).unwrap(),
        [5, 6, 7, 8]
    );
}

#[test]
fn broken_ptx_is_explained() {
    on_every_device(check_broken_ptx_is_explained);
}

fn check_broken_ptx_is_explained(context: Context) {
    let error = Module::from_ptx(
        &context,
        ".version 7.0\n.target sm_70\n.visible .entry k( {",
    )
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidImage);
    assert!(
        error.detail().is_some_and(|detail| detail.contains('3')),
        "{error}"
    );
    let module = Module::from_ptx(&context, PTX).unwrap();
    let error = module.function("fil").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(
        error.to_string().contains("[fill, add, poke]") || error.to_string().contains("fill"),
        "{error}"
    );
    assert_eq!(
        module.global::<u32>("nothing").unwrap_err().kind(),
        ErrorKind::NotFound
    );
}
