use std::ops::{Add, Div, Mul, Neg, Sub};

use super::Real;

/// Two numbers, or two vectors, such as x and y. Every operation acts on both alike.
///
/// A quotient is rounded up to four times, for both are got from one division, which takes processors much
/// longer than the multiplications around it: `a/c = a d · 1/(c d)` and `b/d = b c · 1/(c d)`. So `c d` must
/// neither overflow nor vanish.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair<R>(pub [R; 2]);

macro_rules! side_by_side {
    ($($trait:ident $method:ident),*) => {$(
        impl<R: Real> $trait for Pair<R> {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                let ([a, b], [c, d]) = (self.0, other.0);
                Pair([a.$method(c), b.$method(d)])
            }
        }
    )*};
}

side_by_side!(Add add, Sub sub, Mul mul);

impl<R: Real> Div for Pair<R> {
    type Output = Self;

    #[inline(always)]
    fn div(self, divisors: Self) -> Self {
        let ([a, b], [c, d]) = (self.0, divisors.0);
        let inverse = R::splat(1.0) / (c * d);
        Pair([a * d * inverse, b * c * inverse])
    }
}

impl<R: Real> Neg for Pair<R> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        let [a, b] = self.0;
        Pair([-a, -b])
    }
}

impl<R: Real> Real for Pair<R> {
    #[inline(always)]
    fn splat(value: f64) -> Self {
        Pair([R::splat(value); 2])
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        let [a, b] = self.0;
        Pair([a.sqrt(), b.sqrt()])
    }

    #[inline(always)]
    fn abs(self) -> Self {
        let [a, b] = self.0;
        Pair([a.abs(), b.abs()])
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        let ([a, b], [c, d], [e, f]) = (self.0, factor.0, term.0);
        Pair([a.mul_add(c, e), b.mul_add(d, f)])
    }

    #[inline(always)]
    fn sign(self) -> Self {
        let [a, b] = self.0;
        Pair([a.sign(), b.sign()])
    }
}
