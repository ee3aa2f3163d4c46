//! The generated CUDA C++ compiles: every operation on every type it has, every walk, every reduction. Nothing runs here.

mod common;

use common::array;
use cuprum_codegen::{Source, Target, compile};
use cuprum_gpuarray::{Element, Expr, Operand, s};

/// Compiles what an evaluation would run.
fn check<'a>(what: &str, operand: impl Operand<'a>) -> String {
    let explanation = operand
        .explain()
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    check_source(what, explanation.source());
    explanation.source().to_owned()
}

fn check_source(what: &str, text: &str) {
    let source = Source::new(text)
        .file_name("expression.cu")
        .option("-fmad=false");
    if let Err(error) = compile(&source, Target::Ptx(80)) {
        panic!("{what}:\n{text}\n{error}");
    }
}

macro_rules! floats {
    ($($name:ident $type:ty;)+) => {$(
        #[test]
        fn $name() {
            let (x, y) = (array::<$type>(&[0.5; 6], 6), array::<$type>(&[0.25; 6], 6));
            let functions = [
                x.sqrt(), x.rsqrt(), x.cbrt(), x.exp(), x.exp2(), x.expm1(), x.log(), x.log2(), x.log10(), x.log1p(), x.sin(), x.cos(), x.tan(),
                x.asin(), x.acos(), x.atan(), x.sinh(), x.cosh(), x.tanh(), x.floor(), x.ceil(), x.trunc(), x.round(), x.sign(), x.pow(&y),
                x.atan2(&y), x.hypot(&y), &x % &y,
            ];
            // One kernel for all of them.
            let sum = functions.into_iter().reduce(|sum, next| sum + next).expect("there are functions");
            check("all functions", &sum);
            check("tests", &(x.is_nan() | x.is_finite()).select(&x, 0.5));
        }
    )+};
}

floats! {
    functions_of_f32 f32;
    functions_of_f64 f64;
}

/// The operations that every type has.
macro_rules! numbers {
    ($($name:ident $type:ty;)+) => {$(
        #[test]
        fn $name() {
            let (x, y) = (array::<$type>(&[3 as $type; 6], 6), array::<$type>(&[2 as $type; 6], 6));
            let z = x.minimum(&y) + x.maximum(&y) - x.clip(1 as $type, &y) * x.abs() / x.mul_add(&y, 3 as $type) % x.powi(5);
            check("arithmetic", &z);
            check("powers", &(x.powi(0) + x.powi(1) + x.powi(2) + x.powi(3)));
            let mask = x.lt(&y) & x.le(&y) | x.gt(&y) ^ !x.ge(&y) & x.eq(&y) | x.ne(1 as $type);
            check("comparisons", &mask.select(&x, &y));
            check("casts", &(x.cast::<f32>().cast::<f64>() + x.cast::<i32>().cast::<f64>() + x.cast::<u32>().cast::<f64>() + x.cast::<i64>().cast::<f64>() + x.cast::<u64>().cast::<f64>()));
            check("mask cast", &mask.cast::<$type>());
        }
    )+};
}

numbers! {
    operations_of_f32 f32;
    operations_of_f64 f64;
    operations_of_i32 i32;
    operations_of_u32 u32;
    operations_of_i64 i64;
    operations_of_u64 u64;
}

#[test]
fn walks() {
    let x = array(&[1.0f32; 60], (3, 4, 5));
    let rows = check("strided", &(x.slice(s![.., ..;2, ..;-1]) * 2.0));
    assert!(rows.contains("dims.stride[0][1]"), "{rows}");
    let transposed = check("transposed", &(&x.t() + x.slice(s![0, 0, 0])));
    assert!(transposed.contains("dims.size[2]"), "{transposed}");
    let broadcast = check("broadcast", &(&x + x.slice(s![0])));
    // The first axis repeats the other two, which are one for every operand.
    assert!(
        broadcast.contains("dims.size[1]") && !broadcast.contains("dims.size[2]"),
        "{broadcast}"
    );
    let together = check(
        "the transpose of everything is a linear walk",
        &(&x.view() + &x.view()),
    );
    assert!(!together.contains("dims"), "{together}");
}

#[test]
fn contiguous_operands_are_loaded_as_vectors() {
    let (x, y) = (array(&[1.0f32; 64], 64), array(&[1.0f64; 64], 64));
    let source = Source::new(check("float", &(&x * 2.0 + &x))).option("-fmad=false");
    let ptx = compile(&source, Target::Ptx(80))
        .expect("compiled before")
        .ptx()
        .to_owned();
    assert!(ptx.contains("ld.global.nc.v4"), "{ptx}");
    assert!(ptx.contains("st.global.v4"), "{ptx}");
    assert_eq!(
        ptx.matches("ld.global.nc.v4").count(),
        1,
        "one operand used twice is loaded once:\n{ptx}"
    );
    let source = Source::new(check("mixed", &(x.cast::<f64>() + &y))).option("-fmad=false");
    let ptx = compile(&source, Target::Ptx(80))
        .expect("compiled before")
        .ptx()
        .to_owned();
    assert!(
        ptx.contains("ld.global.nc.v4.f32") || ptx.contains("ld.global.nc.v4"),
        "{ptx}"
    );
    assert!(ptx.contains("ld.global.nc.v2"), "{ptx}");
}

#[test]
fn common_subexpressions_are_computed_once() {
    let x = array(&[1.0f32; 8], 8);
    let source = check("written twice", &(x.sin() * x.sin() + x.sin()));
    assert_eq!(source.matches("sinf(").count(), 1, "{source}");
    let shared = x.exp();
    let source = check("shared", &(&shared / (&shared + 1.0)));
    assert_eq!(source.matches("expf(").count(), 1, "{source}");
    // Doubling a node sixty times is sixty additions, not 2^60.
    let doubled = (0..60).fold(x.cast::<f32>() + 0.0, |sum, _| &sum + &sum);
    let source = check("doubled", &doubled);
    let doublings = (0..62)
        .filter(|t| source.contains(&format!(" = t{t} + t{t};")))
        .count();
    assert_eq!(doublings, 60, "{source}");
}

#[test]
fn deep_expressions_have_a_limit() {
    let x = array(&[1.0f32; 8], 8);
    let mut product = &x * 1.5;
    for _ in 0..900 {
        product = product * &x;
    }
    check("900 operations on end", &product);
    for _ in 0..100_000 {
        product = product * &x;
    }
    let error = product.explain().expect_err("too deep");
    assert_eq!(error.kind(), cuprum_gpuarray::ErrorKind::Unsupported);
    assert_eq!(
        error.to_string(),
        "an expression of more than 1000 operations on end; evaluate parts of it first (`.eval()?`)"
    );
    // A wide one has its own.
    let mut level: Vec<Expr<'_, f32>> = (0..70_000).map(|v| &x * v as f32).collect();
    while level.len() > 1 {
        level = level
            .chunks(2)
            .map(|pair| {
                if let [a, b] = pair {
                    a + b
                } else {
                    pair[0].clone()
                }
            })
            .collect();
    }
    assert_eq!(
        level[0].explain().expect_err("too many").kind(),
        cuprum_gpuarray::ErrorKind::Unsupported
    );
}

#[test]
fn sequences() {
    fn one<T: Element>(start: T, step: T) {
        check("sequence", &Expr::sequence(start, step, 10));
    }
    one(1.0f32, 0.5);
    one(1.0f64, 0.5);
    one(1i32, -2);
    one(1u32, 2);
    one(1i64, -2);
    one(1u64, 2);
    check(
        "grid",
        &(Expr::sequence(0.0f32, 1.0, 4) * array(&[1.0f32; 3], (3, 1)).view()),
    );
}
