//! After device code has failed: what the error tells, that everything can still be dropped, and that a new context
//! works. In a process of its own, because the primary context is shared.

#![cfg(feature = "soft")]
#![allow(clippy::unwrap_used, reason = "a failing test says where")]

use cuprum_driver_core::{
    Device, DeviceBuffer, DevicePtr, ErrorKind, LaunchConfig, Module, PinnedBuffer,
};

const PTX: &str = r"
.version 7.0
.target sm_70
.address_size 64
.visible .entry poke(.param .u64 address)
{
    .reg .b64 %d;
    ld.param.u64 %d, [address];
    st.global.u32 [%d], 1;
    ret;
}
";

#[test]
fn a_fault_takes_its_context_and_nothing_else() {
    let device = Device::by_name("soft:0").unwrap();
    let context = device.context().unwrap();
    let stream = context.new_stream().unwrap();
    let poke = Module::from_ptx(&context, PTX)
        .unwrap()
        .function("poke")
        .unwrap();
    let buffer = DeviceBuffer::<u32>::zeros(&stream, 10).unwrap();
    let mut pinned = PinnedBuffer::<u32>::zeros(&context, 10).unwrap();
    let config = LaunchConfig::grid_1d(1, 1);
    // SAFETY: the address is wrong on purpose; the software device checks each access of a kernel, and this one fails
    // before it touches anything.
    unsafe { poke.launch(&stream, config, (DevicePtr(8),)) }.unwrap();
    let error = stream.synchronize().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fault);
    assert!(error.is_fatal() && error.is_asynchronous() && context.is_lost());
    assert_eq!(error.suspects().len(), 1);
    let text = error.to_string();
    assert!(text.contains("poke") && text.contains("0x8"), "{text}");

    // Every later call fails with the same, and nothing panics or hangs.
    assert!(buffer.to_vec().unwrap_err().is_fatal());
    assert!(
        buffer
            .copy_to_pinned(&stream, &mut pinned)
            .unwrap_err()
            .is_fatal()
    );
    assert!(context.new_stream().is_err());
    assert!(context.synchronize().unwrap_err().is_fatal());

    // A new context works while the lost one is still held.
    let fresh = device.context().unwrap();
    assert_ne!(fresh, context);
    let fresh_stream = fresh.new_stream().unwrap();
    let sound = DeviceBuffer::from_slice(&fresh_stream, &[1u32, 2, 3]).unwrap();
    assert_eq!(sound.to_vec().unwrap(), [1, 2, 3]);
    // SAFETY: the launch is refused for its context before anything runs.
    let refused = unsafe { poke.launch(&fresh_stream, config, (&sound,)) };
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::WrongContext);

    // The lost one can be dropped in any order; then the primary context is new.
    drop(context);
    drop(poke);
    drop((pinned, stream, buffer));
    drop((sound, fresh_stream, fresh));
    let again = device.context().unwrap();
    let stream = again.new_stream().unwrap();
    let mut buffer = DeviceBuffer::<u32>::zeros(&stream, 1).unwrap();
    let poke = Module::from_ptx(&again, PTX)
        .unwrap()
        .function("poke")
        .unwrap();
    // SAFETY: `poke` stores four bytes at the start of the buffer, which has them.
    unsafe { poke.launch(&stream, config, (&mut buffer,)) }.unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [1]);
}
