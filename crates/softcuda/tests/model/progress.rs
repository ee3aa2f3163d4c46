//! Blocks and kernels that wait for each other finish, as long as hardware would have room for all of them.

use crate::common::*;
use crate::{SMALL, arg, function, init, launch, launch_cooperative, load, no, ok, zeros};

#[test]
fn decoupled_look_back() {
    init();
    for device in [0, SMALL] {
        let _context = TestContext::on(device);
        let look_back = function(load(), "look_back");
        let blocks = 1500u32;
        let n = 64 * blocks as usize;
        let data: Vec<u32> = (0..n as u32)
            .map(|i| i.wrapping_mul(2_654_435_761) >> 7)
            .collect();
        let expected: Vec<u32> = data
            .iter()
            .scan(0u32, |sum, &x| {
                *sum = sum.wrapping_add(x);
                Some(*sum)
            })
            .collect();
        let (input, out) = (alloc(4 * n), zeros(n));
        upload(input, &data);
        let (state, ticket) = (zeros(2 * blocks as usize), zeros(1));
        launch(
            look_back,
            blocks,
            64,
            CUstream::NULL,
            &[arg(&input), arg(&out), arg(&state), arg(&ticket)],
        );
        assert!(download::<u32>(out, n) == expected);
    }
}

/// What `rounds` leaves in the slots: independent of blocks and barriers.
fn rounds_on_the_host(mut slots: Vec<u32>, rounds: u32) -> Vec<u32> {
    for _ in 0..rounds {
        let n = slots.len();
        slots = (0..n)
            .map(|i| {
                slots[i]
                    .wrapping_add(slots[(i + 1) % n])
                    .wrapping_add(slots[(i + n - 1) % n])
            })
            .collect();
    }
    slots
}

#[test]
fn a_grid_barrier_by_hand_at_the_limit_of_residency() {
    init();
    for device in [0, SMALL] {
        let _context = TestContext::on(device);
        let rounds = function(load(), "rounds");
        let (mut per_sm, mut sms) = (0, 0);
        ok!(cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &mut per_sm,
            rounds,
            64,
            0
        ));
        ok!(cuDeviceGetAttribute(
            &mut sms,
            CUdevice_attribute::MULTIPROCESSOR_COUNT,
            device
        ));
        let most = (per_sm * sms) as u32;
        let first: Vec<u32> = (0..most).map(|i| i * i + 1).collect();
        let (slots, arrived, count) = (zeros(2 * most as usize), zeros(1), 30u32);
        upload(slots, &first);
        let args = [arg(&slots), arg(&arrived), arg(&count)];
        assert_eq!(
            launch_cooperative(rounds, most, 64, &args),
            CUresult::SUCCESS,
            "{:?}",
            last_error()
        );
        assert_eq!(
            download::<u32>(slots, most as usize),
            rounds_on_the_host(first, count)
        );
        assert_eq!(
            launch_cooperative(rounds, most + 1, 64, &args),
            CUresult::COOPERATIVE_LAUNCH_TOO_LARGE
        );
    }
}

#[test]
fn earlier_blocks_may_wait_for_later_ones() {
    init();
    for device in [0, SMALL] {
        let _context = TestContext::on(device);
        let backwards = function(load(), "backwards");
        // 32 blocks are resident on each multiprocessor.
        let flags = zeros(33);
        launch(backwards, 32, 1, CUstream::NULL, &[arg(&flags)]);
        let expected: Vec<u32> = (0..32).map(|i| 32 - i).collect();
        assert_eq!(download::<u32>(flags, 32), expected);
    }
}

/// Both kernels run on the device's own threads, of which there is one.
#[test]
fn kernels_that_wait_for_each_other_share_a_thread() {
    init();
    let _context = TestContext::on(SMALL);
    let module = load();
    let (wait, set) = (function(module, "wait_far"), function(module, "set_far"));
    for blocks in [1, 4] {
        let (flag, done) = (zeros(1), zeros(1));
        let (a, b) = (new_stream(1), new_stream(1));
        launch(wait, blocks, 32, a, &[arg(&flag), arg(&done)]);
        no!(NOT_READY, cuStreamQuery(a));
        launch(set, 1, 32, b, &[arg(&flag)]);
        ok!(cuStreamSynchronize(b));
        ok!(cuStreamSynchronize(a));
        assert_eq!(download::<u32>(done, 1), [1]);
    }
}

#[test]
fn sixteen_kernels_that_wait_in_a_ring() {
    init();
    let _context = TestContext::on(0);
    let module = load();
    let (wait, set) = (function(module, "wait_far"), function(module, "set_far"));
    // Kernel i waits for flag i and sets flag i + 1; somebody sets flag 0 at last.
    let flags = zeros(17);
    for i in (0..16u64).rev() {
        let (mine, next) = (flags + 4 * i, flags + 4 * (i + 1));
        launch(wait, 1, 1, new_stream(1), &[arg(&mine), arg(&next)]);
    }
    launch(set, 1, 1, new_stream(1), &[arg(&flags)]);
    ok!(cuCtxSynchronize());
    assert_eq!(download::<u32>(flags, 17), [1; 17]);
}

#[test]
fn locks_inside_a_warp_and_between_blocks() {
    init();
    let _context = TestContext::on(0);
    let locked = function(load(), "locked");
    let (lock, sum) = (zeros(1), zeros(1));
    launch(locked, 20, 100, CUstream::NULL, &[arg(&lock), arg(&sum)]);
    assert_eq!(download::<u32>(sum, 1), [2000]);
}
