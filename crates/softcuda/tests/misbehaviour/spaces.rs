//! State spaces: addresses of one used as those of another, accesses past a window, and writes to what is read only.

use crate::common::*;
use crate::kind::{Kernel, Kind};

use CUresult as C;

const SHARED: &str = ".shared .align 16 .b8 sh[16];";
const LOCAL: &str = ".local .align 16 .b8 lo[16];";
/// The kernel has 16 bytes of local memory, of which a kernel with a variable of 16 bytes has no more.
const CONSTANT: &str = ".const .align 8 .b8 co[24];";

fn somewhere() -> u64 {
    alloc(256)
}

pub(crate) fn kinds() -> Vec<Kind> {
    let mut kinds = Vec::new();
    for (name, body, code, words) in [
        (
            "shared_as_global",
            "mov.u64 %d1, sh; cvta.shared.u64 %d2, %d1; ld.global.u32 %r5, [%d2];",
            C::ILLEGAL_ADDRESS,
            "illegal read of 4 bytes",
        ),
        (
            "local_as_global",
            "mov.u64 %d1, lo; cvta.local.u64 %d2, %d1; st.global.u32 [%d2], 1;",
            C::ILLEGAL_ADDRESS,
            "illegal write of 4 bytes",
        ),
        (
            "a_function_as_data",
            "mov.u64 %d1, callee; ld.u32 %r5, [%d1];",
            C::ILLEGAL_ADDRESS,
            "at the address of a function",
        ),
        (
            "global_as_shared",
            "st.shared.u32 [%a], 1;",
            C::ILLEGAL_ADDRESS,
            "illegal write of 4 bytes of shared memory at offset",
        ),
        (
            "global_as_local",
            "ld.local.u32 %r5, [%a];",
            C::ILLEGAL_ADDRESS,
            "illegal read of 4 bytes of local memory at offset",
        ),
        (
            "global_as_shared_atomic",
            "atom.shared.add.u32 %r5, [%a], 1;",
            C::ILLEGAL_ADDRESS,
            "illegal atomic operation on 4 bytes of shared memory",
        ),
        (
            "past_shared",
            "mov.u64 %d1, sh; add.u64 %d1, %d1, %a; sub.u64 %d1, %d1, %a; ld.shared.u32 %r5, [%d1+16];",
            C::ILLEGAL_ADDRESS,
            "of shared memory at offset 0x10, which has 16 bytes",
        ),
        (
            "before_shared",
            "mov.u32 %r5, sh; sub.u32 %r5, %r5, 4; st.shared.u32 [%r5], 1;",
            C::ILLEGAL_ADDRESS,
            "of shared memory",
        ),
        (
            "past_shared_through_a_generic_address",
            "mov.u64 %d1, sh; cvta.shared.u64 %d2, %d1; st.v2.u32 [%d2+16], {%r5, %r6};",
            C::ILLEGAL_ADDRESS,
            "illegal write of 8 bytes of shared memory at offset 0x10",
        ),
        (
            "straddling_shared",
            "mov.u64 %d1, sh; add.u64 %d1, %d1, 8; ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%d1];",
            C::MISALIGNED_ADDRESS,
            "misaligned read of 16 bytes of shared memory at offset 0x8",
        ),
        (
            "misaligned_shared_atomic",
            "mov.u64 %d1, sh; add.u64 %d1, %d1, 2; atom.shared.exch.b32 %r5, [%d1], 1;",
            C::MISALIGNED_ADDRESS,
            "misaligned atomic operation on 4 bytes of shared memory",
        ),
        (
            "past_local",
            "mov.u64 %d1, lo; add.u64 %d1, %d1, 4096; ld.local.u32 %r5, [%d1];",
            C::ILLEGAL_ADDRESS,
            "of local memory at offset",
        ),
        (
            "past_local_through_a_generic_address",
            "mov.u64 %d1, lo; cvta.local.u64 %d2, %d1; st.u32 [%d2+1048576], 1;",
            C::ILLEGAL_ADDRESS,
            "illegal write of 4 bytes of local memory",
        ),
        (
            "misaligned_local",
            "mov.u64 %d1, lo; add.u64 %d1, %d1, 1; st.local.u16 [%d1], %h1;",
            C::MISALIGNED_ADDRESS,
            "misaligned write of 2 bytes of local memory",
        ),
        (
            "an_atomic_on_local_memory",
            "mov.u64 %d1, lo; cvta.local.u64 %d2, %d1; atom.add.u32 %r5, [%d2], 1;",
            C::INVALID_ADDRESS_SPACE,
            "local memory",
        ),
        (
            "past_the_parameters",
            "mov.u64 %d1, a; cvta.param.u64 %d2, %d1; ld.u64 %d3, [%d2+16];",
            C::ILLEGAL_ADDRESS,
            "of parameter memory at offset 0x10, which has 16 bytes",
        ),
        (
            "a_write_to_the_parameters",
            "mov.u64 %d1, a; cvta.param.u64 %d2, %d1; st.u64 [%d2], %d1;",
            C::INVALID_ADDRESS_SPACE,
            "write of 8 bytes of parameter memory",
        ),
        (
            "past_the_constants",
            "mov.u64 %d1, co; ld.const.u64 %d2, [%d1+24];",
            C::ILLEGAL_ADDRESS,
            "0 bytes past the end of the module constant of 24 bytes",
        ),
        (
            "a_write_to_a_constant",
            "mov.u64 %d1, co; cvta.const.u64 %d2, %d1; st.u32 [%d2], 1;",
            C::ILLEGAL_ADDRESS,
            "which is constant memory",
        ),
        (
            "a_global_write_to_a_constant",
            "mov.u64 %d1, co; st.global.u64 [%d1+8], %d1;",
            C::ILLEGAL_ADDRESS,
            "offset 8 in the module constant of 24 bytes",
        ),
        (
            "a_direct_write_to_a_constant",
            "st.global.u32 [co+4], 1;",
            C::ILLEGAL_ADDRESS,
            "which is constant memory",
        ),
        (
            "an_atomic_on_a_constant",
            "mov.u64 %d1, co; atom.global.add.u32 %r5, [%d1], 1;",
            C::ILLEGAL_ADDRESS,
            "illegal atomic operation on 4 bytes of global memory",
        ),
        (
            "no_window_at_all",
            "mov.u64 %d1, 0x7000000000000000; ld.u32 %r5, [%d1];",
            C::ILLEGAL_ADDRESS,
            "0x7000000000000000",
        ),
    ] {
        let kernel = Kernel::new(format!("spaces::{name}"), body)
            .module(format!("{CONSTANT}\n.func callee() {{ ret; }}"))
            .declare(&format!("{SHARED}\n{LOCAL}"))
            .at(somewhere)
            .fails(code, &[words]);
        kinds.push(kernel.into());
    }
    let dynamic = Kernel::new(
        "spaces::past_dynamic_shared",
        "mov.u32 %r5, dyn; add.u32 %r5, %r5, 96; st.shared.u32 [%r5], 1;",
    );
    kinds.push(
        dynamic
            .module(".extern .shared .align 16 .b8 dyn[];")
            .shared(96)
            .fails(
                C::ILLEGAL_ADDRESS,
                &["of shared memory at offset 0x60, which has 96 bytes"],
            )
            .into(),
    );
    // Local memory is each thread's own: another thread's address means the reader's own bytes there.
    let own = Kernel::new(
        "spaces::a_local_address_of_another_thread",
        "mov.u32 %r1, %tid.x; mov.u64 %d1, lo; cvta.local.u64 %d2, %d1; add.u32 %r2, %r1, 100; st.u32 [%d2], %r2;\n\
         setp.ne.u32 %p1, %r1, 3; @%p1 bra WAIT; st.shared.u64 [sh], %d2;\n\
         WAIT: bar.sync 0; setp.ne.u32 %p1, %r1, 0; @%p1 bra DONE; ld.shared.u64 %d3, [sh]; ld.u32 %r4, [%d3];\n\
         st.global.u32 [%q], %r4;",
    );
    kinds.push(
        own.declare(&format!("{SHARED}\n{LOCAL}"))
            .everybody(1, 32)
            .ends_well(&[100])
            .into(),
    );
    kinds
}
