//! Arrays and objects: copies, lifetimes, order, and what is refused.

use cuprum::driver::ErrorKind;
use cuprum::prelude::{DeviceBuffer, LaunchConfig};
use cuprum::texsurf::{
    Array, Filter, MipmappedArray, Region, Sampling, Shape, Surface, Texel, Texture,
};
use proptest::prelude::*;

use crate::check::{Check, Failure, Report, Subject, check, ensure, ensure_eq, property};
use crate::runner::{Kernels, equal};

pub(crate) fn checks() -> Vec<Check> {
    vec![
        check!(regions_come_and_go),
        check!(device_memory_comes_and_goes),
        check!(surfaces_move_texels),
        check!(surfaces_outside_clamp_or_read_zero),
        check!(objects_keep_their_memory),
        check!(writes_and_reads_on_two_streams_are_ordered),
        check!(a_level_is_an_array),
        check!(linear_memory_is_read_by_index),
        check!(what_hardware_lacks_is_refused),
    ]
}

const SOURCE: &str = r#"
extern "C" __global__ void fetch(cudaTextureObject_t t, int first, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = tex1Dfetch<int>(t, first + i);
}
extern "C" __global__ void row(cudaTextureObject_t t, float *out) { out[threadIdx.x] = tex2D<float>(t, threadIdx.x, 0); }
extern "C" __global__ void level(cudaTextureObject_t t, float detail, float *out) {
    out[threadIdx.x] = tex2DLod<float>(t, (threadIdx.x + 0.5f) / blockDim.x, 0.5f, detail);
}
extern "C" __global__ void transpose(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) surf2Dwrite(surf2Dread<uchar4>(from, x * 4, y), to, y * 4, x);
}
extern "C" __global__ void outside(cudaSurfaceObject_t s, int width, int *out) {
    int x = (int)threadIdx.x - 4;
    out[2 * threadIdx.x] = surf1Dread<int>(s, x * 4, cudaBoundaryModeClamp);
    out[2 * threadIdx.x + 1] = surf1Dread<int>(s, x * 4, cudaBoundaryModeZero);
    if (x < 0 || x >= width) surf1Dwrite(-1, s, x * 4, cudaBoundaryModeZero);
}
extern "C" __global__ void late(cudaSurfaceObject_t s, float value, int rounds) {
    unsigned k = 1;
    for (int r = 0; r < rounds; ++r) k = k * 1664525u + 1013904223u;
    surf2Dwrite(value + (k == 0), s, threadIdx.x * 4, 0);
}
"#;

fn texels<T: Texel>(count: usize, seed: u8) -> Vec<T> {
    let mut all = vec![T::zeroed(); count];
    for (index, byte) in bytemuck::cast_slice_mut::<T, u8>(&mut all)
        .iter_mut()
        .enumerate()
    {
        *byte = (index as u8).wrapping_mul(37).wrapping_add(seed);
    }
    all
}

fn regions_come_and_go(subject: &Subject) -> Result<Report, Failure> {
    property(
        (
            1usize..20,
            1usize..9,
            1usize..6,
            any::<u8>(),
            [any::<u8>(); 6],
        ),
        |(width, height, depth, seed, cut)| {
            let shape = Shape::d3(width, height, depth);
            let mut model: Vec<[i16; 2]> = texels(shape.len(), seed);
            let array = Array::from_slice(&subject.stream, shape, &model)?;
            let limits = [width, height, depth];
            let origin = std::array::from_fn(|axis| usize::from(cut[axis]) % limits[axis]);
            let extent = std::array::from_fn(|axis| {
                usize::from(cut[axis + 3]) % (limits[axis] - origin[axis] + 1)
            });
            let region = Region { origin, extent };
            let place = |x: usize, y: usize, z: usize| {
                ((origin[2] + z) * height + origin[1] + y) * width + origin[0] + x
            };
            let mut places = Vec::new();
            for z in 0..extent[2] {
                for y in 0..extent[1] {
                    places.extend((0..extent[0]).map(|x| place(x, y, z)));
                }
            }
            let want: Vec<[i16; 2]> = places.iter().map(|&place| model[place]).collect();
            ensure_eq!(array.read_region(region)?, want, "{region:?} of {shape:?}");
            let new: Vec<[i16; 2]> = texels(places.len(), seed ^ 0x5a);
            array.write_region(region, &new)?;
            for (place, texel) in places.into_iter().zip(new) {
                model[place] = texel;
            }
            ensure_eq!(
                array.to_vec()?,
                model,
                "after writing {region:?} of {shape:?}"
            );
            Ok(())
        },
    )
}

fn device_memory_comes_and_goes(subject: &Subject) -> Result<Report, Failure> {
    let stream = &subject.stream;
    property(
        (1usize..40, 1usize..10, any::<u8>()),
        |(width, height, seed)| {
            let shape = Shape::d2(width, height);
            let given: Vec<[u8; 4]> = texels(shape.len(), seed);
            let from = DeviceBuffer::from_slice(stream, &given)?;
            let array = Array::<[u8; 4]>::new(stream, shape)?;
            array.copy_from_device(stream, from.view())?;
            let mut to = DeviceBuffer::<[u8; 4]>::zeros(stream, shape.len())?;
            array.copy_to_device(stream, &mut to.view_mut())?;
            ensure_eq!(to.to_vec()?, given, "{shape:?}");
            Ok(())
        },
    )
}

fn surfaces_move_texels(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SOURCE)?;
    let (width, height) = (50usize, 33usize);
    let given: Vec<[u8; 4]> = texels(width * height, 3);
    let from = Array::from_slice(
        &subject.stream,
        Shape::d2(width, height).with_surfaces(),
        &given,
    )?;
    let to = Array::<[u8; 4]>::new(&subject.stream, Shape::d2(height, width).with_surfaces())?;
    kernels.launch(
        "transpose",
        LaunchConfig::new((4, 5, 1), (16, 8, 1)),
        (
            &Surface::new(&from)?,
            &Surface::new(&to)?,
            width as i32,
            height as i32,
        ),
    )?;
    let want: Vec<[u8; 4]> = (0..width * height)
        .map(|i| given[(i % height) * width + i / height])
        .collect();
    equal("transposed", &to.to_vec()?, &want)
}

fn surfaces_outside_clamp_or_read_zero(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SOURCE)?;
    let given: Vec<i32> = (1..=6).collect();
    let array = Array::from_slice(&subject.stream, Shape::d1(6).with_surfaces(), &given)?;
    let mut out: DeviceBuffer<i32> = kernels.zeros(28)?;
    kernels.launch(
        "outside",
        LaunchConfig::new((1, 1, 1), (14, 1, 1)),
        (&Surface::new(&array)?, 6i32, &mut out),
    )?;
    let want: Vec<i32> = (-4i32..10)
        .flat_map(|x| {
            let zero = if (0..6).contains(&x) { x + 1 } else { 0 };
            [x.clamp(0, 5) + 1, zero]
        })
        .collect();
    let read = equal("read", &out.to_vec()?, &want)?;
    Ok(read.and(equal(
        "nothing outside was written",
        &array.to_vec()?,
        &given,
    )?))
}

fn objects_keep_their_memory(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SOURCE)?;
    let given: Vec<f32> = (0..32).map(|i| i as f32 * 0.5).collect();
    let mut cases = 0;
    for round in 0..8 {
        let array = Array::from_slice(&subject.stream, Shape::d2(32, 1), &given)?;
        let texture = Texture::new(&array, &Sampling::new())?;
        drop(array);
        // Whoever allocates next must not get the array's memory.
        let other = Array::from_slice(&subject.stream, Shape::d2(32, 1), &[-1.0f32; 32])?;
        let mut out: DeviceBuffer<f32> = kernels.zeros(32)?;
        kernels.launch(
            "row",
            LaunchConfig::new((1, 1, 1), (32, 1, 1)),
            (&texture, &mut out),
        )?;
        drop(texture);
        drop(other);
        cases += equal(&format!("round {round}"), &out.to_vec()?, &given)?.cases;
    }
    Ok(Report::exact(cases))
}

fn writes_and_reads_on_two_streams_are_ordered(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SOURCE)?;
    let (writer, reader) = (subject.context.new_stream()?, subject.context.new_stream()?);
    let array = Array::<f32>::new(&subject.stream, Shape::d2(32, 1).with_surfaces())?;
    let surface = Surface::new(&array)?;
    let texture = Texture::new(&array, &Sampling::new())?;
    let (late, row) = (kernels.function("late")?, kernels.function("row")?);
    let shape = LaunchConfig::new((1, 1, 1), (32, 1, 1));
    for round in 0..20 {
        let value = round as f32;
        crate::runner::launch(&late, &writer, shape, (&surface, value, 20_000i32))?;
        let mut out = DeviceBuffer::<f32>::zeros(&reader, 32)?;
        crate::runner::launch(&row, &reader, shape, (&texture, &mut out))?;
        equal(&format!("round {round}"), &out.to_vec()?, &[value; 32])?;
    }
    Ok(Report::exact(20))
}

fn a_level_is_an_array(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SOURCE)?;
    let chain = MipmappedArray::<f32>::new(&subject.stream, Shape::d2(16, 8), 9)?;
    ensure_eq!(chain.levels(), 5, "levels of 16 x 8");
    for level in 0..chain.levels() {
        let part = chain.level(level)?;
        let shape = part.shape();
        ensure_eq!(
            (shape.width(), shape.height()),
            ((16 >> level).max(1), (8 >> level).max(1)),
            "level {level}"
        );
        part.copy_from_slice(&vec![level as f32 + 1.0; shape.len()])?;
    }
    ensure_eq!(
        chain.level(5).err().map(|error| error.kind()),
        Some(ErrorKind::InvalidArgument),
        "a level that is not there"
    );
    let sampling = Sampling::new().normalized(true).mip_filter(Filter::Linear);
    let texture = Texture::of_mipmapped_array(&chain, &sampling)?;
    drop(chain);
    let mut cases = 0;
    for (detail, want) in [
        (0.0f32, 1.0f32),
        (1.0, 2.0),
        (2.5, 3.5),
        (3.75, 4.75),
        (9.0, 5.0),
        (-1.0, 1.0),
    ] {
        let mut out: DeviceBuffer<f32> = kernels.zeros(16)?;
        let shape = LaunchConfig::new((1, 1, 1), (16, 1, 1));
        kernels.launch("level", shape, (&texture, detail, &mut out))?;
        cases += equal(&format!("detail {detail}"), &out.to_vec()?, &[want; 16])?.cases;
    }
    Ok(Report::exact(cases))
}

fn linear_memory_is_read_by_index(subject: &Subject) -> Result<Report, Failure> {
    let kernels = Kernels::new(subject, SOURCE)?;
    let given: Vec<i32> = (0..1000).map(|i| i * i - 70_000).collect();
    let memory = kernels.upload(&given)?;
    let texture = Texture::of_linear(memory.view(), &Sampling::new())?;
    let mut out: DeviceBuffer<i32> = kernels.zeros(1024)?;
    kernels.launch(
        "fetch",
        LaunchConfig::new((8, 1, 1), (128, 1, 1)),
        (&texture, -12i32, &mut out),
    )?;
    let want: Vec<i32> = (-12i32..1012)
        .map(|i| {
            usize::try_from(i)
                .ok()
                .and_then(|i| given.get(i))
                .copied()
                .unwrap_or(0)
        })
        .collect();
    equal("zeros outside", &out.to_vec()?, &want)
}

fn what_hardware_lacks_is_refused(subject: &Subject) -> Result<Report, Failure> {
    let stream = &subject.stream;
    let refused = |what: &str, result: cuprum::driver::Result<()>| match result {
        Err(error) if error.kind() == ErrorKind::InvalidArgument => Ok(()),
        Err(error) => Err(Failure::new(format!("{what}: {error}"))),
        Ok(()) => Err(Failure::new(format!("{what}: was not refused"))),
    };
    let plain = Array::<u8>::new(stream, Shape::d2(4, 4))?;
    let words = Array::<u32>::new(stream, Shape::d2(4, 4))?;
    let linear = Sampling::new().filter(Filter::Linear);
    refused("filtered integers", Texture::new(&plain, &linear).map(drop))?;
    refused("filtered words", Texture::new(&words, &linear).map(drop))?;
    refused(
        "a surface of an array without them",
        Surface::new(&plain).map(drop),
    )?;
    refused(
        "no texels",
        Array::<f32>::new(stream, Shape::d1(0)).map(drop),
    )?;
    refused(
        "a cube of no squares",
        Array::<f32>::new(stream, Shape::layers_cube(4, 0)).map(drop),
    )?;
    refused(
        "texels of another count",
        Array::from_slice(stream, Shape::d2(3, 3), &[0u8; 8]).map(drop),
    )?;
    let region = Region {
        origin: [2, 0, 0],
        extent: [3, 1, 1],
    };
    refused("a region outside", plain.read_region(region).map(drop))?;
    let chain = MipmappedArray::<f32>::new(stream, Shape::d2(8, 8), 2)?;
    refused(
        "texels of a mip chain",
        Texture::of_mipmapped_array(&chain, &Sampling::new()).map(drop),
    )?;
    let memory = DeviceBuffer::<f32>::zeros(stream, 100)?;
    refused(
        "filtered linear memory",
        Texture::of_linear(memory.view(), &linear).map(drop),
    )?;
    let empty = DeviceBuffer::<f32>::zeros(stream, 0)?;
    refused(
        "no memory",
        Texture::of_linear(empty.view(), &Sampling::new()).map(drop),
    )?;
    refused(
        "rows beyond the memory",
        Texture::of_rows(memory.view(), [8, 13, 8], &Sampling::new()).map(drop),
    )?;
    ensure!(!subject.context.is_lost(), "the context was lost");
    Ok(Report::exact(11))
}
