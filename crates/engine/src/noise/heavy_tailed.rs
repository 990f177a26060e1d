//! Multiplicative noise with rare large draws.

use super::{Action, Definition, NoiseInfo, SIGMA};
use crate::lanes::Real;
use crate::quantity::Range;
use crate::setting::SettingInfo;

/// Heavy-tailed noise: each coordinate of the gradient is multiplied by `1 + σT`, where T is Student's t with ν degrees
/// of freedom, scaled to variance 1 (Şimşekli, Sagun and Gürbüzbalaban, *A Tail-Index Analysis of Stochastic Gradient
/// Noise in Deep Neural Networks*, ICML 2019, find such tails).
///
/// `T = √(ν(U^(−2/ν) − 1)) cos 2πV √((ν − 2)/ν)` has the uniform numbers U and V of a normal draw (Bailey, *Polar
/// Generation of Random Variates with the t-Distribution*, Mathematics of Computation 62, 1994). The draws for x and y
/// are the two coordinates of one point in the plane: they are not correlated, and their large values coincide.
pub struct HeavyTailed;

impl Definition for HeavyTailed {
    const INFO: NoiseInfo = NoiseInfo {
        name: "Heavy-tailed",
        formula: "g(1 + σT), T ~ Student's t(ν) with variance 1",
        draw: "ξ ~ 1 + σ t(ν)/√(ν/(ν − 2))",
        about: "Most draws are smaller than those of multiplicative noise, and a few are much larger. Large draws of x \
                and y coincide.",
        source: "Şimşekli, Sagun and Gürbüzbalaban (2019); Bailey (1994)",
        action: Action::Multiplies,
        parameters: &[
            SIGMA.help("Each gradient coordinate is multiplied by 1 + σT, with T of variance 1.").paper(""),
            DEGREES_OF_FREEDOM,
        ],
    };
    const IS_NORMAL: bool = false;

    #[inline(always)]
    fn shaped<R: Real>([x, y]: [R; 2], freedom: f64) -> [R; 2] {
        let scale = scale(x.mul_add(x, y * y), freedom);
        [x * scale, y * scale]
    }
}

const DEGREES_OF_FREEDOM: SettingInfo =
    SettingInfo::number("ν", "Degrees of freedom ν", Range::new("degrees of freedom", 2.01, 1e6))
        .key("degrees_of_freedom")
        .slider(2.1, 100.0)
        .logarithmic()
        .help("How rare large draws are: the smaller ν, the heavier the tails. A large ν gives normal draws.")
        .default(3.0);

/// The quotient of Student's t and of the normal draw with the same uniform numbers, by the square r² of the normal
/// pair's length: `√((eᶻ − 1)/z · (ν − 2)/ν)` with z = r²/ν.
#[inline(always)]
fn scale<R: Real>(square: R, freedom: f64) -> R {
    let z = square * R::splat(1.0 / freedom);
    // z is at most 37. Its 64th part is small enough for the series; then eᶻ − 1 of twice the argument is
    // (eᶻ − 1)(2 + (eᶻ − 1)), which cancels nothing.
    const DOUBLINGS: i32 = 6;
    let part = z * R::splat(1.0 / f64::from(1 << DOUBLINGS));
    let mut quotient = R::splat(QUOTIENT[QUOTIENT.len() - 1]);
    for term in (0..QUOTIENT.len() - 1).rev() {
        quotient = quotient.mul_add(part, R::splat(QUOTIENT[term]));
    }
    let mut grown = part * quotient;
    for _ in 0..DOUBLINGS {
        quotient = quotient * R::splat(0.5).mul_add(grown, R::splat(1.0));
        grown = grown * (grown + R::splat(2.0));
    }
    (quotient * R::splat((freedom - 2.0) / freedom)).sqrt()
}

/// The coefficients of (eᵗ − 1)/t: 1/(n + 1)!.
const QUOTIENT: [f64; 16] = {
    let (mut all, mut index) = ([1.0; 16], 1);
    while index < all.len() {
        all[index] = all[index - 1] / (index + 1) as f64;
        index += 1;
    }
    all
};

#[cfg(test)]
mod tests {
    use super::scale;

    #[test]
    fn the_scale_is_that_of_baileys_formula_for_all_lengths() {
        for freedom in [2.01, 2.5, 3.0, 10.0, 1e3, 1e6] {
            for step in 1..=750 {
                let square = f64::from(step) * 0.1;
                let expected = (freedom * (square / freedom).exp_m1() / square * (freedom - 2.0) / freedom).sqrt();
                let found = scale(square, freedom);
                assert!((found / expected - 1.0).abs() < 1e-13, "{freedom}, {square}: {found}, {expected}");
                let single = f64::from(scale(square.min(44.0) as f32, freedom));
                let expected = scale(f64::from(square.min(44.0) as f32), freedom);
                assert!((single / expected - 1.0).abs() < 2e-5, "{freedom}, {square}: {single}, {expected}");
            }
            let at_0 = ((freedom - 2.0) / freedom).sqrt();
            for square in [0.0, 1e-300, 1e-20] {
                assert!((scale(square, freedom) / at_0 - 1.0).abs() < 1e-15, "{freedom}, {square}");
            }
        }
    }
}
