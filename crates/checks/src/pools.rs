//! Memory pools: limits, lifetimes, and that a block is never used again before its last use has passed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cuprum::driver::{Allocator, Context, DirectAllocator, ErrorKind, LastUses, Module};
use cuprum::mempool::{PinnedPool, Policy, Pool, PoolBuilder, alloc_size, bin_number};
use cuprum::prelude::{DeviceBuffer, Function, GpuArray, LaunchConfig, Operand as _, Stream};

use crate::check::{Check, Failure, Report, Subject, check, ensure, ensure_eq};
use crate::data::Random;
use crate::runner::{Kernels, equal, launch};

/// The longest random delay of work on the software device, microseconds.
const JITTER: &[(&str, &str)] = &[("CUPRUM_SOFT_JITTER", "300")];

/// A device with little memory.
const SMALL: &[(&str, &str)] = &[("CUPRUM_SOFT_MEMORY", "64M")];

pub(crate) fn checks() -> Vec<Check> {
    vec![
        check!(limits_count_what_is_held),
        check!(large_sizes_do_not_wrap),
        check!(memory_is_reused_and_returned),
        check!(arrays_come_from_the_pool_of_their_context, Alone),
        check!(results_come_from_the_pool_of_their_operands, Alone),
        check!(arrays_get_the_memory_that_pools_hold, SoftwareOnly).with_variables(SMALL),
        check!(modules_get_the_memory_that_pools_hold, SoftwareOnly).with_variables(SMALL),
        check!(anything_may_be_dropped_first, Alone),
        check!(who_runs_out_of_memory_gets_what_pools_hold, Alone),
        check!(a_reader_sees_the_old_contents_whoever_comes_next),
        check!(a_reader_sees_the_old_contents_under_delays, SoftwareOnly).with_variables(JITTER),
        check!(patterns_of_many_streams_survive),
        check!(patterns_of_many_streams_survive_delays, SoftwareOnly).with_variables(JITTER),
        check!(page_locked_memory_is_reused_after_its_copies),
        check!(
            page_locked_memory_is_reused_after_delayed_copies,
            SoftwareOnly
        )
        .with_variables(JITTER),
        check!(threads_share_a_pool),
        check!(pools_are_quiet_after_a_fault, Faults),
    ]
}

const POLICIES: [Policy; 2] = [Policy::Coalescing, Policy::Bins];

const SOURCE: &str = r#"
// Takes its time, and then copies.
extern "C" __global__ void late_copy(const unsigned *x, unsigned *y, int n, int rounds)
{
    unsigned k = 1;
    for (int r = 0; r < rounds; ++r) k = k * 1664525u + 1013904223u;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + (k == 0);
}
extern "C" __global__ void write(unsigned *x, int n, unsigned seed)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = seed * 2654435761u + i;
}
// Counts the elements that are not what `write` has written.
extern "C" __global__ void judge(const unsigned *x, int n, unsigned seed, unsigned *wrong)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] != seed * 2654435761u + i) atomicAdd(wrong, 1u);
}
extern "C" __global__ void guilty(unsigned *p) { *p = 1; }
"#;

/// A limit counts what is held, gives it back for what fits then, and an error names the numbers (PR-25).
fn limits_count_what_is_held(subject: &Subject) -> Result<Report, Failure> {
    let stream = &subject.stream;
    for policy in POLICIES {
        // Blocks of bins are up to a sixteenth larger than what is asked for.
        let limit = if policy == Policy::Bins { 1088 } else { 1024 } << 10;
        let pool = Pool::builder()
            .policy(policy)
            .limit(limit)
            .build(&subject.context)?;
        drop(pool.zeros::<u8>(stream, 512 << 10)?);
        let most = pool.zeros::<u8>(stream, 768 << 10)?;
        ensure!(
            pool.managed_bytes() <= limit,
            "{policy:?}: {}",
            pool.report()
        );
        let error = pool
            .allocate(stream, 2048 << 10)
            .err()
            .ok_or_else(|| Failure::new("a pool went past its limit"))?;
        ensure_eq!(error.kind(), ErrorKind::OutOfMemory, "kind of: {error}");
        let used = pool.statistics().active_block_bytes;
        for number in [2048 << 10, used, limit] {
            ensure!(
                error.to_string().contains(&number.to_string()),
                "{number} is not in: {error}"
            );
        }
        drop(most);
        pool.free_held();
        ensure_eq!(
            (pool.held_bytes(), pool.managed_bytes()),
            (0, 0),
            "{policy:?}, held and managed after everything was given back"
        );
        // It is usable as before.
        ensure_eq!(
            pool.zeros::<u8>(stream, 1000 << 10)?.to_vec()?,
            vec![0; 1000 << 10],
            "contents"
        );
    }
    Ok(Report::exact(14))
}

/// Sizes around 32 bits and powers of two get blocks that hold them, with the waste that is documented (PR-26).
fn large_sizes_do_not_wrap(_subject: &Subject) -> Result<Report, Failure> {
    let sizes = [
        1,
        255,
        256,
        1 << 24,
        u64::from(u32::MAX),
        1 << 32,
        (1 << 32) + 1,
        1 << 40,
    ];
    for bytes in sizes {
        let bin = bin_number(bytes);
        let block = alloc_size(bin).ok_or_else(|| Failure::new("a bin of a size has none"))?;
        ensure!(block >= bytes, "{bytes} bytes in a block of {block}");
        ensure_eq!(bin_number(block), bin, "bin of the block of {bytes} bytes");
        ensure!(
            16 * (block - bytes) < bytes + 16,
            "{bytes} bytes in {block}"
        );
        ensure_eq!(
            Policy::Bins.block_bytes(bytes),
            Some(block),
            "block of {bytes}"
        );
        let block = Policy::Coalescing.block_bytes(bytes).unwrap_or(0);
        ensure!(
            block >= bytes && block - bytes < 256,
            "{bytes} bytes in a block of {block}"
        );
    }
    ensure_eq!(
        Policy::Coalescing.block_bytes(1 << 24),
        Some(1 << 24),
        "a power of two"
    );
    Ok(Report::exact(5 * sizes.len() as u64 + 1))
}

/// What is given back is lent again; what is not needed goes back to the device.
fn memory_is_reused_and_returned(subject: &Subject) -> Result<Report, Failure> {
    let stream = &subject.stream;
    for policy in POLICIES {
        let pool = Pool::builder().policy(policy).build(&subject.context)?;
        let first = pool.from_slice(stream, &[7u32; 1000])?;
        let address = first.address();
        ensure!(address.is_multiple_of(256), "address {address:#x}");
        ensure_eq!(first.try_clone()?.to_vec()?, vec![7; 1000], "a copy");
        ensure_eq!(
            pool.statistics().allocations,
            2,
            "a copy comes from the pool"
        );
        drop(first);
        let again = pool.zeros::<u32>(stream, 1000)?;
        ensure_eq!(again.address(), address, "{policy:?}: address of the next");
        ensure_eq!(again.to_vec()?, vec![0; 1000], "contents of the next");
        pool.stop_holding();
        again.close()?;
        ensure_eq!(
            (pool.held_blocks(), pool.managed_bytes()),
            (0, 0),
            "after a pool has stopped"
        );
        drop(pool.zeros::<u32>(stream, 10)?);
        ensure_eq!(pool.held_blocks(), 0, "held by a pool that has stopped");
    }
    Ok(Report::exact(14))
}

/// Copies, temporaries and results of arrays come from the pool of their context; none comes from elsewhere (PR-27).
fn arrays_come_from_the_pool_of_their_context(subject: &Subject) -> Result<Report, Failure> {
    let (context, stream) = (&subject.context, &subject.stream);
    for policy in POLICIES {
        let pool = Pool::builder().policy(policy).build(context)?;
        context.set_allocator(Some(Arc::new(pool.clone())));
        let work = || -> Result<(), Failure> {
            let a = GpuArray::from_slice(stream, &[1.0f32, 2.0, 3.0], [3])?;
            let b = GpuArray::from_slice(stream, &[10.0f32, 20.0, 30.0], [3])?;
            let sum = (&a + &b).eval()?;
            equal("a + b", &sum.to_vec()?, &[11.0, 22.0, 33.0])?;
            ensure_eq!(pool.active_blocks(), 3, "arrays in the pool");
            drop((a, b));
            equal("the sum afterwards", &sum.to_vec()?, &[11.0, 22.0, 33.0])?;
            Ok(())
        };
        work()?;
        let grown = pool.statistics().driver_allocations;
        context.synchronize()?;
        let before = context.memory_info()?;
        for _ in 0..20 {
            work()?;
        }
        context.set_allocator(None);
        ensure_eq!(
            pool.statistics().driver_allocations,
            grown,
            "{policy:?}: allocations of the driver after the first round"
        );
        if subject.device.is_software() {
            ensure_eq!(context.memory_info()?, before, "free memory");
        }
        ensure_eq!(pool.active_blocks(), 0, "arrays left in the pool");
    }
    Ok(Report::exact(44))
}

/// The driver's memory, with a count.
#[derive(Debug, Default)]
struct Counted(AtomicU64);

// SAFETY: all is left to `DirectAllocator`.
unsafe impl Allocator for Counted {
    fn allocate(&self, stream: &Stream, bytes: usize) -> cuprum::driver::Result<u64> {
        self.0.fetch_add(1, Ordering::Relaxed);
        DirectAllocator.allocate(stream, bytes)
    }

    unsafe fn release(
        &self,
        stream: &Stream,
        address: u64,
        bytes: usize,
        uses: LastUses<'_>,
    ) -> cuprum::driver::Result<()> {
        // SAFETY: the caller's promise is this one.
        unsafe { DirectAllocator.release(stream, address, bytes, uses) }
    }
}

/// What is computed from arrays in a pool's memory is in the pool's memory, whatever the context's allocator (PR-27).
fn results_come_from_the_pool_of_their_operands(subject: &Subject) -> Result<Report, Failure> {
    let (context, stream) = (&subject.context, &subject.stream);
    let counted = Arc::new(Counted::default());
    context.set_allocator(Some(Arc::clone(&counted) as Arc<dyn Allocator>));
    let work = || -> Result<(), Failure> {
        for policy in POLICIES {
            let pool = Pool::builder().policy(policy).build(context)?;
            let x: Vec<f32> = (0..10_000_u16).map(f32::from).collect();
            let a = GpuArray::from_buffer(pool.from_slice(stream, &x)?, [100, 100])?;
            let before = pool.statistics().allocations;
            let copy = a.try_clone()?;
            let doubled = (&a + &copy).eval()?;
            let lent = pool.statistics().allocations - before;
            ensure_eq!(lent, 2, "{policy:?}: a copy and a sum from the pool");
            let double: Vec<f32> = x.iter().map(|x| x + x).collect();
            equal("a + a", &doubled.to_vec()?, &double)?;
            // A reduction in two passes, and a result of another type.
            ensure_eq!(doubled.sum()?, 99_990_000.0, "the sum");
            let narrow = doubled.cast::<i32>().eval_on(&context.new_stream()?)?;
            equal("whole", &narrow.to_vec()?[..3], &[0, 2, 4])?;
            ensure!(
                pool.statistics().allocations - before >= 4,
                "{}",
                pool.report()
            );
            ensure_eq!(counted.0.load(Ordering::Relaxed), 0, "direct allocations");
        }
        // And the other way round: what is not of a pool stays outside.
        let b = GpuArray::<f32>::zeros(stream, [10])?;
        drop((&b + &b).eval()?);
        ensure_eq!(counted.0.load(Ordering::Relaxed), 2, "direct allocations");
        Ok(())
    };
    let outcome = work();
    context.set_allocator(None);
    outcome.map(|()| Report::exact(12))
}

/// Arrays, temporaries and results find the memory that a pool holds for later.
fn arrays_get_the_memory_that_pools_hold(subject: &Subject) -> Result<Report, Failure> {
    let (context, stream) = (&subject.context, &subject.stream);
    for policy in POLICIES {
        let pool = Pool::builder().policy(policy).build(context)?;
        let free = usize::try_from(context.memory_info()?.free)?;
        // Beside the pool's there is room for one array of this size, not for two.
        let n = free / 100 * 28 / size_of::<f32>();
        let hold = || -> Result<(), Failure> {
            drop(pool.allocate(stream, free / 100 * 55)?);
            ensure!(
                pool.held_bytes() >= (free / 100 * 55) as u64,
                "{}",
                pool.report()
            );
            Ok(())
        };
        hold()?;
        let one = GpuArray::full(stream, [n], 1.0f32)?;
        ensure!(pool.held_bytes() > 0, "it was asked too early");
        let two = GpuArray::full(stream, [n], 2.0f32)?;
        ensure_eq!(pool.held_bytes(), 0, "held after an array took it");
        drop(two);
        context.synchronize()?;
        hold()?;
        let three = (&one + 2.0).eval()?;
        ensure_eq!(pool.held_bytes(), 0, "held after a result took it");
        ensure_eq!(
            (three.min()?, three.max()?),
            (3.0, 3.0),
            "the result's elements"
        );
        drop((one, three, pool));
        context.synchronize()?;
    }
    Ok(Report::exact(8))
}

/// A module with a large variable finds the memory that a pool holds for later.
fn modules_get_the_memory_that_pools_hold(subject: &Subject) -> Result<Report, Failure> {
    let (context, stream) = (&subject.context, &subject.stream);
    for policy in POLICIES {
        let pool = Pool::builder().policy(policy).build(context)?;
        let free = usize::try_from(context.memory_info()?.free)?;
        drop(pool.allocate(stream, free / 100 * 60)?);
        let ptx = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .align 8 .b8 large[{}];\n",
            free / 100 * 60
        );
        let module = Module::from_ptx(context, &ptx)?;
        ensure_eq!(pool.held_bytes(), 0, "held after a module took it");
        let large = module.global::<u8>("large")?;
        ensure_eq!(large.len(), free / 100 * 60, "the variable's bytes");
        drop((large, module, pool));
        context.synchronize()?;
        context.collect()?;
    }
    Ok(Report::exact(4))
}

/// Pool, array and context are dropped in every order, and nothing is lost (PR-27).
fn anything_may_be_dropped_first(subject: &Subject) -> Result<Report, Failure> {
    let context = &subject.context;
    context.synchronize()?;
    context.collect()?;
    let before = context.memory_info()?;
    let orders = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    for policy in POLICIES {
        for order in orders {
            let pool = Pool::builder().policy(policy).build(context)?;
            context.set_allocator(Some(Arc::new(pool.clone())));
            let stream = context.new_stream()?;
            let array = GpuArray::from_slice(&stream, &[1u32, 2, 3], [3])?;
            // On the stream, still running when everything goes.
            let sum = (&array + &array).eval()?;
            context.set_allocator(None);
            let (mut pool, mut arrays, mut handles) = (
                Some(pool),
                Some((array, sum)),
                Some((context.clone(), stream)),
            );
            for which in order {
                match which {
                    0 => drop(pool.take()),
                    1 => drop(arrays.take()),
                    _ => drop(handles.take()),
                }
            }
        }
    }
    context.synchronize()?;
    context.collect()?;
    if subject.device.is_software() {
        ensure_eq!(context.memory_info()?.free, before.free, "free memory");
    }
    Ok(Report::exact(12))
}

/// An allocation past the pool finds the memory that the pool holds, and the pool what others hold.
fn who_runs_out_of_memory_gets_what_pools_hold(subject: &Subject) -> Result<Report, Failure> {
    let (context, stream) = (&subject.context, &subject.stream);
    context.synchronize()?;
    for policy in POLICIES {
        let pool = Pool::builder().policy(policy).build(context)?;
        let other = Pool::builder().policy(policy).build(context)?;
        // Two of these do not fit, even with the rounding of bins.
        let most = usize::try_from(context.memory_info()?.free)? / 100 * 60;
        let live = pool.from_slice(stream, &[5u32; 100])?;
        drop(pool.allocate(stream, most)?);
        ensure!(pool.held_bytes() >= most as u64, "{}", pool.report());
        context.set_allocator(Some(Arc::new(DirectAllocator)));
        // SAFETY: nothing reads the buffer.
        let direct = unsafe { DeviceBuffer::<u8>::uninit(stream, most) };
        context.set_allocator(None);
        drop(direct?);
        ensure!(pool.held_bytes() < most as u64, "{}", pool.report());
        // Parked memory and another pool's are found as well.
        drop(other.allocate(stream, most)?);
        drop(pool.allocate(stream, most)?);
        ensure!(other.held_bytes() < most as u64, "{}", other.report());
        ensure_eq!(live.to_vec()?, vec![5; 100], "what was lent all the time");
        // More than there is is an error all the same, and pools go on.
        let total = usize::try_from(context.memory_info()?.total)?;
        let error = pool
            .allocate(stream, total)
            .err()
            .ok_or_else(|| Failure::new("all memory of the device was lent"))?;
        ensure_eq!(error.kind(), ErrorKind::OutOfMemory, "kind of: {error}");
        drop(pool.zeros::<u8>(stream, 1 << 20)?);
        drop((live, pool, other));
        context.synchronize()?;
    }
    Ok(Report::exact(10))
}

/// A slow reader on one stream, and the memory overwritten on another at once: the reader sees what was there (PR-28).
fn a_reader_sees_the_old_contents_whoever_comes_next(subject: &Subject) -> Result<Report, Failure> {
    let mut report = Report::default();
    let mut reused = 0;
    for policy in POLICIES {
        // Where the next owner may get other memory, and where there is none but that of the reader.
        for builder in [
            Pool::builder(),
            Pool::builder().internal_dependencies(false),
            Pool::builder().limit(16 << 10),
        ] {
            let (runs, taken) = readers(subject, builder.policy(policy), 50)?;
            report = report.and(runs);
            reused += taken;
        }
    }
    ensure!(reused > 0, "no memory was ever reused");
    Ok(report)
}

fn a_reader_sees_the_old_contents_under_delays(subject: &Subject) -> Result<Report, Failure> {
    a_reader_sees_the_old_contents_whoever_comes_next(subject)
}

/// What was looked at, and how often the next owner got the memory of the reader.
fn readers(subject: &Subject, builder: PoolBuilder, runs: u32) -> Result<(Report, u32), Failure> {
    let kernels = Kernels::new(subject, SOURCE)?;
    let (late_copy, write) = (kernels.function("late_copy")?, kernels.function("write")?);
    let (a, b) = (subject.context.new_stream()?, subject.context.new_stream()?);
    let pool = builder.build(&subject.context)?;
    let n = 3000usize;
    let config = LaunchConfig::for_elements(n);
    let mut copy = DeviceBuffer::<u32>::zeros(&a, n)?;
    let mut reused = 0u32;
    for run in 0..runs {
        let old: Vec<u32> = (0..n as u32).map(|i| i ^ run).collect();
        let x = pool.from_slice(&a, &old)?;
        let address = x.address();
        launch(&late_copy, &a, config, (&x, &mut copy, n as i32, 20_000i32))?;
        drop(x);
        // SAFETY: the kernel below writes every element, and nothing reads before.
        let mut y = unsafe { pool.uninit::<u32>(&b, n) }?;
        reused += u32::from(y.address() == address);
        launch(&write, &b, config, (&mut y, n as i32, run))?;
        equal(
            &format!("run {run}, what the reader saw"),
            &copy.to_vec()?,
            &old,
        )?;
        let want: Vec<u32> = (0..n as u32)
            .map(|i| run.wrapping_mul(2_654_435_761).wrapping_add(i))
            .collect();
        equal(
            &format!("run {run}, the next contents"),
            &y.to_vec()?,
            &want,
        )?;
    }
    Ok((Report::exact(u64::from(runs)), reused))
}

/// Random sizes on several streams: each block is filled with a pattern and judged at the end of its life, by kernels
/// that still wait in their queues when the block goes to its next owner.
fn patterns_of_many_streams_survive(subject: &Subject) -> Result<Report, Failure> {
    let mut report = Report::default();
    for policy in POLICIES {
        for (seed, builder) in [
            Pool::builder(),
            Pool::builder().internal_dependencies(false),
            Pool::builder().limit(24 << 20),
        ]
        .into_iter()
        .enumerate()
        {
            report = report.and(patterns(subject, builder.policy(policy), seed as u64)?);
        }
    }
    Ok(report)
}

fn patterns_of_many_streams_survive_delays(subject: &Subject) -> Result<Report, Failure> {
    patterns_of_many_streams_survive(subject)
}

/// A block with its pattern.
struct Patterned {
    buffer: DeviceBuffer<u32>,
    seed: u32,
    stream: usize,
}

fn patterns(subject: &Subject, builder: PoolBuilder, seed: u64) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SOURCE)?;
    let (write, judge) = (kernels.function("write")?, kernels.function("judge")?);
    let mut streams = (0..4)
        .map(|_| subject.context.new_stream())
        .collect::<Result<Vec<_>, _>>()?;
    let pool = builder.build(&subject.context)?;
    let mut wrong = streams
        .iter()
        .map(|stream| DeviceBuffer::<u32>::zeros(stream, 1))
        .collect::<Result<Vec<_>, _>>()?;
    let mut random = Random::new(seed + 1);
    let mut live: Vec<Patterned> = Vec::new();
    let mut judged = 0u64;
    let mut end =
        |one: Patterned, streams: &[Stream], random: &mut Random| -> Result<(), Failure> {
            // Mostly on its own stream; sometimes on another, which then comes after the first by itself.
            let stream = if random.below(5) == 0 {
                random.below(4) as usize
            } else {
                one.stream
            };
            let n = one.buffer.len();
            launch(
                &judge,
                &streams[stream],
                LaunchConfig::for_elements(n),
                (&one.buffer, n as i32, one.seed, &mut wrong[stream]),
            )?;
            judged += n as u64;
            Ok(())
        };
    for step in 0..400u32 {
        if live.len() < 12 && random.below(5) < 3 {
            let most = [300, 5000, 300_000][random.below(3) as usize];
            let n = 1 + random.below(most) as usize;
            let stream = random.below(4) as usize;
            // SAFETY: the kernel below writes every element, and nothing reads before.
            let mut buffer = unsafe { pool.uninit::<u32>(&streams[stream], n) }?;
            launch(
                &write,
                &streams[stream],
                LaunchConfig::for_elements(n),
                (&mut buffer, n as i32, step),
            )?;
            live.push(Patterned {
                buffer,
                seed: step,
                stream,
            });
        } else if !live.is_empty() {
            let which = random.below(live.len() as u64) as usize;
            end(live.swap_remove(which), &streams, &mut random)?;
        }
        match random.below(40) {
            // What waits for its last use goes back to the driver after it.
            0 => pool.free_held(),
            // A stream ends, with work in its queue, and another takes its place.
            1 => streams[random.below(4) as usize] = subject.context.new_stream()?,
            _ => {}
        }
    }
    for one in live {
        end(one, &streams, &mut random)?;
    }
    for (stream, wrong) in wrong.iter().enumerate() {
        ensure_eq!(
            wrong.to_vec()?,
            vec![0],
            "elements with wrong contents, judged on stream {stream}; {}",
            pool.report()
        );
    }
    ensure!(
        pool.statistics().driver_allocations < pool.statistics().allocations,
        "nothing was reused: {}",
        pool.report()
    );
    Ok(Report::exact(judged))
}

/// Page-locked memory goes to its next owner after the copies that read it.
fn page_locked_memory_is_reused_after_its_copies(subject: &Subject) -> Result<Report, Failure> {
    let context = &subject.context;
    let streams = [context.new_stream()?, context.new_stream()?];
    for policy in POLICIES {
        for builder in [PinnedPool::builder(), PinnedPool::builder().limit(1 << 20)] {
            let pool = builder.policy(policy).build_pinned(context)?;
            let n = 20_000usize;
            let mut targets = streams
                .iter()
                .map(|stream| DeviceBuffer::<u32>::zeros(stream, n))
                .collect::<Result<Vec<_>, _>>()?;
            for run in 0..40u32 {
                for (number, (stream, target)) in streams.iter().zip(&mut targets).enumerate() {
                    let host = pool.from_slice(&vec![run * 2 + number as u32; n])?;
                    target.copy_from_pinned(stream, &host)?;
                }
                for (number, target) in targets.iter().enumerate() {
                    if run % 4 == number as u32 {
                        equal(
                            &format!("run {run}, stream {number}"),
                            &target.to_vec()?,
                            &vec![run * 2 + number as u32; n],
                        )?;
                    }
                }
            }
            context.synchronize()?;
            let statistics = pool.statistics();
            ensure!(
                statistics.driver_allocations < 20,
                "page-locked memory is not reused: {}",
                pool.report()
            );
            ensure_eq!(statistics.active_blocks, 0, "page-locked blocks left");
        }
    }
    Ok(Report::exact(4 * 20))
}

fn page_locked_memory_is_reused_after_delayed_copies(subject: &Subject) -> Result<Report, Failure> {
    page_locked_memory_is_reused_after_its_copies(subject)
}

/// Eight threads with a stream each on one pool, and blocks that wander between them.
fn threads_share_a_pool(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SOURCE)?;
    let write = kernels.function("write")?;
    for policy in POLICIES {
        let pool = Pool::builder().policy(policy).build(&subject.context)?;
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8u32)
                .map(|seed| {
                    let (context, pool, write) = (&subject.context, &pool, &write);
                    scope.spawn(move || work(context, pool, write, seed))
                })
                .collect();
            threads.into_iter().try_for_each(|thread| {
                thread
                    .join()
                    .map_err(|_| Failure::new("a thread panicked"))?
            })
        })?;
        ensure_eq!(pool.active_blocks(), 0, "{policy:?}: blocks left");
    }
    Ok(Report::exact(2 * 8 * 30))
}

fn work(context: &Context, pool: &Pool, write: &Function, seed: u32) -> Result<(), Failure> {
    let stream: Stream = context.new_stream()?;
    let mut random = Random::new(u64::from(seed) + 1);
    let mut live: Vec<(DeviceBuffer<u32>, u32)> = Vec::new();
    for round in 0..30u32 {
        let n = 1 + random.below(2000) as usize;
        let mark = seed * 100 + round;
        let mut buffer = pool.zeros::<u32>(&stream, n)?;
        launch(
            write,
            &stream,
            LaunchConfig::for_elements(n),
            (&mut buffer, n as i32, mark),
        )?;
        live.push((buffer, mark));
        if live.len() > 4 {
            let (buffer, mark) = live.swap_remove(random.below(4) as usize);
            let want: Vec<u32> = (0..buffer.len() as u32)
                .map(|i| mark.wrapping_mul(2_654_435_761).wrapping_add(i))
                .collect();
            equal("a thread's own block", &buffer.to_vec()?, &want)?;
        }
    }
    Ok(())
}

/// After device code has failed, blocks, pools and the context are dropped without a word (PR-33).
fn pools_are_quiet_after_a_fault(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SOURCE)?;
    let (context, stream) = (&subject.context, &subject.stream);
    let pool = Pool::new(context)?;
    let pinned = PinnedPool::new(context)?;
    context.set_allocator(Some(Arc::new(pool.clone())));
    let live = [
        DeviceBuffer::<u32>::zeros(stream, 100)?,
        pool.zeros::<u32>(stream, 2 << 20)?,
    ];
    let host = pinned.from_slice(&[1u32; 100])?;
    drop(pool.zeros::<u32>(stream, 100)?);
    let guilty = kernels.function("guilty")?;
    launch(&guilty, stream, LaunchConfig::grid_1d(1, 1), (0u64,))?;
    let error = stream
        .synchronize()
        .err()
        .ok_or_else(|| Failure::new("a store to null succeeded"))?;
    ensure!(error.is_fatal(), "{error} is not fatal");
    drop(live);
    drop(host);
    pool.free_held();
    context.set_allocator(None);
    drop((pool, pinned));
    ensure!(context.is_lost(), "the context does not know");
    Ok(Report::exact(2))
}
