//! One block: its threads in turn, barriers and operations of warps.

use std::sync::Arc;

use cuprum_ptx::{AtomOp, Op, Opcode, ScalarType, ShflMode, VoteMode};

use super::alu::{atomic, cut};
use super::memory::Memory;
use super::program::Program;
use super::thread::{Position, Surroundings, Thread, Wait};
use super::{Launch, Stop};

/// Instructions that a thread may execute before the next one has its turn: spinning threads must not keep others from running.
const SHARE: u64 = 2000;

pub(super) fn run(
    program: &Arc<Program>,
    kernel: usize,
    launch: &Launch<'_>,
    block: [u32; 3],
    memory: &mut Memory,
    budget: &mut u64,
) -> Result<(), Stop> {
    let [x, y, z] = launch.block;
    let mut shared = vec![0; program.shared_bytes as usize + launch.dynamic_shared as usize];
    let mut threads = Vec::new();
    for linear in 0..x * y * z {
        let position = Position {
            thread: [linear % x, linear / x % y, linear / (x * y)],
            block,
            threads: launch.block,
            blocks: launch.grid,
            linear,
            dynamic_shared: launch.dynamic_shared,
        };
        threads.push(Thread::start(program, kernel, launch.params, position)?);
    }
    while threads.iter().any(|thread| thread.wait != Wait::Exited) {
        let mut progress = false;
        for thread in &mut threads {
            let steps = thread.run(
                &mut Surroundings {
                    program,
                    memory,
                    shared: &mut shared,
                },
                SHARE,
            )?;
            progress |= steps > 0;
            *budget = budget.checked_sub(steps).ok_or(Stop::OutOfTime)?;
        }
        progress |= barriers(program, &mut threads)?;
        for warp in threads.chunks_mut(32) {
            progress |= warp_operations(program, warp)?;
        }
        if !progress {
            return Err(Stop::Fault("all threads wait for others".to_owned()));
        }
    }
    Ok(())
}

/// Releases barriers at which all expected threads have arrived.
fn barriers(program: &Program, threads: &mut [Thread]) -> Result<bool, Stop> {
    let mut progress = false;
    for barrier in 0..16 {
        let arrived: Vec<usize> = (0..threads.len())
            .filter(
                |&i| matches!(threads[i].wait, Wait::Barrier { number, .. } if number == barrier),
            )
            .collect();
        let Some(&first) = arrived.first() else {
            continue;
        };
        let alive = threads
            .iter()
            .filter(|thread| thread.wait != Wait::Exited)
            .count();
        let Wait::Barrier { expected, .. } = threads[first].wait else {
            continue;
        };
        if arrived.len() < expected.map_or(alive, |n| (n as usize).min(alive)) {
            continue;
        }
        let truths: Vec<bool> = arrived
            .iter()
            .filter_map(|&i| {
                if let Wait::Barrier { predicate, .. } = threads[i].wait {
                    predicate
                } else {
                    None
                }
            })
            .collect();
        let count = truths.iter().filter(|truth| **truth).count();
        for &i in &arrived {
            let result = threads[i]
                .waiting(program)
                .and_then(|code| code.op.modifiers.atom_op())
                .map(|operation| match operation {
                    AtomOp::Popc => (count as u128, ScalarType::U32),
                    AtomOp::And => ((count == truths.len()).into(), ScalarType::Pred),
                    _ => ((count > 0).into(), ScalarType::Pred),
                });
            threads[i].resume(program, result.as_slice())?;
        }
        progress = true;
    }
    Ok(progress)
}

/// Performs operations for which all lanes of the mask have come.
fn warp_operations(program: &Program, warp: &mut [Thread]) -> Result<bool, Stop> {
    let mut progress = false;
    for lane in 0..warp.len() {
        let Wait::Warp { mask, .. } = warp[lane].wait else {
            continue;
        };
        let Some(code) = warp[lane].waiting(program) else {
            continue;
        };
        let spelling = &code.text;
        let lanes: Vec<usize> = (0..warp.len())
            .filter(|&i| mask >> i & 1 == 1 && warp[i].wait != Wait::Exited)
            .collect();
        if !lanes.contains(&lane) {
            return Err(Stop::Fault(format!(
                "lane {lane} is not in its own mask {mask:#x}"
            )));
        }
        let ready = lanes.iter().all(|&i| {
            matches!(warp[i].wait, Wait::Warp { mask: other, .. } if other == mask)
                && warp[i]
                    .waiting(program)
                    .is_some_and(|code| code.text == *spelling)
        });
        if !ready {
            continue;
        }
        let values: Vec<Vec<u128>> = warp
            .iter()
            .map(|thread| {
                if let Wait::Warp { values, .. } = &thread.wait {
                    values.clone()
                } else {
                    Vec::new()
                }
            })
            .collect();
        for &i in &lanes {
            let results = exchange(&code.op, i, &lanes, &values)?;
            warp[i].resume(program, &results)?;
        }
        progress = true;
    }
    Ok(progress)
}

/// What lane `i` receives.
fn exchange(
    op: &Op,
    i: usize,
    lanes: &[usize],
    values: &[Vec<u128>],
) -> Result<Vec<(u128, ScalarType)>, Stop> {
    let own = &values[i];
    let mask_of = |test: &dyn Fn(usize) -> bool| {
        lanes
            .iter()
            .filter(|&&lane| test(lane))
            .fold(0u128, |mask, lane| mask | 1 << lane)
    };
    Ok(match op.opcode {
        Opcode::Shfl => {
            let (b, c) = (own[1] as i64 & 31, own[2] as i64);
            let (clamp, segment) = (c & 31, c >> 8 & 31);
            let lane = i as i64;
            let most = (lane & segment) | (clamp & !segment);
            let least = lane & segment;
            let (source, inside) = match op.modifiers.shfl_mode() {
                Some(ShflMode::Up) => (lane - b, lane - b >= most),
                Some(ShflMode::Down) => (lane + b, lane + b <= most),
                Some(ShflMode::Bfly) => (lane ^ b, lane ^ b <= most),
                _ => (least | (b & !segment), least | (b & !segment) <= most),
            };
            let source = if inside { source as usize } else { i };
            if !lanes.contains(&source) {
                return Err(Stop::Fault(format!(
                    "lane {i} reads lane {source}, which takes no part"
                )));
            }
            vec![
                (cut(values[source][0], 32), ScalarType::B32),
                (inside.into(), ScalarType::Pred),
            ]
        }
        Opcode::Vote => {
            let ballot = mask_of(&|lane| values[lane][0] & 1 == 1);
            let all = mask_of(&|_| true);
            match op.modifiers.vote_mode() {
                Some(VoteMode::Ballot) => vec![(ballot, ScalarType::B32)],
                Some(VoteMode::All) => vec![((ballot == all).into(), ScalarType::Pred)],
                Some(VoteMode::Any) => vec![((ballot != 0).into(), ScalarType::Pred)],
                _ => vec![((ballot == all || ballot == 0).into(), ScalarType::Pred)],
            }
        }
        Opcode::Match => {
            let bits = op.ty().bits();
            let same = mask_of(&|lane| cut(values[lane][0], bits) == cut(own[0], bits));
            if op.modifiers.vote_mode() == Some(VoteMode::All) {
                let all = same == mask_of(&|_| true);
                vec![
                    (if all { same } else { 0 }, ScalarType::B32),
                    (all.into(), ScalarType::Pred),
                ]
            } else {
                vec![(same, ScalarType::B32)]
            }
        }
        Opcode::Redux => {
            let operation = op
                .modifiers
                .atom_op()
                .expect("decoding requires an operation");
            let mut sum = values[lanes[0]][0];
            for &lane in &lanes[1..] {
                sum = atomic(operation, op.ty(), sum, &values[lane], false)?;
            }
            vec![(sum, op.ty())]
        }
        // bar.warp.sync
        _ => Vec::new(),
    })
}
