//! Arrays against host arithmetic, and the cases of public reports about such libraries (named PR-..).

mod common;

use common::{array, stream};
use cuprum_gpuarray::prelude::*;
use cuprum_gpuarray::{Element, ErrorKind, Result, Shape};

fn iota(count: i32) -> Vec<i32> {
    (0..count).collect()
}

#[test]
fn to_and_from_the_host() -> Result<()> {
    fn one<T: Element>(values: [T; 6]) -> Result<()> {
        let mut x = array(&values, (2, 3));
        assert_eq!(x.to_vec()?, values);
        let mut back = [T::default(); 6];
        x.copy_to_slice(&mut back)?;
        assert_eq!(back, values);
        assert_eq!(x.slice(s![1, 2]).item()?, values[5]);
        x.copy_from_slice(&[values[0]; 6])?;
        assert_eq!(x.to_vec()?, [values[0]; 6]);
        assert_eq!(
            x.copy_to_slice(&mut back[1..])
                .expect_err("5 elements")
                .kind(),
            ErrorKind::Shape
        );
        assert_eq!(
            x.copy_from_slice(&values[1..])
                .expect_err("5 elements")
                .kind(),
            ErrorKind::Shape
        );
        assert_eq!(
            GpuArray::from_slice(&stream(), &values, 5)
                .expect_err("6 elements")
                .kind(),
            ErrorKind::Shape
        );
        assert_eq!(x.item().expect_err("6 elements").kind(), ErrorKind::Shape);
        let buffer = x.into_buffer();
        assert_eq!(GpuArray::from_buffer(buffer, (3, 2))?.shape(), [3, 2]);
        Ok(())
    }
    one([
        1.5f32,
        -0.0,
        f32::MAX,
        f32::MIN_POSITIVE,
        f32::INFINITY,
        7.0,
    ])?;
    one([
        1.5f64,
        -0.0,
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::INFINITY,
        7.0,
    ])?;
    one([1, -1, i32::MIN, i32::MAX, 0, 6])?;
    one([1u32, 2, u32::MAX, 4, 0, 6])?;
    one([1i64, -1, i64::MIN, i64::MAX, 0, 6])?;
    one([1u64, 2, u64::MAX, 4, 0, 6])
}

#[test]
fn construction() -> Result<()> {
    let stream = &stream();
    assert_eq!(GpuArray::<f64>::zeros(stream, (2, 2))?.to_vec()?, [0.0; 4]);
    assert_eq!(
        GpuArray::full(stream, [3], u64::MAX)?.to_vec()?,
        [u64::MAX; 3]
    );
    assert_eq!(GpuArray::arange(stream, 0, 10, 3)?.to_vec()?, [0, 3, 6, 9]);
    assert_eq!(GpuArray::arange(stream, 10, 0, -4)?.to_vec()?, [10, 6, 2]);
    assert_eq!(GpuArray::arange(stream, 1u64, 1, 1)?.len(), 0);
    assert_eq!(GpuArray::arange(stream, 5, 2, 1)?.len(), 0);
    assert_eq!(
        GpuArray::arange(stream, i32::MIN, i32::MAX, i32::MAX)?.to_vec()?,
        [i32::MIN, -1, i32::MAX - 1]
    );
    assert_eq!(
        GpuArray::arange(stream, 0.0f32, 1.0, 0.25)?.to_vec()?,
        [0.0, 0.25, 0.5, 0.75]
    );
    assert!(GpuArray::arange(stream, 0, 1, 0).is_err());
    assert!(GpuArray::arange(stream, 0.0, f64::INFINITY, 1.0).is_err());
    assert_eq!(
        GpuArray::linspace(stream, 0.0f32, 9.0, 10)?.to_vec()?,
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
    );
    assert_eq!(GpuArray::linspace(stream, 1.0f64, 2.0, 1)?.to_vec()?, [1.0]);
    assert_eq!(GpuArray::linspace(stream, 1.0f64, 2.0, 0)?.len(), 0);
    assert_eq!(
        GpuArray::linspace(stream, 0.0, 0.1, 4)?
            .slice(s![-1])
            .item()?,
        0.1
    );
    let error = GpuArray::<f32>::zeros(stream, (1 << 40, 1 << 40)).expect_err("2^80 elements");
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    Ok(())
}

/// PR-01: a view, or a transpose, of a slice that is not contiguous keeps its strides.
#[test]
fn views_of_views() -> Result<()> {
    let x = array(&(0..50).map(|v| v as f32).collect::<Vec<_>>(), (5, 10));
    let part = x.slice(s![0..3, 0..5]);
    assert_eq!(
        part.to_vec()?,
        [
            0., 1., 2., 3., 4., 10., 11., 12., 13., 14., 20., 21., 22., 23., 24.
        ]
    );
    let x = array(&iota(120), (4, 5, 6));
    let part = x.slice(s![.., 1..3, ..]).permute(&[1, 0, 2])?;
    assert_eq!(part.shape(), [2, 4, 6]);
    assert_eq!(
        (
            part.slice(s![1, 3, 5]).item()?,
            part.slice(s![0, 0, 0]).item()?,
            part.slice(s![1, 0, 0]).item()?
        ),
        (107, 6, 12)
    );
    Ok(())
}

/// PR-02: the length of a stepped slice rounds up.
#[test]
fn stepped_slices() -> Result<()> {
    let x = array(&iota(16), (4, 4));
    let rows = x.slice(s![..;3]);
    assert_eq!(rows.shape(), [2, 4]);
    assert_eq!(rows.slice(s![1]).to_vec()?, [12, 13, 14, 15]);
    assert_eq!(x.reshape(16)?.slice(s![..;5]).to_vec()?, [0, 5, 10, 15]);
    Ok(())
}

/// PR-03: a copy of a column-major array keeps its values.
#[test]
fn column_major_copies() -> Result<()> {
    let x = array(&[0.0f64, 1.0, 2.0, 3.0], (2, 2)).into_t();
    assert_eq!(x.strides(), [1, 2]);
    assert_eq!(x.to_vec()?, [0.0, 2.0, 1.0, 3.0]);
    let same = x.try_clone()?;
    assert_eq!(
        (same.strides(), same.to_vec()?),
        (&[1, 2][..], vec![0.0, 2.0, 1.0, 3.0])
    );
    let evaluated = x.eval()?;
    assert_eq!(
        (evaluated.strides(), evaluated.to_vec()?),
        (&[2, 1][..], vec![0.0, 2.0, 1.0, 3.0])
    );
    let x = array(&iota(15), (5, 3)).into_t();
    assert_eq!(x.eval()?.to_vec()?, x.to_vec()?);
    Ok(())
}

/// PR-04: operands of different memory order meet by their logical positions.
#[test]
fn memory_orders_meet() -> Result<()> {
    let mut x = GpuArray::<f32>::zeros(&stream(), (4, 3))?.into_t();
    x.copy_from_slice(&[1., 1., 1., 1., 0., 0., 0., 0., 0., 0., 0., 0.])?;
    assert_eq!(x.slice(s![0]).to_vec()?, [1.0; 4]);
    assert_eq!(x.slice(s![1..]).to_vec()?, [0.0; 8]);
    let mut y = GpuArray::<i32>::zeros(&stream(), (2, 3))?.into_t();
    y.slice_mut(s![.., ..])
        .assign(&array(&[1, 2, 3, 4, 5, 6], (3, 2)))?;
    assert_eq!(y.to_vec()?, [1, 2, 3, 4, 5, 6]);
    assert_eq!(y.into_buffer().to_vec()?, [1, 3, 5, 2, 4, 6]);
    let (row, column) = (
        array(&[1, 2, 3, 4, 5, 6], (2, 3)),
        array(&[10, 40, 20, 50, 30, 60], (3, 2)).into_t(),
    );
    assert_eq!((&row + &column).eval()?.to_vec()?, [11, 22, 33, 44, 55, 66]);
    Ok(())
}

/// PR-06: strided copies touch nothing between their elements, and honour offsets.
#[test]
fn strided_copies() -> Result<()> {
    let x = array(&(0..12).collect::<Vec<i64>>(), (3, 4));
    assert_eq!(x.slice(s![1.., 2..]).to_vec()?, [6, 7, 10, 11]);
    let mut base = array(&[9, 0, 9, 0, 9, 0, 9, 0], 8);
    base.slice_mut(s![..;2])
        .into_slice(s![1..3])
        .copy_from_slice(&[2, 3])?;
    assert_eq!(base.slice(s![..;2]).to_vec()?, [9, 2, 3, 9]);
    assert_eq!(base.to_vec()?, [9, 0, 2, 0, 3, 0, 9, 0]);
    Ok(())
}

/// PR-07: assignment to an overlapping part of the same array is as if the source were copied first.
#[test]
fn overlapping_copies() -> Result<()> {
    let mut x = array(&iota(10), 10);
    x.copy_within(s![..9], s![1..])?;
    assert_eq!(x.to_vec()?, [0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    let large = iota(100_000);
    for _ in 0..3 {
        let mut up = array(&large, large.len());
        up.copy_within(s![..-500], s![500..])?;
        let mut want = large.clone();
        want.copy_within(..large.len() - 500, 500);
        assert_eq!(up.to_vec()?, want);
        let mut down = array(&large, large.len());
        down.copy_within(s![500..], s![..-500])?;
        let mut want = large.clone();
        want.copy_within(500.., 0);
        assert_eq!(down.to_vec()?, want);
    }
    let mut x = array(&iota(6), (2, 3));
    x.update(|x| x.slice(s![..;-1, ..;-1]) + 0)?;
    assert_eq!(x.to_vec()?, [5, 4, 3, 2, 1, 0]);
    x.update(|x| &x + x.slice(s![0]))?;
    assert_eq!(x.to_vec()?, [10, 8, 6, 7, 5, 3]);
    // Only the element that is written is read: in place, on any layout.
    x.slice_mut(s![.., ..;2]).update(|x| x * 10)?;
    assert_eq!(x.to_vec()?, [100, 8, 60, 70, 5, 30]);
    Ok(())
}

/// PR-08: reversed views feed everything.
#[test]
fn reversed_views() -> Result<()> {
    let x = array(&[1i32, 2, 3, 4], 4);
    let reversed = x.slice(s![..;-1]);
    assert_eq!(
        (&reversed * &array(&[1, 10, 100, 1000], 4))
            .eval()?
            .to_vec()?,
        [4, 30, 200, 1000]
    );
    assert_eq!(reversed.sum()?, 10);
    assert_eq!(reversed.to_vec()?, [4, 3, 2, 1]);
    Ok(())
}

/// PR-10: zero-length arrays.
#[test]
fn empty_arrays() -> Result<()> {
    for shape in [Shape::from(0), Shape::from((0, 3)), Shape::from((3, 0))] {
        let mut e = GpuArray::<f64>::zeros(&stream(), &shape)?;
        for result in [
            (&e + &e).eval()?,
            (&e + 0.0).eval()?,
            (-&e).eval()?,
            e.eval()?,
            e.try_clone()?,
        ] {
            assert_eq!(result.shape(), shape.axes());
            assert!(result.to_vec()?.is_empty());
        }
        e.copy_from_slice(&[])?;
        e.fill(1.0)?;
        e.assign(2.0)?;
        e.add_assign(2.0)?;
        assert_eq!(e.sum()?, 0.0);
        assert!(e.mean()?.is_nan());
        assert_eq!(
            e.min().expect_err("of nothing").kind(),
            ErrorKind::EmptyReduction
        );
        assert_eq!(
            e.max().expect_err("of nothing").kind(),
            ErrorKind::EmptyReduction
        );
        assert!(e.gt(0.0).all()? && !e.gt(0.0).any()?);
        assert_eq!(e.t().len(), 0);
    }
    let row = array(&[1.0, 2.0, 3.0], 3);
    let none = GpuArray::<f64>::zeros(&stream(), (0, 3))?;
    assert_eq!((&row + &none).eval()?.shape(), [0, 3]);
    Ok(())
}

/// PR-12: division is the type's own, dtypes do not mix by themselves, scalars are of the array's type.
#[test]
fn division_and_types() -> Result<()> {
    let (one, two) = (array(&[1, -7, 7], 3), array(&[2, 2, -2], 3));
    assert_eq!((&one / &two).eval()?.to_vec()?, [0, -3, -3]);
    assert_eq!((&one % &two).eval()?.to_vec()?, [1, -1, 1]);
    assert_eq!(
        (one.cast::<f64>() / two.cast::<f64>()).eval()?.to_vec()?,
        [0.5, -3.5, -3.5]
    );
    let x = array(&[1.0f32, 2.0, 3.0], 3);
    assert_eq!(
        (2.0 / &x * 3.0).eval()?.to_vec()?,
        [6.0, 3.0, 2.0 / 3.0 * 3.0]
    );
    assert_eq!((&x % 2.0).eval()?.to_vec()?, [1.0, 0.0, 1.0]);
    let x = array(&[1, 2, 3], 3);
    let mask = x.gt(2);
    assert_eq!((mask.any()?, mask.all()?, mask.count()?), (true, false, 1));
    assert_eq!(mask.cast::<u32>().eval()?.to_vec()?, [0, 0, 1]);
    Ok(())
}

#[test]
fn integers_wrap() -> Result<()> {
    let x = array(&[i32::MAX, i32::MIN, -1], 3);
    assert_eq!((&x + 1).eval()?.to_vec()?, [i32::MIN, i32::MIN + 1, 0]);
    assert_eq!((&x * 2).eval()?.to_vec()?, [-2, 0, -2]);
    assert_eq!((-&x).eval()?.to_vec()?, [-i32::MAX, i32::MIN, 1]);
    assert_eq!(x.abs().eval()?.to_vec()?, [i32::MAX, i32::MIN, 1]);
    assert_eq!((&x / -1).eval()?.to_vec()?, [-i32::MAX, i32::MIN, 1]);
    let minus_one = -1;
    assert_eq!((&x % minus_one).eval()?.to_vec()?, [0, 0, 0]);
    let y = array(&[0u64, u64::MAX], 2);
    assert_eq!((&y - 1).eval()?.to_vec()?, [u64::MAX, u64::MAX - 1]);
    // Division by zero is no fault, and 32-bit types give all ones.
    assert_eq!((&array(&[7], 1) / &array(&[0], 1)).eval()?.to_vec()?, [-1]);
    assert_eq!((&array(&[7u32], 1) % 0).eval()?.to_vec()?, [u32::MAX]);
    Ok(())
}

/// PR-15: array minimum and maximum let NaN through.
#[test]
fn nan_propagates() -> Result<()> {
    for values in [
        vec![1.0f64, f64::NAN, 3.0],
        vec![f64::NAN],
        vec![f64::NAN, 1.0],
        vec![1.0, f64::NAN],
    ] {
        let x = array(&values, values.len());
        assert!(x.min()?.is_nan() && x.max()?.is_nan());
        let x32 = x.cast::<f32>();
        assert!(x32.min()?.is_nan() && x32.max()?.is_nan());
    }
    let (x, y) = (
        array(&[1.0f32, f32::NAN, 1.0], 3),
        array(&[f32::NAN, 1.0, 2.0], 3),
    );
    let (low, high) = (
        x.minimum(&y).eval()?.to_vec()?,
        x.maximum(&y).eval()?.to_vec()?,
    );
    assert!(low[0].is_nan() && low[1].is_nan() && high[0].is_nan() && high[1].is_nan());
    assert_eq!((low[2], high[2]), (1.0, 2.0));
    let mut values = vec![1.0f32; 300_000];
    values[123_456] = f32::NAN;
    let x = array(&values, values.len());
    assert!(x.min()?.is_nan() && x.max()?.is_nan() && x.sum()?.is_nan());
    assert_eq!(x.is_nan().count()?, 1);
    assert_eq!(x.is_finite().select(&x, 0.0).sum()?, 299_999.0);
    Ok(())
}

/// PR-17: powers of integers are exact.
#[test]
fn powers() -> Result<()> {
    assert_eq!(
        array(&[123_456_789i64], 1).powi(2).eval()?.to_vec()?,
        [15_241_578_750_190_521]
    );
    let x = array(&[3, -2, 0], 3);
    for exponent in 0..9u32 {
        assert_eq!(
            x.powi(exponent).eval()?.to_vec()?,
            [
                3i32.pow(exponent),
                (-2i32).pow(exponent),
                0i32.pow(exponent)
            ]
        );
    }
    assert_eq!(
        array(&[7i64], 1).powi(30).eval()?.to_vec()?,
        [7i64.wrapping_pow(30)]
    );
    let root = array(&[2.0f64], 1).pow(0.5).eval()?.item()?;
    assert!((root - 2.0f64.sqrt()).abs() < 1e-15, "{root}");
    Ok(())
}

/// Conversions are Rust's `as`.
#[test]
fn casts() -> Result<()> {
    let values = [
        0.0,
        -0.9,
        1.9,
        -1.9,
        3e9,
        -3e9,
        3e18,
        3e19,
        -3e19,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let x = array(&values, values.len());
    assert_eq!(x.cast::<i32>().eval()?.to_vec()?, values.map(|v| v as i32));
    assert_eq!(x.cast::<u32>().eval()?.to_vec()?, values.map(|v| v as u32));
    assert_eq!(x.cast::<i64>().eval()?.to_vec()?, values.map(|v| v as i64));
    assert_eq!(x.cast::<u64>().eval()?.to_vec()?, values.map(|v| v as u64));
    let values = values.map(|v| v as f32);
    let x = array(&values, values.len());
    assert_eq!(x.cast::<i32>().eval()?.to_vec()?, values.map(|v| v as i32));
    assert_eq!(x.cast::<u32>().eval()?.to_vec()?, values.map(|v| v as u32));
    assert_eq!(x.cast::<i64>().eval()?.to_vec()?, values.map(|v| v as i64));
    assert_eq!(x.cast::<u64>().eval()?.to_vec()?, values.map(|v| v as u64));
    let values = [0i64, -1, i64::MIN, i64::MAX, (1 << 53) + 1, 1 << 32];
    let x = array(&values, values.len());
    assert_eq!(x.cast::<f32>().eval()?.to_vec()?, values.map(|v| v as f32));
    assert_eq!(x.cast::<f64>().eval()?.to_vec()?, values.map(|v| v as f64));
    assert_eq!(x.cast::<i32>().eval()?.to_vec()?, values.map(|v| v as i32));
    assert_eq!(x.cast::<u64>().eval()?.to_vec()?, values.map(|v| v as u64));
    Ok(())
}

#[test]
fn broadcasting() -> Result<()> {
    let (row, column) = (array(&[1, 2, 3], 3), array(&[10, 20], (2, 1)));
    assert_eq!((&row + &column).eval()?.to_vec()?, [11, 12, 13, 21, 22, 23]);
    let scalar = array(&[5], ());
    assert_eq!((&row * &scalar).eval()?.to_vec()?, [5, 10, 15]);
    assert_eq!((&scalar * &scalar).eval()?.shape(), [0usize; 0]);
    assert_eq!(row.broadcast_to((2, 3))?.to_vec()?, [1, 2, 3, 1, 2, 3]);
    let mut target = GpuArray::<i32>::zeros(&stream(), (2, 3))?;
    target.assign(&row)?;
    target.add_assign(&column)?;
    assert_eq!(target.to_vec()?, [11, 12, 13, 21, 22, 23]);
    assert_eq!(
        (&row + &array(&[1, 2], 2))
            .eval()
            .expect_err("3 and 2")
            .kind(),
        ErrorKind::Shape
    );
    assert_eq!(
        target
            .assign(&array(&[1, 2], 2))
            .expect_err("3 and 2")
            .kind(),
        ErrorKind::Shape
    );
    // An assignment does not grow its target.
    let mut row = row;
    assert_eq!(
        row.assign(&target).expect_err("2x3 into 3").kind(),
        ErrorKind::Shape
    );
    Ok(())
}

#[test]
fn scalars_alone_need_a_stream() -> Result<()> {
    let three = Expr::scalar(1.0) + 2.0;
    assert_eq!(
        three.eval().expect_err("no device").kind(),
        ErrorKind::NoDevice
    );
    assert_eq!(three.eval_on(&stream())?.item()?, 3.0);
    let mut x = GpuArray::<f64>::zeros(&stream(), 2)?;
    x.assign(&three)?;
    assert_eq!(x.to_vec()?, [3.0, 3.0]);
    Ok(())
}

#[test]
fn too_many_operands_are_an_error() -> Result<()> {
    let arrays: Vec<GpuArray<i32>> = (0..600).map(|v| array(&[v, v], 2)).collect();
    let sum = arrays.iter().fold(Expr::scalar(0), |sum, x| sum + x);
    assert_eq!(
        sum.eval().expect_err("600 pointers").kind(),
        ErrorKind::Unsupported
    );
    let few = arrays[..300].iter().fold(Expr::scalar(0), |sum, x| sum + x);
    assert_eq!(few.eval()?.to_vec()?, [44_850, 44_850]);
    Ok(())
}

#[test]
fn reductions() -> Result<()> {
    for count in [
        1usize, 2, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 100_003,
    ] {
        let host: Vec<i32> = (0..count as i64)
            .map(|v| ((v * 7919) % 10_007 - 5000) as i32)
            .collect();
        let x = array(&host, count);
        assert_eq!(
            x.sum()?,
            host.iter().map(|&v| i64::from(v)).sum::<i64>(),
            "{count}"
        );
        assert_eq!(x.min()?, *host.iter().min().expect("not empty"), "{count}");
        assert_eq!(x.max()?, *host.iter().max().expect("not empty"), "{count}");
        let floats = x.cast::<f32>();
        let total: f64 = host.iter().map(|&v| f64::from(v)).sum();
        assert_eq!(floats.sum()?, total as f32, "{count}");
        assert_eq!(floats.mean()?, total / count as f64, "{count}");
        assert_eq!(floats.min()?, x.min()? as f32);
        let squares: i64 = host.iter().map(|&v| i64::from(v).pow(2)).sum();
        let x64 = x.cast::<i64>();
        assert_eq!((&x64 * &x64).sum()?, squares, "{count}");
    }
    assert_eq!(array(&[u32::MAX; 3], 3).sum()?, 3 * u64::from(u32::MAX));
    assert_eq!(
        array(&[i32::MIN, i32::MIN], 2).sum()?,
        2 * i64::from(i32::MIN)
    );
    assert_eq!(array(&[i64::MIN, i64::MAX], 2).max()?, i64::MAX);
    assert_eq!(array(&[u64::MAX, 0], 2).min()?, 0);
    assert_eq!(
        array(&[f32::INFINITY, f32::INFINITY], 2).min()?,
        f32::INFINITY
    );
    assert_eq!(array(&[f64::NEG_INFINITY], 1).max()?, f64::NEG_INFINITY);
    Ok(())
}

#[test]
fn reductions_of_views() -> Result<()> {
    let host: Vec<i32> = (0..20 * 30 * 7).map(|v| v % 1013).collect();
    let x = array(&host, (20, 30, 7));
    for view in [
        x.slice(s![..;2, 1..;3, ..;-1]),
        x.t(),
        x.slice(s![3]),
        x.slice(s![.., 0]),
        x.slice(s![1, 2, 3]).broadcast_to(50)?,
    ] {
        let elements = view.to_vec()?;
        assert_eq!(
            view.sum()?,
            elements.iter().map(|&v| i64::from(v)).sum::<i64>()
        );
        assert_eq!(
            (view.min()?, view.max()?),
            (
                *elements.iter().min().expect("some"),
                *elements.iter().max().expect("some")
            )
        );
    }
    // A sum of many f32 that single precision would lose.
    let ones = GpuArray::full(&stream(), 1, 1.0f32)?;
    assert_eq!(ones.broadcast_to((1 << 10, 1 << 15))?.sum()?, 33_554_432.0);
    let tenth = GpuArray::full(&stream(), 100_000, 0.1f32)?;
    assert_eq!(tenth.sum()?, (f64::from(0.1f32) * 1e5) as f32);
    Ok(())
}

#[test]
fn updates_in_place() -> Result<()> {
    let mut x = array(&[1.0f32, 2.0, 3.0, 4.0, 5.0], 5);
    x.add_assign(1.0)?;
    x.mul_assign(&array(&[2.0, 2.0, 2.0, 2.0, 2.0], 5))?;
    x.sub_assign(2.0)?;
    x.div_assign(4.0)?;
    x.neg_assign()?;
    assert_eq!(x.to_vec()?, [-0.5, -1.0, -1.5, -2.0, -2.5]);
    let mut middle = x.slice_mut(s![1..4]);
    middle.fill(7.0)?;
    middle.reborrow().into_slice(s![..;2]).fill(8.0)?;
    assert_eq!(middle.view().to_vec()?, [8.0, 7.0, 8.0]);
    Ok(())
}

#[test]
#[should_panic(expected = "index 4 is outside axis 0 of shape [4]")]
fn slicing_outside_panics() {
    let x = array(&[1, 2, 3, 4], 4);
    let _ = x.slice(s![4]);
}

#[test]
fn error_texts() {
    let x = array(&[1.0, 2.0, 3.0], 3);
    let text = |error: cuprum_gpuarray::Error| error.to_string();
    assert_eq!(
        text((&x + &array(&[1.0, 2.0], 2)).eval().expect_err("3 and 2")),
        "shapes [3] and [2] do not broadcast: lengths must be equal, or one of them 1"
    );
    assert_eq!(
        text(x.view().try_slice(s![2..7]).expect_err("outside")),
        "range 2..7 does not lie in axis 0 of shape [3]: it ends after the axis"
    );
    assert_eq!(
        text(x.reshape((2, 2)).expect_err("4 elements")),
        "cannot reshape [3] (3 elements) to [2, 2] (4 elements)"
    );
    assert_eq!(
        text(x.slice(s![..0]).min().expect_err("none")),
        "the minimum of an array of shape [0], which has no elements"
    );
    assert_eq!(size_of::<cuprum_gpuarray::Error>(), size_of::<usize>());
}

/// Arrays, views and expressions may be used by other threads.
#[test]
fn threads() -> Result<()> {
    fn shared<T: Send + Sync>(value: T) -> T {
        value
    }
    let x = shared(array(&iota(1000), 1000));
    let view = shared(x.slice(s![..;-1]));
    let sum = shared(&x + &view);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let sum = &sum;
                scope.spawn(move || (sum * (thread + 1)).sum())
            })
            .collect();
        for (thread, result) in threads.into_iter().enumerate() {
            assert_eq!(
                result.join().expect("does not panic")?,
                999_000 * (thread as i64 + 1)
            );
        }
        Ok(())
    })
}

/// More values than a linear search is good for, each shared by two.
#[test]
fn many_shared_values() -> Result<()> {
    let x = array(&iota(100), 100);
    let mut expr = &x + 1;
    let mut host = (0..100).map(|v| v + 1).collect::<Vec<i32>>();
    for round in 0..200 {
        expr = (&expr * 3) ^ (&expr + round + &x);
        for (at, v) in host.iter_mut().enumerate() {
            *v = v.wrapping_mul(3) ^ v.wrapping_add(round).wrapping_add(at as i32);
        }
    }
    assert_eq!(expr.eval()?.to_vec()?, host);
    Ok(())
}
