//! From random bits to distributions, in double precision.

/// 32 bits as a number of `(0, 1]`, as `curand_uniform` makes it in single precision. All steps but the first are exact.
pub(super) fn uniform(bits: u32) -> f32 {
    bits as f32 * 2f32.powi(-32) + 2f32.powi(-33)
}

/// 32 bits as a double of `(0, 1]`.
pub(super) fn uniform_double(bits: u32) -> f64 {
    (f64::from(bits) + 1.0) * 2f64.powi(-32)
}

/// 64 bits as a double of `(0, 1]` with 53 random bits: of two words the second is shifted over the first.
pub(super) fn uniform_of_two(low: u32, high: u32) -> f64 {
    let bits = u64::from(low) ^ u64::from(high) << 21;
    bits as f64 * 2f64.powi(-53) + 2f64.powi(-54)
}

/// The transform of Box and Muller: two normal numbers from one of `(0, 1]` and an angle in turns.
pub(super) fn box_muller(u: f64, turns: f64) -> (f64, f64) {
    let radius = (-2.0 * u.ln()).sqrt();
    let angle = turns * std::f64::consts::TAU;
    (radius * angle.sin(), radius * angle.cos())
}

/// Box and Muller of two words.
pub(super) fn normal_of_words(x: u32, y: u32) -> (f64, f64) {
    let turns = (f64::from(y) + 0.5) * 2f64.powi(-32);
    box_muller(f64::from(uniform(x)), turns)
}

/// Box and Muller of four words, in double precision.
pub(super) fn normal_of_four([x0, x1, y0, y1]: [u32; 4]) -> (f64, f64) {
    box_muller(uniform_of_two(x0, x1), uniform_of_two(y0, y1))
}

/// Where the normal distribution has reached the probability `p`, by bisection.
pub(super) fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    let reached = |x: f64| 0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2);
    let (mut low, mut high) = (-40.0, 0.0);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if reached(middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The middle of the interval that 32 bits stand for.
pub(super) fn middle(bits: u32) -> f64 {
    (f64::from(bits) + 0.5) * 2f64.powi(-32)
}

/// How close to a decision a number may come before single precision may decide otherwise.
const MARGIN: f64 = 1e-3;

/// A Poisson number by Knuth's product of uniform numbers. `None` if rounding may decide otherwise.
pub(super) fn poisson_by_products(lambda: f64, mut next: impl FnMut() -> f64) -> Option<u32> {
    let mut product = lambda.exp();
    for count in 0.. {
        product *= next();
        if (product - 1.0).abs() < MARGIN * 0.1 {
            return None;
        }
        if product < 1.0 {
            return Some(count);
        }
    }
    None
}

/// A Poisson number by rejection under the derivative of a logistic curve that nears the incomplete gamma function, with
/// cuRAND's constants. `None` if rounding may decide otherwise.
pub(super) fn poisson_by_rejection(lambda: f64, mut next: impl FnMut() -> f64) -> Option<u32> {
    let alpha = 1.432_480_350_750_409_1 / (lambda - 0.124_009_793_294_155_66).sqrt()
        + 0.000_253_610_749_070_33;
    let beta = 0.210_967_348_701_965_46 / (lambda - 1.973_811_640_999_942).sqrt()
        + 0.942_017_340_778_875_3;
    let curve = |x: f64| (1.0 + (alpha * (lambda - x) - beta).exp()).powi(-2);
    loop {
        let y = next();
        let exact = lambda - ((y.powf(-0.5) - 1.0).ln() + beta) / alpha;
        let x = exact.floor();
        let height = (curve(x + 1.0) - curve(x)) * 1.3;
        let z = next() * height;
        let mass = (x * lambda.ln() - lambda - libm::lgamma(x + 1.0)).exp();
        let near_whole = (exact - exact.round()).abs() < MARGIN;
        // The height is a difference of numbers up to 1, each right to about 2^-22.
        let near_mass = (z - mass).abs() < MARGIN * mass + 2e-6;
        if x < 0.0 || near_whole || near_mass {
            return None;
        }
        if z < mass {
            return Some(x as u32);
        }
    }
}

/// The least count whose distribution reaches `u`: a Poisson number by inversion. `None` if rounding may decide otherwise.
pub(super) fn poisson_by_inversion(lambda: f64, u: f64) -> Option<u32> {
    let mut mass = (-lambda).exp();
    let mut reached = mass;
    for count in 0.. {
        if (reached - u).abs() < 1e-12 {
            return None;
        }
        if u < reached {
            return Some(count);
        }
        mass *= lambda / f64::from(count + 1);
        reached += mass;
    }
    None
}
